import json
from dataclasses import replace

import pytest

from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.model.baseline import AdviceSavings, BaselineScope, GroupBaseline, HourBaseline
from rebalance_agent.polls import baseline_reader as module
from rebalance_agent.polls.baseline_reader import BASELINE_AGE_MAX_MS, CALL_S, Baseline, Baselines, BaselinesReader
from support.memory import traced_memory
from support.observer.fakes import FakeRecord, fake_context

MONDAY = 1_704_067_200_000  # 2024-01-01 00:00 UTC
HOUR_MS = 3_600_000


def baseline(group="g", *hours, computed_ms=MONDAY):
    reported = [
        HourBaseline(hour, BaselineScope.WEEK, 100, *seconds) for hour, *seconds in hours or ((0, 0.5, 2.0, 3.0),)
    ]
    return GroupBaseline("c", group, computed_ms, tuple(reported))


def message(group="g", cluster_id="c", p50=0.5, **more):
    hour = {"hour_of_week": 0, "scope": "week", "samples": 20, "stall_p50_seconds": p50}
    whole = {"kind": "baseline", "schema_version": 1, "cluster_id": cluster_id, "group": group, "computed_ms": MONDAY}
    return FakeRecord(f"{cluster_id}:{group}".encode(), json.dumps({**whole, "hours": [hour], **more}).encode())


def test_each_hour_has_its_own_numbers_or_none():
    known = Baselines()
    known.put(baseline("g", (0, 0.5, 2.0, 3.0), (1, 0.25, 1.0), (167, 7.0)))
    at = [known.at("g", MONDAY + hour * HOUR_MS) for hour in (0, 1, 2, 167, 168)]
    assert at == [(0.5, 2.0, 3.0), (0.25, 1.0, None), None, (7.0, None, None), (0.5, 2.0, 3.0)]
    assert known.at("other", MONDAY) is None


def test_a_newer_baseline_replaces_the_whole_of_the_earlier():
    known = Baselines()
    known.put(baseline("g", (0, 0.5), (1, 0.5)))
    before = known.version
    known.put(baseline("g", (1, 4.0)))
    assert known.at("g", MONDAY) is None
    assert known.at("g", MONDAY + HOUR_MS) == Baseline(4.0, None, None)
    assert known.version > before


def test_a_baseline_computed_weeks_ago_is_not_reported():
    known = Baselines()
    latest = MONDAY + BASELINE_AGE_MAX_MS  # a Monday, too
    known.put(baseline())
    assert known.at("g", latest) is not None
    known.put(baseline(computed_ms=MONDAY - 1))
    assert known.at("g", latest) is None


def test_savings_need_no_baseline_and_expire_like_one():
    known, latest = Baselines(), MONDAY + BASELINE_AGE_MAX_MS
    reader = BaselinesReader(fake_context(), "topic", "c", known)
    reader.take(message("a", savings={"open": 1, "open_predicted": 7.0}, hours=[]))
    assert known.at("a", MONDAY) is None
    assert known.savings("a", latest) == AdviceSavings(open=1, open_predicted=7.0)
    assert known.savings("a", latest + 1) is None
    assert known.savings("other", MONDAY) is None
    reader.take(message("a"))
    assert known.savings("a", MONDAY) is None


def test_the_number_of_groups_is_bounded_and_known_ones_are_updated(monkeypatch, caplog):
    monkeypatch.setattr(module, "BASELINES_MAX", 2)
    known = Baselines()
    reader = BaselinesReader(fake_context(), "topic", "c", known)
    for group in ("a", "b", "over", "also over"):
        reader.take(message(group))
    reader.take(message("a", p50=9.0))
    assert [known.at(group, MONDAY) is not None for group in ("a", "b", "over")] == [True, True, False]
    assert known.at("a", MONDAY).p50 == 9.0
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_the_bytes_of_names_and_numbers_are_bounded(monkeypatch, caplog):
    """Each character of such a name takes four bytes."""
    monkeypatch.setattr(module, "BASELINES_BYTES_MAX", 50_000)
    context, known = fake_context(), Baselines()
    reader = BaselinesReader(context, "topic", "c", known)
    names = ["\N{GRINNING FACE}" * 4_000 + str(number) for number in range(10)]
    for name in names:
        reader.take(message(name))
    assert [known.at(name, MONDAY) is not None for name in names] == [True, True, *[False] * 8]
    reader.take(message(names[0], p50=9.0))
    assert known.at(names[0], MONDAY).p50 == 9.0
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    for name in names:
        reader.take(FakeRecord(f"c:{name}".encode(), None))
    reader.take(message(names[9]))
    assert known.at(names[9], MONDAY) is not None, "removed baselines leave room"
    known.clear()
    for name in names[:2]:
        reader.take(message(name))
    assert None not in [known.at(name, MONDAY) for name in names[:2]]


