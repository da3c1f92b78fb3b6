"""Plain confluent-kafka consumers, instrumented, on a real broker."""

from __future__ import annotations

import contextlib
import gc
import itertools
import threading
import weakref

import confluent_kafka
import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_agent.clients.confluent_kafka import Consumer, inconsistent_protocol
from support.observer.sidecars import absent, arrives, reported

pytestmark = pytest.mark.integration

PATIENCE = 60.0
NUMBER = itertools.count(1)


@pytest.fixture
def topic(kafka):
    name = f"plain-topic-{next(NUMBER)}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(name, 10, 1)])[name].result(PATIENCE)
    return name


class Crew:
    """Members of one group, polled in turn in one thread."""

    def __init__(self, address, events_url):
        self.group = f"plain-group-{next(NUMBER)}"
        self.members = []
        self._address = address
        self._events_url = events_url

    def make(self, config=None, **options):
        options.setdefault("events_url", self._events_url)
        settings = {
            "bootstrap.servers": self._address,
            "group.id": self.group,
            "client.id": f"client-{len(self.members)}",
            "session.timeout.ms": 10_000,
            "heartbeat.interval.ms": 200,
            **(config or {}),
        }
        self.members.append(Consumer(settings, **options))
        return self.members[-1]

    def until(self, condition):
        """Poll until the condition holds."""
        for _ in range(int(PATIENCE / 0.05)):
            for member in self.members:
                with contextlib.suppress(RuntimeError):  # closed
                    member.poll(0.05 / len(self.members))
            if condition():
                return
        pytest.fail("the condition never came")

    def close(self):
        for member in self.members:
            member.close()


@pytest.fixture
def crew(kafka, sidecar):
    with contextlib.closing(Crew(kafka.bootstrap_servers, sidecar.url)) as members:
        yield members


def shares(crew):
    return [len(member.assignment()) for member in crew.members]


def test_callbacks_are_reported_with_generation_and_member_id(crew, topic, sidecar):
    first = crew.make()
    first.subscribe([topic])
    crew.until(lambda: shares(crew) == [10])
    crew.make({"group.instance.id": "here"}).subscribe([topic])
    crew.until(lambda: shares(crew) == [5, 5])
    member_id = first.memberid()
    crew.close()
    arrives(sidecar, 2, callback="left")
    events = reported(sidecar, client_id="client-0")
    # librdkafka revokes on close.
    assert [event["callback"] for event in events] == ["assigned", "revoked", "assigned", "revoked", "left"]
    assert [event["generation"] for event in events] == [1, 1, 2, 2, 2]
    assert [event["partitions"] for event in events[:2]] == [{topic: "0-9"}] * 2
    assert {(event["group"], event["member_id"]) for event in events} == {(crew.group, member_id)}
    assert {event["instance_id"] for event in reported(sidecar, client_id="client-1")} == {"here"}


def test_the_applications_callbacks_run_unchanged_and_are_timed(crew, topic, sidecar):
    calls = []

    def on_assign(consumer, partitions):
        threading.Event().wait(0.05)
        for partition in partitions:
            partition.offset = confluent_kafka.OFFSET_BEGINNING
        consumer.assign(partitions)
        calls.append((consumer, "assign", len(partitions)))

    member = crew.make()
    member.subscribe([topic], on_assign, lambda consumer, gone: calls.append((consumer, "revoke", len(gone))))
    crew.until(lambda: shares(crew) == [10])
    crew.close()
    assert calls == [(member, "assign", 10), (member, "revoke", 10)]
    (event,) = arrives(sidecar, callback="assigned")
    assert event["timestamp_ms"] - event["started_ms"] >= 50


def test_poll_raises_exceptions_of_the_applications_callback(crew, topic, sidecar):
    error = ValueError("the user's own")

    def on_assign(_consumer, _partitions):
        raise error

    crew.make().subscribe([topic], on_assign=on_assign)
    with pytest.raises(ValueError, match="the user's own") as raised:
        crew.until(lambda: False)
    assert raised.value is error
    (event,) = arrives(sidecar, callback="assigned")
    assert event["error"] == "ValueError: the user's own"


def test_cooperative_callbacks_contain_only_moved_partitions(crew, topic, sidecar):
    cooperative = {"partition.assignment.strategy": "cooperative-sticky"}
    crew.make(cooperative).subscribe([topic])
    crew.until(lambda: shares(crew) == [10])
    crew.make(cooperative).subscribe([topic])
    crew.until(lambda: shares(crew) == [5, 5])
    crew.close()
    arrives(sidecar, 2, callback="left")
    events = [(event["callback"], event.get("partitions")) for event in reported(sidecar, client_id="client-0")]
    assert [callback for callback, _ in events] == ["assigned", "revoked", "revoked", "left"]
    assert [count(partitions) for _, partitions in events] == [10, 5, 5, 0]


