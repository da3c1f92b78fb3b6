import json
import threading
from dataclasses import replace
from urllib.parse import quote

import pytest

from rebalance_agent.api import groups_api as api_module
from rebalance_agent.api.groups_api import GroupsApi
from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.api.query import QUERY_MAX
from rebalance_agent.api.routes import SORT_KEYS
from rebalance_agent.clock import FakeClock
from rebalance_agent.metrics.short_names import short_name
from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.tracking.lag.catch_up import CatchUp
from rebalance_agent.tracking.lag.group_lag import GroupLag, StuckPartition, TopicLag
from rebalance_agent.tracking.views import GroupView
from support.http.api import api_of, ask
from support.observer.fakes import generation_event
from support.observer.views import NOW, full_view

HOSTILE = 'a "name"\nwith/slashes, %2F, ünïcode & ?query=#' + "x" * 160


def names(api, query=""):
    status, answer = ask(api, "/api/v1/groups", query)
    assert status == 200, answer
    return [each["group"] for each in answer["groups"]]


def fleet():
    api, *_ = api_of(
        full_view("orders", skew_ratio=2.0, running=None),
        full_view("billing", skew_ratio=1.0, state=GroupState.PREPARING_REBALANCE),
        full_view("audit", GroupType.CONSUMER, skew_ratio=None, running=None),
    )
    return api


def test_a_group_has_only_known_fields():
    api, clock, _ = api_of(full_view(), GroupView("poor", GroupType.SHARE, Source.ADMIN, GroupState.EMPTY, 1, NOW))
    status, answer = ask(api, "/api/v1/groups")
    assert (status, answer["now_ms"], answer["total"], answer["offset"]) == (200, clock.now_ms(), 2, 0)
    rich, poor = answer["groups"]
    assert (rich["group"], rich["state"], rich["generation"], rich["rebalances"]) == ("orders", "Stable", 2, 2)
    assert rich["running"] == {"started_ms": NOW - 1_500, "stalled_partitions": 6, "unsure_partitions": 0}
    assert rich["last"]["trigger"] == "member_joined"
    assert "generation" not in poor
    assert "last" not in poor


def test_filters_combine():
    api = fleet()
    assert names(api) == ["audit", "billing", "orders"]
    assert names(api, "match=*i*") == ["audit", "billing"]
    assert names(api, "match=ord*&match=aud?t") == ["audit", "orders"]
    assert names(api, "state=PreparingRebalance") == ["billing"]
    assert names(api, "type=consumer&type=share") == ["audit"]
    assert names(api, "type=classic&match=a*") == []


def test_groups_without_a_value_come_last_in_either_order():
    api = fleet()
    assert names(api, "sort=skew") == ["billing", "orders", "audit"]
    assert names(api, "sort=-skew") == ["orders", "billing", "audit"]
    assert names(api, "sort=-running") == ["billing", "audit", "orders"]
    assert names(api, "sort=-group") == ["orders", "billing", "audit"]


@pytest.mark.parametrize("key", SORT_KEYS)
def test_every_sort_key_gives_a_total_order(key):
    assert sorted(names(fleet(), f"sort={key}")) == ["audit", "billing", "orders"]


def test_pages_do_not_overlap():
    api, *_ = api_of(*(full_view(f"g{number:02}") for number in range(5)))
    assert names(api, "limit=2&offset=2") == ["g02", "g03"]
    assert ask(api, "/api/v1/groups", "limit=2&offset=4")[1]["total"] == 5
    assert names(api, "limit=0") == []


@pytest.mark.parametrize("group", [HOSTILE, "..", ".", "%", " ", "a/b", "a%2Fb", "openapi.json"])
def test_any_group_name_can_be_requested(group):
    api, *_ = api_of(full_view(group), full_view("other"), events=[generation_event(group=group)])
    path = "/api/v1/groups/" + quote(group, safe="")
    assert ask(api, path)[1]["summary"]["group"] == group
    (rebalance,) = ask(api, f"{path}/rebalances")[1]["rebalances"]
    assert ask(api, f"{path}/rebalances/{rebalance['id']}")[1]["group"] == group


def test_members_have_partition_ranges_host_workload_and_library():
    view = full_view()
    software = ClientSoftware("apache-kafka-java", "4.3.0")
    placed = replace(view.members[0], where=Workload(pod="orders-0", node="n1"), software=software)
    api, *_ = api_of(replace(view, members=(placed, *view.members[1:])))
    first, second = ask(api, "/api/v1/groups/orders")[1]["members"]
    assert (first["assigned"], first["partitions"], first["target"]) == ({"payments": "0-3"}, 4, 3.0)
    assert first["where"] == {"pod": "orders-0", "node": "n1"}
    assert (first["host"], second["instance_id"]) == ("10.0.0.1", "static-2")
    assert first["software"] == {"name": "apache-kafka-java", "version": "4.3.0"}
    assert second.keys().isdisjoint({"where", "software"})


