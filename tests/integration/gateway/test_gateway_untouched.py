"""The gateway leaves all other traffic unchanged: every API and version of a broker, in both directions."""

from __future__ import annotations

import socket

import pytest
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse

from rebalance_agent.gateway.transport.addresses import names_addresses
from rebalance_agent.gateway.transport.api_versions import API_VERSIONS
from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import read_head
from support.gateway.frames import apis, framed
from support.gateway.recorder import Recorder
from support.gateway.running import gateway
from support.gateway.transport import frame_of, request
from support.observer.observing import PATIENCE_S

pytestmark = pytest.mark.integration

REFUSED = {(17, 0)}
"""SaslHandshake v0 is followed by bytes that are no frames."""


def exchanged(address, frame):
    """All bytes of the response to ``frame``, until the broker closes the connection after the client."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        connection.sendall(frame_of(frame))
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as file:
            return file.read()


NEVER_ANSWERED = {(24, 4), (24, 5)}
"""AddPartitionsToTxn without a transaction: a broker does not answer, with or without a gateway."""


def every_version(address):
    """API key and version of everything that the broker offers."""
    frame = framed(ApiVersionsRequest(version=0))
    answer = open_frame(ApiVersionsResponse, read_head(frame), exchanged(address, frame)[4:]).message
    return [
        (each.api_key, version) for each in answer.api_keys for version in range(each.min_version, each.max_version + 1)
    ]


def asked(key, version):
    """A request of kafka-python's class; without a class, one that the broker refuses."""
    api = apis().get(key)
    if api is None or version > api.request.max_version or (key, version) in NEVER_ANSWERED:
        return request(key, version, 7, b"what nobody here can read")
    return framed(api.request(version=version), correlation_id=7)


def test_requests_and_answers_of_every_api_and_version_are_the_same_bytes_on_both_sides(kafka):
    differ, sizes = set(), {}
    with Recorder(kafka.bootstrap_servers) as recorder, gateway(recorder.address, "orders=weighted-sticky") as through:
        offered = [each for each in every_version(kafka.bootstrap_servers) if each not in REFUSED]
        for number, (key, version) in enumerate(offered):
            frame = asked(key, version)
            got = exchanged(through.bootstrap, frame)
            recorded = recorder.connection(number)
            assert recorded.came == frame_of(frame), (key, version)
            if got != recorded.went:
                differ.add((key, version))
            sizes[key, version] = len(got)
    assert len(recorder) == len(offered) > 200
    rewritten = {(key, version) for key, version in offered if names_addresses(read_head(asked(key, version)))}
    assert differ <= rewritten | {(key, version) for key, version in offered if key == API_VERSIONS}
    assert differ, "responses with brokers should differ"
    answered = {key for (key, _), size in sizes.items() if size}
    assert len(answered) > 40, "most requests should be answered"
