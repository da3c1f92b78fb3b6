import json
import re
from dataclasses import fields, replace
from typing import get_type_hints

import pytest

from rebalance_agent.api.posted_events import (
    FAULTS_MAX,
    LABEL_MAX,
    LINE_BYTES_MAX,
    POST_PARTITIONS_MAX,
    POSTED_KINDS,
    TEXT_MAX,
    TEXTS_MAX,
    TOPIC_CLAIMS,
    PostError,
    count_claims,
    parse_events,
)
from rebalance_agent.instrumentation.leading import POSTED_BYTES_MAX
from rebalance_agent.instrumentation.led_members import LedMembers
from rebalance_agent.model.event_json import event_to_json, json_line
from rebalance_agent.model.events import MEMBER_PARTITIONS_MAX, GroupGoneEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.group_event import event_id, process_event_id
from rebalance_agent.model.reported.led_generation import LedMember
from support.observer.views import assign_event, member_event


def line(**changes):
    return json.dumps({**event_to_json(member_event()), **changes}).encode()


def refused(*lines):
    with pytest.raises(PostError) as caught:
        parse_events(list(lines))
    return caught.value


def with_our_id(event):
    return replace(event, event_id=process_event_id(event.KIND, event.process, event.sequence))


def test_reported_events_are_decoded_unchanged():
    led = LedMembers(7, "range", "a", 1, (LedMember("a", b"\0\xff", b"\1"),)).event("g", 2, 3, 4, "process", 5)
    events = (with_our_id(member_event()), with_our_id(assign_event(error="boom")), led)
    assert parse_events([json_line(events[0]), b"", json_line(events[1]), b" \r", json_line(led)]) == events


def test_the_largest_generation_that_a_leader_reports_fits_into_a_line():
    rows = tuple(LedMember(f"{number:0200}", b"x" * 300, b"", "\N{CIRCLED DIGIT ONE}") for number in range(1_000))
    count = 0
    while LedMembers(7, "range", "a", 1, rows[: count + 1]).assigned({}, POSTED_BYTES_MAX) is not None:
        count += 1
    led = LedMembers(7, "range", "a", 1, rows[:count])
    assert LINE_BYTES_MAX * 0.85 < len(json_line(led.event("g", 2, 3, 4, "process", 5))) <= LINE_BYTES_MAX


def test_events_of_other_kinds_are_refused():
    gone = {"kind": GroupGoneEvent.KIND, "schema_version": 1}
    for data in (gone, {"kind": "nonsense"}, {"kind": ["member"]}, {}):
        error = refused(json.dumps(data).encode())
        assert (error.field, error.line) == ("kind", 1)


@pytest.mark.parametrize("bad", [b"{", b"\xff\xfe", b"[" * 100_000, b"nul", b"1" * 5_000, b"[1]"])
def test_a_line_that_is_no_event_is_named(bad):
    assert refused(line(), b"", bad).line == 3


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"callback": "paused"}, "callback"),
        ({"timestamp_ms": "now"}, "timestamp_ms"),
        ({"group": None}, "group"),
        ({"group": "g" * (LABEL_MAX + 1)}, "group"),
        ({"client_id": "c" * (LABEL_MAX + 1)}, "client_id"),
        ({"process": "p" * (TEXT_MAX + 1)}, "process"),
        ({"error": "e" * (TEXT_MAX + 1)}, "error"),
        ({"schema_version": 0}, "schema_version"),
        ({"partitions": {"t": "4-1"}}, "partitions.t"),
        ({"partitions": {"t": f"0-{MEMBER_PARTITIONS_MAX}"}}, "partitions.t"),
        ({"partitions": {f"t{number}": "0-999999" for number in range(9_000)}}, "partitions.t0"),
        ({"partitions": {"t": 7}}, "partitions.t"),
    ],
)
def test_a_bad_field_is_named(changes, field):
    assert refused(line(**changes)).field == field


@pytest.mark.no_cover  # exceeds the line counts of other tests many times
def test_the_partitions_of_a_whole_post_are_bounded():
    many = line(partitions={"t": f"0-{MEMBER_PARTITIONS_MAX - 1}"})
    fit = POST_PARTITIONS_MAX // MEMBER_PARTITIONS_MAX
    assert len(parse_events([many] * fit)) == fit
    error = refused(*[many] * fit, line(partitions={"t": "7"}))
    assert (error.field, error.line) == ("partitions", fit + 1)