def test_a_member_with_an_unknown_assignment_has_no_field_for_partitions():
    view = full_view()
    api, *_ = api_of(replace(view, members=(replace(view.members[0], assigned=None),)))
    (member,) = ask(api, "/api/v1/groups/orders")[1]["members"]
    assert member.keys().isdisjoint({"assigned", "partitions"})


def test_a_group_that_never_rebalanced_has_an_empty_list():
    api, *_ = api_of(full_view())
    status, answer = ask(api, "/api/v1/groups/orders/rebalances")
    assert (status, answer) == (200, {"group": "orders", "rebalances": [], "rollouts": []})


def test_one_rebalance_has_its_whole_events():
    event = generation_event(group="orders")
    api, *_ = api_of(full_view(), events=[event])
    status, answer = ask(api, f"/api/v1/groups/orders/rebalances/{event.event_id}")
    assert (status, answer["rebalance"]["generation"]) == (200, 3)
    assert [(each["kind"], each["event_id"]) for each in answer["events"]] == [("generation", event.event_id)]


@pytest.mark.parametrize(
    ("path", "query", "problem"),
    [
        ("/api/v1/groups", "state=stable", "state: must be one of Empty"),
        ("/api/v1/groups", "state=Dead", "state: must be one of Empty"),
        ("/api/v1/groups", "type=Classic", "type: must be one of classic"),
        ("/api/v1/groups", "sort=color", "sort: must be one of group"),
        ("/api/v1/groups", "limit=-1", "limit: must be a whole number from 0 to 10000"),
        ("/api/v1/groups", "limit=10001", "limit: must be"),
        ("/api/v1/groups", "limit=" + "9" * 5_000, "limit: must be"),
        ("/api/v1/groups", "limit=٣", "limit: must be"),
        ("/api/v1/groups", "limit=1&limit=2", "limit: is given more than 1 times"),
        ("/api/v1/groups", "&".join(["match=a"] * 11), "match: is given more than 10 times"),
        ("/api/v1/groups", "match=", "match: must have 1 to 200 characters"),
        ("/api/v1/groups", "match=" + "a" * 201, "match: must have"),
        ("/api/v1/groups", "filter=a", "filter: is not a parameter of this path; the parameters are: match, state"),
        ("/api/v1/groups", "match=%FF", "query: is not percent-encoded UTF-8"),
        ("/api/v1/groups", "match=%4", "query: has a % that"),
        ("/api/v1/groups", "a" * (QUERY_MAX + 1), "query: has more than"),
        ("/api/v1/groups/orders", "limit=1", "limit: is not a parameter of this path; the parameters are: none"),
        ("/api/v1/groups/%FF", "", "group: is not percent-encoded UTF-8"),
        ("/api/v1/groups/%zz", "", "group: has a %"),
        ("/api/v1/groups/100%", "", "group: has a %"),
    ],
)
def test_a_wrong_request_is_answered_with_the_problem(path, query, problem):
    status, answer = ask(fleet(), path, query)
    assert (status, answer.keys()) == (400, {"error"})
    assert answer["error"].startswith(problem)


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/api/v1/groups/nobody", "/api/v1/groups lists"),
        ("/api/v1/groups/nobody/rebalances", "/api/v1/groups lists"),
        ("/api/v1/groups/nobody/rebalances/1", "/api/v1/groups lists"),
        ("/api/v1/groups/orders/rebalances/1", "no rebalance '1'"),
        ("/api/v1/groups/", "the paths are /api/v1/groups,"),
        ("/api/v1/groups/a/b", "the paths are"),
        ("/api/", "the paths are"),
        ("/api/v2/groups", "the paths are"),
        ("/api/v1/groups/orders/rebalances/", "the paths are"),
    ],
)
def test_an_unknown_path_is_answered_with_the_known_paths(path, hint):
    status, answer = ask(fleet(), path)
    assert status == 404
    assert hint in answer["error"]


def test_a_pattern_cannot_block_the_agent():
    """As a backtracking regular expression this would never end."""
    api, *_ = api_of(full_view("a" * 10_000))
    assert names(api, "match=" + "*a" * 90 + "b") == []


