from __future__ import annotations

import threading

import pytest
from confluent_kafka import KafkaError, KafkaException
from structlog.testing import capture_logs

from rebalance_agent.model.episode import Source
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import GroupGoneEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.runtime.sinks.publisher import Publisher, events_producer
from support.observer.fakes import Calls
from support.observer.observing import eventually

GONE = GroupGoneEvent("id", "c", "orders", 1, Source.RECORDS, GroupType.CLASSIC)


class FakeProducer:
    def __init__(self, settings):
        self.settings = settings
        self.records = []
        self.room = 1_000
        self.refuses = None
        self.fails = None
        self.polled = threading.Event()

    def produce(self, topic, **record):
        if self.refuses:
            raise self.refuses
        if len(self.records) >= self.room:
            raise BufferError("Local: Queue full")
        self.records.append((topic, record))

    def poll(self, _timeout):
        self.polled.set()
        threading.Event().wait(0.001)  # as librdkafka's: other threads can run
        self._fail()
        return 0

    def _fail(self):
        error, self.fails = self.fails, None
        if error:
            raise error

    def flush(self, _timeout):
        self._fail()
        return len(self.records)

    def answer(self, error=None):
        _, record = self.records.pop(0)
        record["on_delivery"](error, None)


@pytest.fixture
def made(monkeypatch):
    """The created producers, the publisher, and its reports."""
    monkeypatch.setattr("rebalance_agent.runtime.sinks.publisher.REPLACE_WAIT_S", 0.01)
    producers, reports = [], Calls()

    def make(settings):
        producers.append(FakeProducer(settings))
        return producers[-1]

    publisher = Publisher(
        {"acks": "1", "bootstrap.servers": "x"},
        "rebalance-events",
        published=reports.published,
        dropped=reports.dropped,
        make=make,
    )
    return producers, publisher, reports


def test_events_are_keyed_by_cluster_and_group_and_have_their_kind_in_a_header(made):
    (producer,), publisher, reports = made
    publisher.publish(GONE, "cluster")
    ((topic, record),) = producer.records
    assert topic == "rebalance-events"
    assert (record["key"], record["value"]) == (b"cluster:orders", json_line(GONE))
    assert record["headers"] == [("kind", b"group_gone")]
    assert reports.made == []
    producer.answer()
    assert reports.made == [("published", "group_gone")]


def test_events_wait_until_all_brokers_know_the_topic(made):
    (producer,), _, _ = made
    assert producer.settings["topic.metadata.propagation.max.ms"] > 60_000, "librdkafka gives them up after 30 s"
    own = {"topic.metadata.propagation.max.ms": "1000"}
    assert events_producer(own, lambda settings: settings)["topic.metadata.propagation.max.ms"] == "1000"


def test_users_properties_cannot_make_publishing_less_safe(made):
    (producer,), _, _ = made
    assert producer.settings["acks"] == "all"
    assert producer.settings["enable.idempotence"] is True
    assert producer.settings["max.in.flight.requests.per.connection"] == 1
    assert producer.settings["compression.type"] == "lz4"


def test_a_full_queue_a_refused_record_and_a_failed_delivery_are_counted_and_reported_once(made):
    (producer,), publisher, reports = made
    with capture_logs() as logs:
        producer.room = 1
        publisher.publish(GONE, "c")
        publisher.publish(GONE, "c")
        producer.refuses = KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
        publisher.publish(GONE, "c")
        producer.answer(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    assert reports.made == [("dropped", 1)] * 3
    assert [log["event"] for log in logs] == ["events_not_published"]


def test_after_a_success_the_next_failure_is_reported_again(made):
    (producer,), publisher, _ = made
    with capture_logs() as logs:
        for error in (KafkaError(KafkaError._MSG_TIMED_OUT), None, KafkaError(KafkaError._MSG_TIMED_OUT)):
            publisher.publish(GONE, "c")
            producer.answer(error)
    assert len(logs) == 2


def test_a_group_whose_name_is_not_utf_8_can_be_published(made):
    (producer,), publisher, _ = made
    publisher.publish(GroupGoneEvent("id", "c", "a\ud800", 1, Source.RECORDS, GroupType.CLASSIC), "c")
    assert producer.records[0][1]["key"] == b"c:a\\ud800"


def test_undelivered_events_at_the_stop_are_counted(made):
    (_producer,), publisher, reports = made
    publisher.start()
    publisher.publish(GONE, "c")
    with capture_logs() as logs:
        publisher.close(0.1)
    assert reports.made == [("dropped", 1)]
    assert logs[0]["events"] == 1


FATAL = KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, fatal=True))


def test_a_fatal_error_at_the_stop_is_no_crash_and_undelivered_events_are_counted(made):
    (producer,), publisher, reports = made
    publisher.publish(GONE, "c")
    publisher.start()
    publisher._stop.set()
    publisher._thread.join()
    producer.fails = FATAL
    publisher.close(0)
    assert reports.made == [("dropped", 1)]


def test_a_failed_producer_is_replaced(made):
    producers, publisher, reports = made
    publisher.publish(GONE, "c")
    publisher.start()
    producers[0].fails = FATAL
    reports.wait_for(lambda calls: calls.made == [("dropped", 1)])
    producers[0].records.clear()
    eventually(lambda: len(producers) == 2)
    publisher.close(0)
    assert len(producers) == 2
