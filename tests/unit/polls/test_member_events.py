from __future__ import annotations

import json
import threading

import pytest

from rebalance_agent.cluster.name_filters import NameFilter
from rebalance_agent.cluster.topic_reader import BEGINNING
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.model.episode import Source
from rebalance_agent.model.event_json import event_to_json, json_line
from rebalance_agent.model.events import MEMBER_PARTITIONS_MAX, AssignEvent, Callback, GroupGoneEvent, MemberEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.led_generation import LedGenerationEvent, LedMember
from rebalance_agent.model.reported.seat_event import Act, ActOutcome, SeatEvent
from rebalance_agent.polls import member_events as module
from rebalance_agent.polls.member_events import (
    EVENT_BYTES_MAX,
    KIND_HEADER,
    REWIND_MORE_MS,
    MemberEvents,
    parse_report,
)
from rebalance_agent.tracking.observations import MemberReported
from support.observer.fakes import FakeRecord, fake_context
from support.tracker.led_reports import Leaders

REVOKED = MemberEvent("id", "g", 2, Callback.REVOKED, "c", "m", 3, 1, {"t": (0, 1)}, "process", 1, cluster_id="here")
ASSIGN = AssignEvent("id", "g", 2, "range", "c", 3, 0.1, 1, 2, "process", 2, cluster_id="here", error="KeyError")
SEAT = SeatEvent("id", "g", 2, Act.HANDOVER, ActOutcome.DONE, "m", "process", 3, cluster_id="here", client_id="c")
LED = LedGenerationEvent("id", "g", 2, 3, "range", "m", 1, (LedMember("m", b"", b""),), 10, 20, "process", 4)
GONE = GroupGoneEvent("id", "here", "g", 1, Source.RECORDS, GroupType.CLASSIC)


def _taken(value, *, headers=None, shows=None, past=False, led=None):
    context = fake_context(shows=shows)
    members = MemberEvents(context, "rebalance-events", "here", led or Leaders())
    members.take(FakeRecord(b"", value, headers), past=past)
    return context.inbox.take(9, 0), len(context.meters.of("event_malformed"))


def test_a_members_event_becomes_an_observation():
    observations, malformed = _taken(json_line(REVOKED), headers=[(KIND_HEADER, b"member")])
    assert [each.event for each in observations if isinstance(each, MemberReported)] == [REVOKED]
    assert malformed == 0


def test_a_leaders_event_becomes_an_observation():
    observations, _ = _taken(json_line(ASSIGN))
    assert [each.event for each in observations] == [ASSIGN]


def test_what_a_gateway_did_about_a_seat_becomes_an_observation():
    (observation,), malformed = _taken(json_line(SEAT), headers=[(KIND_HEADER, b"seat")])
    assert (observation.event, malformed) == (SEAT, 0)


def test_a_led_generation_is_passed_on_unless_it_is_past():
    led = Leaders()
    assert _taken(json_line(LED), headers=[(KIND_HEADER, b"led_generation")], led=led) == ([], 0)
    assert _taken(json_line(LED), past=True, led=led) == ([], 0)
    assert _taken(json_line(LED), shows=NameFilter(".*", "g"), led=led) == ([], 0)
    assert led.reports == [LED]


def test_without_the_header_the_kind_is_read_from_the_event():
    assert len(_taken(json_line(REVOKED))[0]) == 1
    assert _taken(json_line(GONE)) == ([], 0)


def test_other_kinds_are_recognised_by_their_header_and_not_parsed():
    assert _taken(b"this would be malformed", headers=[("x", b"y"), (KIND_HEADER, b"generation")]) == ([], 0)


def test_events_of_other_clusters_and_hidden_groups_are_skipped():
    other = {**event_to_json(REVOKED), "cluster_id": "elsewhere"}
    assert _taken(json.dumps(other).encode()) == ([], 0)
    nowhere = {**event_to_json(REVOKED), "cluster_id": ""}
    assert len(_taken(json.dumps(nowhere).encode())[0]) == 1
    assert _taken(json_line(REVOKED), shows=NameFilter(".*", "g")) == ([], 0)


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"{",
        b"[]",
        b"3",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"kind": []}',
        b'{"kind": "member"}',
        b" " * (EVENT_BYTES_MAX + 1),
        json.dumps(
            {**event_to_json(REVOKED), "partitions": {"t": "0-999999", "u": "0-999999", "v": "0-999999"}}
        ).encode(),
        json.dumps({**event_to_json(REVOKED), "callback": "danced"}).encode(),
    ],
)
def test_other_records_are_only_counted_as_malformed(value):
    assert _taken(value) == ([], 1)


