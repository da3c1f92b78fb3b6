"""`rebalance_agent.instrument`: what it refuses, and the proxy of a confluent-kafka consumer without a broker."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import aiokafka
import confluent_kafka
import kafka
import pytest

import rebalance_agent
from rebalance_agent.clients.confluent_kafka import Consumer
from rebalance_agent.clients.confluent_kafka.instrumented_proxy import InstrumentedProxy
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.events import Callback

NOWHERE = {"bootstrap.servers": "127.0.0.1:1", "group.id": "billing", "log_level": 0}


def refused(consumer, **options):
    with pytest.raises(InvalidInputError) as raised:
        rebalance_agent.instrument(consumer, events_url="", **options)
    return str(raised.value)


@pytest.mark.parametrize("other", [None, "consumer", confluent_kafka.Consumer, kafka.KafkaProducer, object()])
def test_other_objects_are_refused(other):
    assert "must be a consumer of confluent-kafka, kafka-python or aiokafka, not " in refused(other)


def bare(**attributes):
    """kafka-python's consumer without a connection, which its constructor needs."""
    consumer = object.__new__(kafka.KafkaConsumer)
    vars(consumer).update(attributes)
    return consumer


def test_kafka_python_without_a_group_or_after_its_first_join_is_refused():
    assert refused(bare(config={"group_id": None})) == "consumer: has no group_id, so it has no rebalances"
    joined = bare(config={"group_id": "g"}, group_metadata=lambda: SimpleNamespace(member_id="m"))
    assert refused(joined) == "consumer: has joined its group: call instrument() before the first poll()"
    assert "already have one" in refused(joined, client_id="c")


def test_aiokafka_without_a_group_or_after_its_start_is_refused():
    async def run():
        plain = aiokafka.AIOKafkaConsumer("t")
        assert refused(plain) == "consumer: has no group_id, so it has no rebalances"
        started = aiokafka.AIOKafkaConsumer("t", group_id="g")
        started._coordinator = object()
        assert refused(started) == "consumer: was started: call instrument() before start()"
        plain._closed = started._closed = True  # they never connected

    asyncio.run(run())


def test_a_consumer_that_reports_or_is_closed_is_refused():
    ours = Consumer(NOWHERE, events_url="")
    assert refused(ours) == "consumer: already reports its rebalances"
    ours.close()
    own = confluent_kafka.Consumer(NOWHERE)
    proxy = rebalance_agent.instrument(own, events_url="")
    assert refused(proxy) == "consumer: already reports its rebalances"
    proxy.close()
    assert refused(own) == "consumer: is closed"


class Extended(confluent_kafka.Consumer):
    def poll(self, timeout=None):
        return f"polled {timeout}"

    def extra(self):
        return "extra"


def test_every_method_of_the_consumer_and_of_its_subclass_is_passed_on():
    own = Extended(NOWHERE)
    proxy = rebalance_agent.instrument(own, events_url="")
    for name in dir(confluent_kafka.Consumer):
        if not name.startswith("_"):
            assert getattr(type(proxy), name) is not getattr(confluent_kafka.Consumer, name), name
    assert proxy.poll(timeout=1) == "polled 1"
    assert proxy.extra() == "extra"
    assert not hasattr(proxy, "missing")
    with proxy as entered:
        assert entered is proxy
    with pytest.raises(RuntimeError, match="closed"):
        own.assignment()


def test_group_and_static_id_are_read_from_the_consumer():
    events = []
    own = confluent_kafka.Consumer({**NOWHERE, "group.instance.id": "billing-0"})
    proxy = rebalance_agent.instrument(own, events_url="", on_event=events.append)
    assert isinstance(proxy, InstrumentedProxy)
    assert proxy._instrumentation._builder.group == "billing"
    proxy.close()


def test_callbacks_of_a_dropped_proxy_still_reach_the_application():
    calls = []
    own = confluent_kafka.Consumer(NOWHERE)
    proxy = rebalance_agent.instrument(own, events_url="")
    users = {callback: partial(calls.append, callback) for callback in (Callback.ASSIGNED, Callback.REVOKED)}
    own_callbacks = {callback: lambda *_given, user=user: user() for callback, user in users.items()}
    assigned, lost = (proxy._callback(callback, own_callbacks) for callback in (Callback.ASSIGNED, Callback.LOST))
    del proxy
    gc.collect()
    assigned(own, [])
    lost(own, [])
    assert calls == [Callback.ASSIGNED, Callback.REVOKED]  # confluent-kafka passes losses to on_revoke, too
    own.close()


def test_no_client_is_imported_before_it_is_needed():
    program = "import sys, rebalance_agent; assert not {'kafka', 'aiokafka', 'confluent_kafka'} & sys.modules.keys()"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
