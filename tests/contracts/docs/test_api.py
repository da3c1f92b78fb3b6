"""The API's answers match its OpenAPI document, and its documentation page is current."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.developers.writers.api_page import api_page
from jsonschema import Draft202012Validator

from rebalance_agent.api.openapi import openapi_document
from rebalance_agent.api.routes import ROUTES
from rebalance_agent.model.episode import Basis, FailureReason, Source, Stall
from rebalance_agent.model.events import AbortedEvent, MemberSnapshot
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.tracking.views import GroupView
from support.http.api import api_of, ask, problems
from support.observer.fakes import generation_event
from support.observer.views import NOW, full_view, member_event

PAGE = Path(__file__).parents[3] / "docs" / "api.md"

MEMBERS = (MemberSnapshot("m", None, "c", "/h", ("t",), {}, {"t": (0, 1, 3)}, user_data=b"\0", where=Workload("pod")),)
EVENTS = (
    generation_event(
        group="orders",
        members=MEMBERS,
        stall=Stall(2.0, 1.0, 8.0, Basis.BOUND),
        slowest_member_id="m",
        slowest_seconds=1.5,
        leader_member_id="m",
    ),
    AbortedEvent("a" * 32, "c", "orders", 900, Source.RECORDS, GroupType.CLASSIC, 2, FailureReason.ABORTED),
    RolloutEvent(
        "b" * 32, "c", "orders", 2_000, Source.RECORDS, GroupType.CLASSIC, 900, 2, 3, True, 2, 1, 1, 8.0, 2.0, "orders"
    ),
    member_event(generation=3, timestamp_ms=1_200, where=Workload("pod", "node", "orders", "image:1")),
)


@pytest.fixture
def api():
    poor = GroupView("poor", GroupType.SHARE, Source.ADMIN, GroupState.EMPTY, 1, NOW)
    return api_of(full_view(), poor, events=EVENTS)[0]


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/api/v1/groups", "", 200),
        ("/api/v1/groups/orders", "", 200),
        ("/api/v1/groups/poor", "", 200),
        ("/api/v1/groups/orders/rebalances", "", 200),
        ("/api/v1/groups/poor/rebalances", "", 200),
        (f"/api/v1/groups/orders/rebalances/{EVENTS[0].event_id}", "", 200),
        (f"/api/v1/groups/orders/rebalances/{EVENTS[1].event_id}", "", 200),
        ("/api/v1/openapi.json", "", 200),
        ("/api/v1/groups", "limit=x", 400),
        ("/api/v1/groups/nobody", "", 404),
    ],
)
def test_responses_match_the_document(api, path, query, expected):
    status, answer = ask(api, path, query)
    assert status == expected
    assert problems(openapi_document(), path, answer, status) == []


def test_a_response_that_the_document_does_not_allow_is_detected(api):
    _, answer = ask(api, "/api/v1/groups")
    answer["groups"][0]["members"] = "two"
    answer["groups"][1]["colour"] = "red"
    del answer["groups"][1]["state"]
    assert len(problems(openapi_document(), "/api/v1/groups", answer)) == 3


def test_every_field_of_a_whole_rebalance_is_filled_by_the_example(api):
    """Otherwise the comparison above would not cover it."""
    detail = ask(api, f"/api/v1/groups/orders/rebalances/{EVENTS[0].event_id}")[1]
    assert detail["reports"]
    assert detail["rebalance"].keys() | {"started_ms"} == set(
        openapi_document()["components"]["schemas"]["Rebalance"]["properties"]
    )


def test_every_schema_is_valid():
    for schema in openapi_document()["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_reference_resolves():
    document = openapi_document()
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}

    def references(data):
        if isinstance(data, dict):
            if "$ref" in data:
                yield data["$ref"]
            for each in data.values():
                yield from references(each)
        elif isinstance(data, list):
            for each in data:
                yield from references(each)

    assert set(references(document)) <= known


def test_every_field_has_a_description():
    nameless = {
        f"{name}.{field}"
        for name, schema in openapi_document()["components"]["schemas"].items()
        for field, each in schema.get("properties", {}).items()
        if name.startswith(("Group", "Rebalance", "Last", "Slowest", "Api")) and "description" not in each
        if name != "GroupGoneEvent"
    }
    assert nameless == set()


def test_every_route_is_documented():
    assert openapi_document()["paths"].keys() == {route.path for route in ROUTES}


def test_the_committed_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == api_page(), "run: make docs"