def test_partitions_are_counted_before_they_are_expanded():
    claims = {**event_to_json(REVOKED), "partitions": {f"t{number}": "0-999999" for number in range(2_000)}}
    with pytest.raises(InvalidInputError, match=r"^partitions\.t\d+: there are more than"):
        parse_report(json.dumps(claims).encode())


def test_impossible_partitions_are_malformed():
    data = {**event_to_json(REVOKED), "partitions": {"t": f"0-{MEMBER_PARTITIONS_MAX}"}}
    with pytest.raises(InvalidInputError, match="partitions in all"):
        parse_report(json.dumps(data).encode())


class _NewTopic:
    """A reader of a topic that does not exist at the first request; ends once the topic was read."""

    def __init__(self, stop):
        self.stop, self.looks, self.positions = stop, 0, {}

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        pass

    def partitions(self):
        self.looks += 1
        return 2 if self.looks > 2 else 0

    def begin(self, offsets):
        self.positions |= offsets

    def read(self, _most, _timeout):
        self.stop.set()
        return []


def test_a_topic_created_after_the_start_is_read_from_its_beginning_without_listing_all_topics(monkeypatch):
    stop = threading.Event()
    reader = _NewTopic(stop)
    monkeypatch.setattr(module, "TopicReader", lambda *_: reader)
    monkeypatch.setattr(module, "ABSENT_WAIT_S", 0)
    members = MemberEvents(fake_context(), "rebalance-events", "here", Leaders())
    members._follow(stop)
    assert reader.positions == {0: BEGINNING, 1: BEGINNING}


class _SilentOnce:
    """A cluster that does not respond to the first request for offsets of a time."""

    def __init__(self):
        self.asked = []

    def end_offsets(self, _topic, partitions):
        return dict.fromkeys(partitions, 1_000)

    def start_offsets(self, _topic, partitions):
        return dict.fromkeys(partitions, 0)

    def offsets_since(self, _topic, partitions, since_ms):
        self.asked.append(since_ms)
        if len(self.asked) == 1:
            raise ClusterError("nobody answers")
        return dict.fromkeys(partitions, 10)


class _Topic(_NewTopic):
    def partitions(self):
        return 2

    def end(self, partitions):
        for partition in partitions:
            del self.positions[partition]


def test_offsets_of_events_to_read_again_are_requested_until_brokers_respond(monkeypatch):
    stop, cluster = threading.Event(), _SilentOnce()
    reader = _Topic(stop)
    monkeypatch.setattr(module, "TopicReader", lambda *_: reader)
    context = fake_context(cluster=cluster)
    members = MemberEvents(context, "rebalance-events", "here", Leaders())
    members.rewind(context.clock.now_ms() - 1_000)
    with pytest.raises(ClusterError):
        members._follow(stop)
    members._follow(stop)
    assert len(cluster.asked) == 2
    assert reader.positions == {0: 0, 1: 0}
    assert members._past_until == {0: 10, 1: 10}


def test_the_earlier_of_two_times_to_read_again_counts(monkeypatch):
    """A replica gets further partitions before it has read events of the first ones again."""
    stop, cluster = threading.Event(), _SilentOnce()
    monkeypatch.setattr(module, "TopicReader", lambda *_: _Topic(stop))
    context = fake_context(cluster=cluster)
    members = MemberEvents(context, "rebalance-events", "here", Leaders())
    now_ms = context.clock.now_ms()
    members.rewind(now_ms - 300_000)
    members.rewind(now_ms - 1_000)
    with pytest.raises(ClusterError):
        members._follow(stop)
    members.rewind(now_ms - 2_000)
    members._follow(stop)
    assert cluster.asked == [now_ms - 300_000 - REWIND_MORE_MS] * 2
    assert members._rewind_ms is None