def test_a_topic_costs_as_much_as_several_partitions():
    """Else a post of 13,000 topics, which takes a quarter of a second, would cost as much as 13,000 partitions."""
    (event,) = parse_events([line(partitions={"t": "", "u": "0-9", "v": "0-99"})])
    assert count_claims(event) == 2 * TOPIC_CLAIMS + 100
    (event,) = parse_events([json.dumps(event_to_json(assign_event())).encode()])
    assert count_claims(event) == 0


def test_a_line_is_bounded():
    assert len(parse_events([line() + b" " * (LINE_BYTES_MAX - len(line()))])) == 1
    assert (
        refused(line() + b" " * (LINE_BYTES_MAX + 1 - len(line()))).problem == f"has more than {LINE_BYTES_MAX} bytes"
    )


def test_an_assignors_name_is_bounded():
    data = {**event_to_json(assign_event()), "assignor": "a" * (LABEL_MAX + 1)}
    assert refused(json.dumps(data).encode()).field == "assignor"


def test_all_faults_of_all_lines_are_reported_together():
    error = refused(
        line(callback="paused", group="g" * (LABEL_MAX + 1), sequence="1"),
        line(),
        b"{",
        line(where={"pod": 1, "node": 2}, partitions={"t": "4-1"}),
    )
    assert list(zip(error.lines, (fault.field for fault in error.faults), strict=True)) == [
        (1, "callback"),
        (1, "sequence"),
        (1, "group"),
        (3, ""),
        (4, "partitions.t"),
        (4, "where.pod"),
        (4, "where.node"),
    ]
    assert (error.line, error.field) == (1, "callback")


def test_a_field_with_two_faults_is_named_once():
    error = refused(line(group="g" * 100_000))
    assert [fault.problem for fault in error.faults] == [f"must have at most {LABEL_MAX} characters"]


def test_the_rest_of_a_post_with_many_faults_is_not_read():
    assert len(refused(*[line(callback="paused")] * (2 * FAULTS_MAX)).faults) == FAULTS_MAX


@pytest.mark.parametrize("event", [member_event(sequence=7), assign_event(sequence=7)])
def test_an_event_without_id_gets_an_id_from_its_process_and_sequence(event):
    data = event_to_json(event)
    del data["event_id"]
    (read,) = parse_events([json.dumps(data).encode()])
    assert read.event_id == process_event_id(event.KIND, event.process, 7)
    del data["process"]
    assert [fault.field for fault in refused(json.dumps(data).encode()).faults] == ["process"]


def test_no_post_has_the_id_of_another_fact():
    """Readers keep one event for each id, so a report with a generation's id would replace the generation."""
    taken = event_id("generation", "c", "g", GroupType.CLASSIC, 7, 1_700_000_000_000)
    given = (taken, "", "x" * 50_000, "\x1b[2J\ud800"[:-1])
    found = [each.event_id for each in parse_events([line(event_id=each) for each in given])]
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in found)
    assert len({taken, *found}) == 5
    assert found == [each.event_id for each in parse_events([line(event_id=each, revision=1) for each in given])]


def test_an_id_that_is_no_string_is_refused():
    assert refused(line(event_id=None)).field == "event_id"


def test_an_event_without_its_fields_gets_the_name_of_each_of_them():
    with pytest.raises(PostError) as refused:
        parse_events([b'{"kind": "member"}'])
    assert str(refused.value) == "schema_version: is missing"
    missing = {fault.field for fault in refused.value.faults if fault.problem == "is missing"}
    assert missing > {"schema_version", "group", "client_id", "callback"}
    assert len(missing) == len(refused.value.faults)


def test_every_text_of_a_posted_event_is_bounded():
    texts = {
        field.name
        for kind in POSTED_KINDS.values()
        for field in fields(kind)
        if get_type_hints(kind)[field.name] in (str, str | None)
    }
    assert set(TEXTS_MAX) == texts - {"event_id"}, "an id is hashed"
