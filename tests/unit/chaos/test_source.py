"""The producer of the members' records reports why it stopped."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError

from chaos.processes import source as module
from chaos.processes.source import Source


@pytest.fixture
def source(monkeypatch):
    """Makes a source with this producer."""

    def make(produce):
        producer = SimpleNamespace(produce=produce, poll=lambda _: 0, flush=lambda _: 0)
        monkeypatch.setattr(module, "Producer", lambda _: producer)
        return Source("", "topic")

    return make


def test_a_thread_that_ends_with_an_exception_is_an_error(source):
    def fails(*_, **__):
        raise ValueError("no such topic")

    with source(fails) as dead:
        dead._thread.join(10)
    assert dead.errors == ["nothing more was written: ValueError('no such topic')"]


def test_refused_records_are_an_error_only_if_they_end_the_producer(source):
    alive = source(lambda *_, **__: None)
    message = SimpleNamespace(partition=lambda: 0, offset=lambda: 7)
    alive._note(KafkaError(KafkaError._MSG_TIMED_OUT, "timed out"), message)
    assert (alive.errors, alive.written) == ([], set())
    alive._note(None, message)
    assert alive.written == {(0, 7)}
    alive._note(KafkaError(KafkaError._FATAL, "fenced", fatal=True), message)
    assert alive.errors == ["nothing more was taken: fenced"]