def count(partitions):
    return sum(
        int(part.partition("-")[2] or part) - int(part.partition("-")[0]) + 1
        for ranges in (partitions or {}).values()
        for part in ranges.split(",")
    )


def lose(crew, sidecar, topic, **callbacks):
    """A member that exceeds its poll interval, and then polls again."""
    statistics = {"statistics.interval.ms": 1_000, "stats_cb": lambda _text: None}
    member = crew.make({"max.poll.interval.ms": 6_000, "session.timeout.ms": 6_000, **statistics})
    member.subscribe([topic], **callbacks)
    crew.until(lambda: shares(crew) == [10])
    threading.Event().wait(8)
    crew.until(lambda: len(reported(sidecar, callback="lost")) == 2)


def test_a_loss_is_reported_with_librdkafkas_reason(crew, topic, sidecar):
    calls = []
    lose(crew, sidecar, topic, on_revoke=lambda _consumer, gone: calls.append(len(gone)))
    first, again = reported(sidecar, callback="lost")
    assert calls == [10]  # there is no on_lost
    assert first["event_id"] == again["event_id"]
    assert (first["revision"], again["revision"]) == (0, 1)
    assert "reason" not in first
    assert again["reason"] == "max.poll.interval.ms exceeded"
    assert first["partitions"] == {topic: "0-9"}
    assert first["generation"] == 1


def test_unsubscribing_leaves_after_the_revocation(crew, topic, sidecar):
    member = crew.make()
    member.subscribe([topic])
    crew.until(lambda: shares(crew) == [10])
    member.unsubscribe()
    crew.until(lambda: reported(sidecar, callback="left"))
    assert [event["callback"] for event in reported(sidecar)] == ["assigned", "revoked", "left"]
    crew.close()
    crew.close()
    assert len(reported(sidecar, callback="left")) == 1


def test_the_end_of_a_with_block_leaves_the_group(crew, topic, sidecar):
    with crew.make() as member:
        member.subscribe([topic])
        crew.until(lambda: shares(crew) == [10])
    arrives(sidecar, callback="left")
    assert [event["callback"] for event in reported(sidecar)] == ["assigned", "revoked", "left"]


def test_statistics_reach_the_application_and_its_exceptions_are_raised(crew, topic):
    texts = []
    crew.make({"statistics.interval.ms": 100, "stats_cb": texts.append}).subscribe([topic])
    crew.until(lambda: len(texts) >= 2 and '"cgrp"' in texts[-1])

    raised = []

    def stats_cb(_text):
        if not raised:  # because the consumer gets further statistics while it is closed
            raised.append(True)
            raise ValueError("the user's own")

    crew.make({"statistics.interval.ms": 100, "stats_cb": stats_cb})
    with pytest.raises(ValueError, match="the user's own"):
        crew.until(lambda: False)


def test_without_a_sidecar_nothing_changes(kafka, topic):
    with absent() as url, contextlib.closing(Crew(kafka.bootstrap_servers, url)) as crew:
        for _ in range(2):
            crew.make().subscribe([topic])
        crew.until(lambda: shares(crew) == [5, 5])


def test_an_unreferenced_consumer_is_freed_at_once(kafka, sidecar):
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "gone"}, events_url=sidecar.url)
    consumer.subscribe(["some"])
    gone = weakref.ref(consumer)
    gc.disable()
    try:
        del consumer
        assert gone() is None
    finally:
        gc.enable()


def test_a_refused_member_can_explain_which_member_offers_which_assignor(crew, topic):
    first = crew.make({"partition.assignment.strategy": "range", "client.id": "first"})
    first.subscribe([topic])
    crew.until(first.assignment)
    other = crew.make({"partition.assignment.strategy": "cooperative-sticky"})
    crew.members.remove(other)
    other.subscribe([topic])
    refused = []

    def polled():
        if (message := other.poll(0.05)) and message.error().code() == KafkaError.INCONSISTENT_GROUP_PROTOCOL:
            refused.append(message.error().str())
        return refused

    crew.until(polled)
    text = other.explain_refusal()
    other.close()
    assert "this consumer offers cooperative-sticky" in text
    assert "first offers range, so this consumer must list range." in text


def test_a_refusal_that_cannot_be_explained_has_the_reason(monkeypatch):
    monkeypatch.setattr(inconsistent_protocol, "TIMEOUT_SECONDS", 0.5)
    settings = {"bootstrap.servers": "127.0.0.1:9", "group.id": "g", "on_commit": lambda *_: None, "log_level": 0}
    with Consumer(settings, events_url="") as consumer:
        text = consumer.explain_refusal()
    assert text.startswith(
        "group g rejects a member that offers range, roundrobin, and cannot be described: Failed to list "
        "groups: Local: Timed out"
    )