def test_json_is_rendered_once_for_each_version_of_a_view(monkeypatch):
    made = []
    api, clock, shown = api_of(*(full_view(f"g{number}") for number in range(20)))
    encode = json.dumps
    monkeypatch.setattr("rebalance_agent.api.groups_api.json.dumps", lambda data: made.append(data) or encode(data))
    count = lambda: sum("generation" in each for each in made)  # noqa: E731
    ask(api, "/api/v1/groups")
    ask(api, "/api/v1/groups", "sort=-skew")
    assert count() == 20
    shown[3] = replace(shown[3], version=8, generation=9)
    clock.advance(1_000)
    _, answer = ask(api, "/api/v1/groups")
    assert count() == 21
    assert [each["generation"] for each in answer["groups"]].count(9) == 1
    assert answer["now_ms"] == clock.now_ms()


def test_a_detail_follows_the_view_and_the_clock():
    api, clock, shown = api_of(full_view())
    first = ask(api, "/api/v1/groups/orders")[1]
    clock.advance(500)
    assert ask(api, "/api/v1/groups/orders")[1] == {**first, "now_ms": first["now_ms"] + 500}
    shown[0] = replace(shown[0], version=8, static_members=2)
    assert ask(api, "/api/v1/groups/orders")[1]["static_members"] == 2
    # The group is deleted and created again: its versions restart.
    shown[0] = replace(shown[0], first_seen_ms=NOW, static_members=0)
    assert ask(api, "/api/v1/groups/orders")[1]["static_members"] == 0
    shown.clear()
    assert ask(api, "/api/v1/groups/orders")[0] == 404


def test_a_new_lag_is_shown_although_the_group_is_unchanged():
    lags = [{}]
    api = GroupsApi(lambda: (full_view(),), EpisodeHistory(), FakeClock(NOW), lambda: lags[0])
    assert "lag" not in ask(api, "/api/v1/groups")[1]["groups"][0]
    assert "topic_lags" not in ask(api, "/api/v1/groups/orders")[1]
    topic = TopicLag("payments", 70, 6.5)
    stuck, catch_up = StuckPartition("payments", 3, 61.0), CatchUp(3, 6, 45.0, 150.0)
    lags[0] = {"orders": GroupLag(70, 6.5, 2.0, (topic,), stuck, catch_up, has_owned=True)}
    expected = {
        "offsets": 70,
        "seconds": 6.5,
        "appended_per_second": 2.0,
        "stuck": {"topic": "payments", "partition": 3, "seconds": 61.0},
        "catch_up": {"partitions": 3, "moved": 6, "seconds": 45.0, "partition_seconds": 150.0},
    }
    assert ask(api, "/api/v1/groups")[1]["groups"][0]["lag"] == expected
    detail = ask(api, "/api/v1/groups/orders")[1]
    assert detail["summary"]["lag"] == expected
    assert detail["topic_lags"] == [{"topic": "payments", "offsets": 70, "seconds": 6.5}]


def test_a_request_for_one_group_does_not_wait_for_a_request_for_all(monkeypatch):
    api, *_ = api_of(full_view("orders"), full_view("billing"))
    drawing, go_on = threading.Event(), threading.Event()
    draw = api_module.build_summary

    def slow(*view):
        drawing.set()
        assert go_on.wait(10)
        return draw(*view)

    monkeypatch.setattr(api_module, "build_summary", slow)
    lister = threading.Thread(target=names, args=[api])
    lister.start()
    try:
        assert drawing.wait(10)
        assert ask(api, "/api/v1/groups/orders")[0] == 200
        assert ask(api, "/api/v1/groups/nobody")[0] == 404
        assert lister.is_alive()
    finally:
        go_on.set()
        lister.join()


def test_a_group_is_found_by_its_metric_label_and_returned_with_its_full_name():
    long, other = "x" * 400 + "a", "x" * 400 + "b"
    api, *_ = api_of(full_view(other), full_view(long), events=[generation_event(group=long)])
    for name in (long, short_name(long)):
        status, answer = ask(api, f"/api/v1/groups/{quote(name)}")
        assert (status, answer["summary"]["group"]) == (200, long)
        status, answer = ask(api, f"/api/v1/groups/{quote(name)}/rebalances")
        assert (status, answer["group"], len(answer["rebalances"])) == (200, long, 1)
        identity = answer["rebalances"][0]["id"]
        status, answer = ask(api, f"/api/v1/groups/{quote(name)}/rebalances/{identity}")
        assert (status, answer["rebalance"]["id"]) == (200, identity)
    assert ask(api, f"/api/v1/groups/{quote(short_name(long + 'c'))}")[0] == 404
