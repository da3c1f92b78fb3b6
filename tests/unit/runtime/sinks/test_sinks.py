"""Sinks have one bounded queue and one thread each, and do not delay each other."""

from __future__ import annotations

import json
import threading

import pytest
from structlog.testing import capture_logs

from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.episode import Source
from rebalance_agent.model.events import GroupGoneEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.runtime.preflight.plan import findings
from rebalance_agent.runtime.settings.roles import SidecarSettings
from rebalance_agent.runtime.sinks import queued_sink as sink_queue
from rebalance_agent.runtime.sinks.configured_sinks import SinkSet
from rebalance_agent.runtime.sinks.queued_sink import DeliveryError, QueuedSink
from rebalance_agent.runtime.sinks.sinks import SinkFanout
from support.observer.fakes import Calls


def event(number=0):
    return GroupGoneEvent(f"id-{number}", "c", "orders", number, Source.RECORDS, GroupType.CLASSIC)


class Target:
    """Accepts batches when the test allows it; raises the given exceptions."""

    def __init__(self, *raises):
        self.batches, self.raises = [], list(raises)
        self.let, self.asked, self.closed = threading.Event(), threading.Event(), threading.Event()
        self.let.set()

    def deliver(self, lines, given_up):
        self.asked.set()
        while not self.let.wait(0.01):
            if given_up.is_set():
                raise DeliveryError("given up")
        if self.raises and (error := self.raises.pop(0)):
            raise error
        self.batches.append([json.loads(line)["timestamp_ms"] for line in lines])

    def close(self):
        self.closed.set()


@pytest.fixture
def counts():
    return Calls()


def delivered(target):
    return [number for batch in target.batches for number in batch]


def lost(counts):
    return sum(number for _, number in counts.of("events_dropped"))


def arrived(counts):
    return sum(number for _, _, number in counts.of("events_published"))


def test_events_arrive_in_order_and_are_counted_by_kind_and_sink(counts):
    target = Target()
    sink = QueuedSink("file", target, counts)
    for number in range(1_200):
        sink.publish(event(number), "c")
    sink.start()
    sink.close(10)
    assert delivered(target) == list(range(1_200))
    assert [len(batch) for batch in target.batches] == [500, 500, 200]
    assert {made[:2] for made in counts.of("events_published")} == {("group_gone", "file")}
    assert (arrived(counts), lost(counts)) == (1_200, 0)
    assert target.closed.is_set()


def test_a_full_queue_keeps_the_newest_and_never_blocks(counts, monkeypatch):
    monkeypatch.setattr(sink_queue, "QUEUE_MAX", 10)
    target = Target()
    sink = QueuedSink("webhook", target, counts)
    with capture_logs() as logs:
        for number in range(25):
            sink.publish(event(number), "c")
    assert lost(counts) == 15
    assert [log["event"] for log in logs] == ["events_not_delivered"]
    sink.start()
    sink.close(10)
    assert delivered(target) == list(range(15, 25))


def test_queued_bytes_are_bounded(counts, monkeypatch):
    monkeypatch.setattr(sink_queue, "QUEUE_BYTES_MAX", 400)
    sink = QueuedSink("file", Target(), counts)
    for number in range(10):
        sink.publish(event(number), "c")
    assert 0 < lost(counts) < 10


def test_a_failure_is_reported_once_until_recovery_and_its_delivered_part_counts(counts):
    target = Target(DeliveryError("disk full", [0, 2]), DeliveryError("disk full"), None, RuntimeError("odd"))
    sink = QueuedSink("file", target, counts)
    with capture_logs() as logs:
        sink.start()
        for number in range(4):
            for _ in range(3):
                sink.publish(event(number), "c")
            counts.wait_for(lambda calls, number=number: arrived(calls) + lost(calls) == 3 * (number + 1))
        sink.close(10)
    assert (arrived(counts), lost(counts)) == (5, 7)
    assert [log["event"] for log in logs] == ["events_not_delivered", "events_delivered_again", "events_not_delivered"]


def test_stop_is_bounded_and_undelivered_events_are_counted(counts):
    target = Target()
    target.let.clear()
    sink = QueuedSink("webhook", target, counts)
    sink.publish(event(), "c")
    sink.start()
    assert target.asked.wait(10)
    for number in range(5):
        sink.publish(event(number), "c")
    with capture_logs() as logs:
        sink.close(0.1)
    assert lost(counts) == 6
    assert logs == [{"event": "events_lost_at_stop", "events": 6, "sink": "webhook", "log_level": "warning"}]
    sink.publish(event(), "c")
    assert lost(counts) == 7


def test_a_batch_whose_delivery_does_not_end_is_counted_as_dropped_at_stop(counts, monkeypatch):
    monkeypatch.setattr(sink_queue, "ABANDON_S", 0.01)

    class Hangs(Target):
        def deliver(self, lines, _given_up):
            self.asked.set()
            self.let.wait()
            raise DeliveryError("late")

    target = Hangs()
    target.let.clear()
    sink = QueuedSink("webhook", target, counts)
    sink.publish(event(), "c")
    sink.start()
    assert target.asked.wait(10)
    with capture_logs() as logs:
        sink.close(0.01)
    assert [(log["event"], log["events"]) for log in logs] == [("events_lost_at_stop", 1)]
    target.let.set()
    assert target.closed.wait(10)
    assert lost(counts) == 1


def test_a_failing_sink_affects_no_other():
    class Broken:
        def publish(self, _event, _cluster_id):
            raise RuntimeError("oh no")

    well, counts = Calls(), Calls()
    fanout = SinkFanout([("webhook", Broken()), ("file", well)], counts.events_dropped)
    with capture_logs() as logs:
        fanout.publish(event(), "c")
    assert well.made == [("publish", event(), "c")]
    assert counts.made == [("events_dropped", "webhook", 1)]
    assert [log["event"] for log in logs] == ["sink_failed"]


def test_sinks_are_closed_at_the_same_time():
    meet = threading.Barrier(2, timeout=10)

    class Closing:
        def close(self, timeout):
            assert timeout == 3
            meet.wait()

    SinkFanout([("a", Closing()), ("b", Closing())], Calls().dropped).close(3)
    assert not meet.broken


def test_properties_that_make_a_producer_unsafe_are_reported_also_by_the_check(counts):
    properties = {"bootstrap.servers": "no-such-host.invalid", "retries": "0", "log_level": "0"}
    with pytest.raises(InvalidInputError, match=r"^kafka: .*`retries` must be set") as refused:
        SinkSet(SidecarSettings(), counts, FakeClock()).connect(properties, Calls())
    settings = {"listen": "127.0.0.1:0", "events_listen": "127.0.0.1:0"}
    for topic, reported in (("events", [str(refused.value)]), ("", [])):
        found = findings(SidecarSettings(**settings, events_topic=topic), properties, FakeClock())
        assert [each.detail for each in found if each.name == f"events_topic {topic}"] == reported
