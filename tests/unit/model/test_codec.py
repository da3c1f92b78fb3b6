from __future__ import annotations

import dataclasses
import json

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.episode import Source
from rebalance_agent.model.event_json import event_from_json, event_to_json, json_line, json_object
from rebalance_agent.model.events import EVENT_KINDS, SCHEMA_VERSION, AssignEvent, Callback, MemberEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.client_metrics import ClientMetrics
from rebalance_agent.model.reported.deliveries_event import DeliveriesEvent, ShareDeliveries
from rebalance_agent.model.reported.member_software import SOFTWARE_MAX, ClientSoftware
from rebalance_agent.model.reported.workload import WHERE_MAX, Workload
from rebalance_agent.model.rollout import RolloutEvent
from support.observer.fakes import generation_event

REVOKED = MemberEvent(
    event_id="e1",
    group="orders",
    timestamp_ms=2_000,
    callback=Callback.REVOKED,
    client_id="c",
    member_id="m",
    generation=3,
    started_ms=1_000,
    partitions={"t": (0, 1, 2, 7)},
    process="p",
    sequence=0,
    where=Workload(pod="orders-1"),
    software=ClientSoftware("apache-kafka-java", "4.3.0"),
    client_metrics=ClientMetrics(rebalance_seconds=3.5, failed_rebalances=2.0, idle_ratio=0.25),
)
ASSIGN = AssignEvent(
    event_id="e2",
    group="orders",
    timestamp_ms=5,
    assignor="range",
    client_id="c",
    generation=4,
    duration_seconds=0.25,
    members=2,
    partitions=9,
    process="p",
    sequence=1,
    quality=AssignmentQuality(1, 1.5, None, 0, 2, 2, 0, {"t": 0.5}),
)


DELIVERIES = DeliveriesEvent("e3", "orders", 5, ShareDeliveries(1, 100, 10, 80, 5, 2, 1), "p", 2)


@pytest.mark.parametrize("event", [REVOKED, ASSIGN, DELIVERIES], ids=["member", "assign", "deliveries"])
def test_an_event_is_decoded_from_json_unchanged(event):
    assert event_from_json(json.loads(json_line(event))) == event


def test_encoders_of_one_event_share_its_line_and_never_get_anothers():
    event = generation_event()
    line = json_line(event)
    assert json_line(event) is line
    other = dataclasses.replace(event, event_id="e3")
    assert json.loads(json_line(other))["event_id"] == "e3"
    assert json_line(event) == line


def test_the_json_is_readable_and_omits_unknown_values():
    data = event_to_json(REVOKED)
    assert data["kind"] == "member"
    assert data["schema_version"] == SCHEMA_VERSION
    assert data["partitions"] == {"t": "0-2,7"}
    assert data["where"] == {"pod": "orders-1"}
    assert "error" not in data


def test_equal_events_have_equal_bytes_for_any_order_of_their_maps():
    one = dataclasses.replace(ASSIGN, user_data_errors={"a": "x", "b": "y"})
    other = dataclasses.replace(ASSIGN, user_data_errors={"b": "y", "a": "x"})
    assert json_line(one) == json_line(other)


@pytest.mark.parametrize(
    ("change", "field", "problem"),
    [
        ({"kind": "nonsense"}, "kind", "must be one of"),
        ({"schema_version": 0}, "schema_version", "positive"),
        ({"schema_version": True}, "schema_version", "positive"),
        ({"group": 5}, "group", "must be a text"),
        ({"group": "x" * 65_537}, "group", "at most 65536"),
        ({"group": None}, "group", "must be a text"),
        ({"timestamp_ms": 2**63}, "timestamp_ms", "64-bit"),
        ({"timestamp_ms": True}, "timestamp_ms", "64-bit"),
        ({"callback": "explode"}, "callback", "must be one of revoked, assigned, lost, left"),
        ({"partitions": {"t": "7,3"}}, "partitions.t", "out of order"),
        ({"partitions": {"t": "0-1000000"}}, "partitions.t", "beyond partition"),
        ({"partitions": {"t": "٣"}}, "partitions.t", "not a partition range"),
        ({"partitions": {f"t{n}": "0-999999" for n in range(9)}}, "partitions.t2", "partitions in all"),
        ({"partitions": {"t": [1]}}, "partitions.t", "ranges"),
        ({"where": {"pod": 1}}, "where.pod", "must be a text"),
    ],
)
def test_a_wrong_field_is_refused_by_its_path(change, field, problem):
    with pytest.raises(InvalidInputError, match=problem) as caught:
        event_from_json({**event_to_json(REVOKED), **change})
    assert caught.value.field == field


