import json

import pytest

from rebalance_agent.api.posted_events import (
    LABEL_MAX,
    LINE_BYTES_MAX,
    POST_PARTITIONS_MAX,
    LineError,
    parse_events,
)
from rebalance_agent.model.event_json import MEMBER_PARTITIONS_MAX, event_to_json, json_line
from rebalance_agent.model.events import GroupGoneEvent
from support.observer.views import assign_event, member_event


def line(**changes):
    return json.dumps({**event_to_json(member_event()), **changes}).encode()


def refused(*lines):
    with pytest.raises(LineError) as caught:
        parse_events(list(lines))
    return caught.value


def test_member_and_assign_events_come_back_as_they_were():
    events = (member_event(), assign_event(error="boom"))
    assert parse_events([json_line(events[0]), b"", json_line(events[1]), b" \r"]) == events


def test_kinds_of_others_are_refused():
    gone = {"kind": GroupGoneEvent.KIND, "schema_version": 1}
    for data in (gone, {"kind": "nonsense"}, {"kind": ["member"]}, {}):
        error = refused(json.dumps(data).encode())
        assert (error.field, error.line) == ("kind", 1)


@pytest.mark.parametrize("bad", [b"{", b"\xff\xfe", b"[" * 100_000, b"nul", b"1" * 5_000, b"[1]"])
def test_what_is_no_event_names_its_line(bad):
    assert refused(line(), b"", bad).line == 3


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"callback": "paused"}, "callback"),
        ({"timestamp_ms": "now"}, "timestamp_ms"),
        ({"group": None}, "group"),
        ({"group": "g" * (LABEL_MAX + 1)}, "group"),
        ({"client_id": "c" * (LABEL_MAX + 1)}, "client_id"),
        ({"schema_version": 0}, "schema_version"),
        ({"partitions": {"t": "4-1"}}, "partitions.t"),
        ({"partitions": {"t": f"0-{MEMBER_PARTITIONS_MAX}"}}, "partitions.t"),
        ({"partitions": {f"t{number}": "0-999999" for number in range(9_000)}}, "partitions.t0"),
        ({"partitions": {"t": 7}}, "partitions.t"),
    ],
)
def test_a_bad_field_is_named(changes, field):
    assert refused(line(**changes)).field == field


@pytest.mark.no_cover  # many times over what others count
def test_the_partitions_of_a_whole_post_are_bounded():
    many = line(partitions={"t": f"0-{MEMBER_PARTITIONS_MAX - 1}"})
    fit = POST_PARTITIONS_MAX // MEMBER_PARTITIONS_MAX
    assert len(parse_events([many] * fit)) == fit
    error = refused(*[many] * fit, line(partitions={"t": "7"}))
    assert (error.field, error.line) == ("partitions", fit + 1)


def test_a_line_is_bounded():
    assert len(parse_events([line() + b" " * (LINE_BYTES_MAX - len(line()))])) == 1
    assert (
        refused(line() + b" " * (LINE_BYTES_MAX + 1 - len(line()))).problem == f"has more than {LINE_BYTES_MAX} bytes"
    )


def test_an_assignors_name_is_bounded():
    data = {**event_to_json(assign_event()), "assignor": "a" * (LABEL_MAX + 1)}
    assert refused(json.dumps(data).encode()).field == "assignor"