def test_baselines_are_counted_with_at_least_their_memory():
    for hours in ([(0, 0.5)], []):
        with traced_memory() as used:
            before, _ = used()
            known = Baselines()
            for number in range(500):
                of = GroupBaseline("c", f"group-{number}", MONDAY, (), AdviceSavings(open_predicted=number / 7))
                known.put(replace(of, hours=baseline("g", *hours).hours) if hours else of)
            after, _ = used()
        assert known.size_bytes / 2 < after - before < known.size_bytes


def test_baselines_of_other_clusters_are_ignored():
    known = Baselines()
    reader = BaselinesReader(fake_context(), "topic", "c", known)
    reader.take(message(cluster_id="other"))
    assert known.version == 0


def test_a_tombstone_removes_the_groups_baseline():
    known = Baselines()
    reader = BaselinesReader(fake_context(), "topic", "c", known)
    reader.take(message())
    for key in (b"other:g", b"c:h", b"c:", b"", None, b"\xff"):
        reader.take(FakeRecord(key, None))
    assert known.at("g", MONDAY) is not None
    reader.take(FakeRecord(b"c:g", None))
    assert known.at("g", MONDAY) is None


@pytest.mark.parametrize("value", [b"", b"{}", b"not json", message(hours=[{}]).value_bytes])
def test_invalid_baselines_are_counted_and_change_nothing(value):
    context, known = fake_context(), Baselines()
    reader = BaselinesReader(context, "topic", "c", known)
    reader.take(message())
    reader.take(FakeRecord(b"c:g", value))
    assert context.meters.of("baseline_malformed") == [()]
    assert known.at("g", MONDAY) == Baseline(0.5, None, None)


class FakeReader:
    """A topic whose partitions the test sets for each request; each partition has one record."""

    def __init__(self, counts):
        self.counts = iter(counts)
        self.positions, self.begun, self.closed, self.unread = {}, [], 0, []

    def __call__(self, *_arguments):
        return self

    def close(self):
        self.closed += 1
        self.positions = {}

    def partitions(self):
        count = next(self.counts)
        if isinstance(count, Exception):
            raise count
        return count

    def begin(self, offsets):
        self.begun.append(sorted(offsets))
        self.positions |= offsets
        self.unread = [[message()]] if offsets else []

    def read(self, _most, _timeout):
        return self.unread.pop() if self.unread else []


def followed(monkeypatch, counts, context, known):
    """A reader that is called once a minute."""
    topic = FakeReader(counts)
    monkeypatch.setattr(module, "TopicReader", topic)
    reader = BaselinesReader(context, "topic", "c", known)
    for _ in counts:
        reader()
        context.clock.advance(60_000)
    return topic


def test_the_topic_is_awaited_read_from_its_beginning_and_its_new_partitions_are_followed(monkeypatch):
    context, known = fake_context(), Baselines()
    topic = followed(monkeypatch, [0, 1, 1, 3], context, known)
    assert [begun for begun in topic.begun if begun] == [[0], [1, 2]]
    assert known.at("g", MONDAY) is not None
    assert ("ready", "baselines") in context.health.made


def test_without_the_topic_no_client_is_kept(monkeypatch):
    context, known = fake_context(), Baselines()
    known.put(baseline())
    topic = followed(monkeypatch, [0], context, known)
    assert known.at("g", MONDAY) is None
    assert topic.closed == 1


def test_after_a_failure_it_is_read_from_the_beginning_again(monkeypatch):
    context = fake_context()
    topic = followed(monkeypatch, [1, ClusterError("gone"), 1], context, Baselines())
    assert topic.begun == [[0], [0]]
    assert [name for name, *_ in context.health.made] == ["ready", "unready", "ready"]


def test_during_the_back_off_no_request_is_sent(monkeypatch):
    context, topic = fake_context(), FakeReader([ClusterError("gone")])
    monkeypatch.setattr(module, "TopicReader", topic)
    reader = BaselinesReader(context, "topic", "c", Baselines())
    for _ in range(3):
        reader()
    assert len(context.health.of("unready")) == 1


def test_without_the_right_to_read_the_topic_the_part_is_ready(monkeypatch):
    context = fake_context()
    followed(monkeypatch, [AccessDeniedError("no")], context, Baselines())
    assert context.health.made == [("ready", "baselines")]


def test_a_topic_that_is_written_without_end_ends_each_call(monkeypatch):
    """Otherwise a thread of the schedule would never be free again, and the topic never be checked again."""
    context, topic = fake_context(), FakeReader([1, 1])

    def read(_most, _timeout):
        context.clock.advance(400)
        assert context.clock.monotonic() < 1_000, "the call does not end"
        return [message()]

    topic.read = read
    monkeypatch.setattr(module, "TopicReader", topic)
    reader, started = BaselinesReader(context, "topic", "c", Baselines()), context.clock.monotonic()
    reader()
    assert CALL_S <= context.clock.monotonic() - started < CALL_S + 1
    context.clock.advance(60_000)
    reader()
    assert len(topic.begun) == 2
