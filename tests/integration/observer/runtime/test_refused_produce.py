"""Each acknowledged event is in the topic, even if its leader refused several requests before.

librdkafka 2.16 sends up to five requests at a time. If a leader that does not know the producer refuses the first ones
and accepts a later one, librdkafka reports all of them as acknowledged.
"""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import contextmanager, suppress

import pytest
from kafka.protocol.producer import ProduceResponse

from rebalance_agent.runtime.sinks.publisher import events_producer
from rebalance_agent.testing import EmbeddedKafka, Listener
from support.gateway.frames import framed
from support.gateway.transport import frame_of
from support.observer.observing import create_topic, eventually, everything

pytestmark = pytest.mark.integration

NOT_LEADER_OR_FOLLOWER = 6
PRODUCE = struct.pack(">h", ProduceResponse.API_KEY)
REFUSED = 6
"""Produce requests that the relay refuses if they come alone. Of two at once it refuses the first, and no others."""

AT_ONCE_S = 0.05

EVENTS = 8
TOPICS = [f"published-{number}" for number in range(4)]
"""Each try has a topic of its own, since its leader may not know the producer."""


def test_acknowledged_events_are_in_the_topic_although_their_leader_refused_requests():
    with EmbeddedKafka(1, listeners={"AGENT": Listener("PLAINTEXT", fronted=True)}) as kafka:
        ports = [int(kafka.address("AGENT", behind=each).rpartition(":")[2]) for each in (False, True)]
        for topic in TOPICS:
            create_topic(kafka.bootstrap_servers, topic, 1)
            with refusing(*ports, topic) as refused:
                _publish(f"127.0.0.1:{ports[0]}", topic)
            found = [int(message.value()) for message in everything(kafka.bootstrap_servers, topic)]
            assert found == list(range(EVENTS))
            assert None not in refused, "it sent a request before it had the answer to the one before"


def _publish(bootstrap, topic):
    """Produce the numbers of the events, and wait until each is reported as acknowledged."""
    acknowledged = []
    producer = events_producer({"bootstrap.servers": bootstrap, "log_level": "0"})
    for number in range(EVENTS):
        producer.produce(topic, str(number).encode(), on_delivery=lambda error, message: acknowledged.append(error))
        producer.poll(0.3)
    eventually(lambda: len(acknowledged) == EVENTS, between=lambda: producer.poll(0))
    assert acknowledged == [None] * EVENTS


@contextmanager
def refusing(port, broker, topic):
    """A relay before the broker. Yields the versions of the Produce requests that it refused instead of the leader."""
    refused = []
    with socket.create_server(("127.0.0.1", port)) as server:

        def accept():
            with suppress(OSError):
                while True:
                    threading.Thread(
                        target=_relay, args=(server.accept()[0], broker, topic, refused), daemon=True
                    ).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield refused
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def _relay(client, broker, topic, refused):
    lock, held = threading.Lock(), []
    with client, socket.create_connection(("127.0.0.1", broker)) as leader, suppress(OSError):

        def refuse(frame):
            _, version, correlation = struct.unpack_from(">hhi", frame)
            refused.append(version)
            client.sendall(frame_of(_refusal(topic, version, correlation)))

        def refuse_alone():
            with lock, suppress(OSError):
                if held:
                    refuse(held.pop())

        def answer():
            for frame in _frames(leader):
                with lock, suppress(OSError):
                    client.sendall(frame_of(frame))

        threading.Thread(target=answer, daemon=True).start()
        for frame in _frames(client):
            with lock:
                if frame[:2] != PRODUCE or len(refused) == REFUSED:
                    leader.sendall(frame_of(frame))
                elif held:
                    refuse(held.pop())
                    refused += [None] * (REFUSED - len(refused))
                    leader.sendall(frame_of(frame))
                else:
                    held.append(frame)
                    threading.Timer(AT_ONCE_S, refuse_alone).start()


def _frames(connection):
    with connection.makefile("rb") as stream, suppress(OSError):
        while head := stream.read(4):
            yield stream.read(struct.unpack(">i", head)[0])


def _refusal(topic, version, correlation):
    """Kafka's answer of a broker that does not lead the partition."""
    kind = ProduceResponse.TopicProduceResponse
    partition = kind.PartitionProduceResponse(
        version=version, index=0, error_code=NOT_LEADER_OR_FOLLOWER, base_offset=-1, log_append_time_ms=-1
    )
    responses = [kind(version=version, name=topic, partition_responses=[partition])]
    return framed(ProduceResponse(version=version, responses=responses, throttle_time_ms=0), correlation)
