"""Answers to the gateway's own requests: a thread decodes large ones, because the event loop serves all clients."""

from __future__ import annotations

import threading

import pytest
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from rebalance_agent.gateway import requests_in_flight
from rebalance_agent.gateway.requests_in_flight import CORRELATION, DECODED_HERE_MAX, RequestsInFlight
from support.gateway.transport import run

VERSION = 4


class Up:
    """A broker that answers each request with ``body``."""

    def __init__(self, body):
        self._body = body
        self.requests = RequestsInFlight(self)

    async def put(self, frame, registered):
        registered()
        correlation_id = frame[4 : 4 + CORRELATION.size]
        sent = self.requests.oldest(*CORRELATION.unpack(correlation_id))
        sent.own_answer.set_result(correlation_id + self._body)


def metadata(topics):
    kind = MetadataResponse.MetadataResponseTopic
    named = [
        kind(version=VERSION, error_code=0, name=f"t{number}", is_internal=False, partitions=[])
        for number in range(topics)
    ]
    return bytes(
        MetadataResponse(
            version=VERSION, throttle_time_ms=0, brokers=[], cluster_id="c", controller_id=1, topics=named
        ).encode()
    )


@pytest.mark.parametrize(("topics", "here"), [(10, True), (10_000, False)])
@run
async def test_a_large_answer_is_decoded_in_a_thread(monkeypatch, topics, here):
    threads, opened, body = [], requests_in_flight.open_frame, metadata(topics)

    def open_frame(*arguments):
        threads.append(threading.current_thread())
        return opened(*arguments)

    monkeypatch.setattr(requests_in_flight, "open_frame", open_frame)
    assert (len(body) <= DECODED_HERE_MAX) is here
    answer = await Up(body).requests.ask(MetadataRequest(version=VERSION, topics=None))
    assert len(answer.topics) == topics
    assert [thread is threading.current_thread() for thread in threads] == [here]