def test_all_wrong_fields_are_named_and_the_first_is_the_message():
    damaged = {**event_to_json(REVOKED), "group": 5, "where": {"pod": 1, "image": 2}}
    del damaged["sequence"]
    with pytest.raises(InvalidInputError, match=r"^group: must be") as caught:
        event_from_json(damaged)
    assert [fault.field for fault in caught.value.faults] == [
        "group",
        "sequence",
        "where.pod",
        "where.image",
    ]


@pytest.mark.parametrize("missing", ["group", "event_id", "partitions", "sequence"])
def test_a_missing_field_is_refused_by_name(missing):
    data = event_to_json(REVOKED)
    del data[missing]
    with pytest.raises(InvalidInputError) as caught:
        event_from_json(data)
    assert caught.value.field == missing


@pytest.mark.parametrize("data", [None, 3, "x", [], {}])
def test_other_input_than_events_is_refused(data):
    with pytest.raises(InvalidInputError):
        event_from_json(data)


@pytest.mark.parametrize("version", [SCHEMA_VERSION, SCHEMA_VERSION + 1])
def test_fields_that_a_newer_release_added_are_ignored(version):
    newer = {**event_to_json(REVOKED), "schema_version": version, "invented_later": {"a": 1}}
    assert event_from_json(newer) == REVOKED


@pytest.mark.parametrize("number", [float("nan"), float("-inf"), 10**400], ids=["nan", "-inf", "10**400"])
def test_nan_and_infinity_are_refused(number):
    data = json.loads(json.dumps({**event_to_json(ASSIGN), "duration_seconds": number}))
    with pytest.raises(InvalidInputError, match="duration_seconds"):
        event_from_json(data)


@pytest.mark.parametrize("text", ["not base64", "YQ", "YQ==\u00e4", "\ud800"])
def test_bytes_that_are_no_base64_are_refused_by_their_path(text):
    """Python raises another exception for non-ASCII text, which once ended the pipeline's stream."""
    generation = event_to_json(generation_event())
    member = {"member_id": "m", "client_id": "c", "host": "h", "topics": [], "owned": {}, "assigned": {}}
    with pytest.raises(InvalidInputError, match="user_data: must be"):
        event_from_json({**generation, "members": [{**member, "user_data": text}]})


@pytest.mark.parametrize("line", [b'{"group": "a\\ud800"}', b'{"group": "a\xed\xa0\x80"}'], ids=["escape", "bytes"])
def test_names_that_utf_8_cannot_encode_are_refused(line):
    """Kafka has no such names, and the tracker's error on one lost the events of other groups."""
    name = json_object(line)["group"]
    with pytest.raises(InvalidInputError, match="group: must be a text"):
        event_from_json({**event_to_json(REVOKED), "group": name})
    with pytest.raises(InvalidInputError, match="partitions: has a name"):
        event_from_json({**event_to_json(REVOKED), "partitions": {name: "0"}})


def test_a_stop_of_any_length_is_a_time():
    assert dataclasses.replace(REVOKED, stop_seconds=1e308).asked_ms == REVOKED.started_ms - 86_400_000


def test_every_kind_has_a_codec():
    for kind in EVENT_KINDS.values():
        with pytest.raises(InvalidInputError):
            event_from_json({"kind": kind.KIND, "schema_version": SCHEMA_VERSION})


def test_a_place_with_a_too_long_name_is_refused():
    data = {**event_to_json(REVOKED), "where": {"pod": "p" * (WHERE_MAX + 1)}}
    with pytest.raises(InvalidInputError, match=r"where\.pod"):
        event_from_json(data)


@pytest.mark.parametrize("name", ["name", "version"])
def test_a_client_library_with_a_too_long_name_or_version_is_refused(name):
    data = {**event_to_json(REVOKED), "software": {name: "x" * (SOFTWARE_MAX + 1)}}
    with pytest.raises(InvalidInputError, match=rf"software\.{name}"):
        event_from_json(data)


@pytest.mark.parametrize("value", [-1, 2**53 + 2, 1e300])
def test_a_value_of_a_client_out_of_range_is_refused(value):
    data = {**event_to_json(REVOKED), "client_metrics": {"idle_ratio": value}}
    with pytest.raises(InvalidInputError, match=r"client_metrics\.idle_ratio"):
        event_from_json(data)


def test_a_rollout_is_decoded_unchanged():
    rollout = RolloutEvent(
        event_id="1" * 32,
        cluster_id="c",
        group="g",
        timestamp_ms=2_000,
        source=Source.RECORDS,
        group_type=GroupType.CLASSIC,
        started_ms=1_000,
        first_generation=2,
        last_generation=7,
        closed=True,
        rebalances=6,
        members=3,
        members_replaced=3,
        stalled_partition_seconds=12.5,
        stall_seconds=2.5,
        workload="orders",
        from_images=("orders:1",),
        to_images=("orders:2",),
        revision=1,
    )
    assert event_from_json(json.loads(json_line(rollout))) == rollout
