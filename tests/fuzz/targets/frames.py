"""Kafka frames and pushed metrics as the gateway parses them; `support.gateway.fuzz` adds the sockets."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import random
import struct

from fuzz.target import MB, Target
from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.groups.assignment_recovery import DESCRIBE_VERSION, described_assignment
from rebalance_agent.gateway.groups.heartbeats.consumer_heartbeats import ConsumerHeartbeatHandler
from rebalance_agent.gateway.groups.heartbeats.share_heartbeats import ShareHeartbeatHandler
from rebalance_agent.gateway.groups.heartbeats.streams_heartbeats import StreamsHeartbeatHandler
from rebalance_agent.gateway.groups.join_group import JoinGroupHandler
from rebalance_agent.gateway.groups.leading.leader_decision import METADATA_VERSION, topics_of
from rebalance_agent.gateway.groups.observed_apis import (
    FetchHandler,
    HeartbeatHandler,
    LeaveGroupHandler,
    OffsetCommitHandler,
    TxnOffsetCommitHandler,
)
from rebalance_agent.gateway.groups.sync_group import SyncGroupHandler
from rebalance_agent.gateway.telemetry.client_values import CLIENT_VALUES
from rebalance_agent.gateway.telemetry.otlp_reader import read_metrics
from rebalance_agent.gateway.telemetry.push_error import PushError
from rebalance_agent.gateway.telemetry.pushed_bytes import unpacked
from rebalance_agent.gateway.transport.addresses import localized, names_addresses
from rebalance_agent.gateway.transport.api_versions import API_VERSIONS, with_offered_versions
from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.produce_acks import PRODUCE, wants_no_answer
from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.groupprotocol.requests.client_telemetry import decode_get_subscriptions, decode_push
from rebalance_agent.groupprotocol.wire.primitives import ZERO_UUID
from support.gateway.frames import VERSIONS, apis, filled, framed, group_frames
from support.telemetry.otlp import gauge, metrics_data, total
from support.telemetry.real_pushes import PUSHED_BY_JAVA, PUSHED_BY_LIBRDKAFKA
from support.telemetry.requests import get_request, push_request

__all__ = ["TARGETS"]

HANDLERS = {
    each.API_KEY: each
    for each in (
        OffsetCommitHandler,
        ConsumerHeartbeatHandler,
        FetchHandler,
        HeartbeatHandler,
        JoinGroupHandler,
        LeaveGroupHandler,
        ShareHeartbeatHandler,
        StreamsHeartbeatHandler,
        SyncGroupHandler,
        TxnOffsetCommitHandler,
    )
}
METADATA, DESCRIBE_GROUPS = 3, 15
ANSWERED = (PRODUCE, METADATA, 10, DESCRIBE_GROUPS, API_VERSIONS, 60)
"""Other responses that the gateway reads: addresses (also FindCoordinator and DescribeCluster), versions, and responses
to its own requests."""

METRIC = next(iter(CLIENT_VALUES))


class Listeners:
    """Nodes in which every broker has a listener."""

    async def local(self, nodes, *, complete=False):
        return dict.fromkeys(nodes, ("gateway", 9092))


def take_request(data):
    """A frame as a client sends it, without its length."""
    try:
        head = read_head(data)
        if head.api_key == PRODUCE:
            asyncio.run(wants_no_answer(head, _first(data)))
        if (handler := _handler(head)) is not None:
            handler.open_request(head, data)
    except DecodeError:
        return


def take_answer(data):
    """API key and version in four bytes, then the broker's response, which the gateway rewrites and reads."""
    try:
        head = read_head(data[:4] + bytes(4))
        frame = data[4:]
        if (handler := _handler(head)) is not None:
            handler.open_response(head, frame)
        elif head.api_key == API_VERSIONS:
            with_offered_versions(head, frame, lambda _brokers: (71, 72))
        elif names_addresses(head):
            asyncio.run(localized(head, frame, Listeners()))
        if (head.api_key, head.api_version) == (METADATA, METADATA_VERSION):
            topics_of(open_frame(apis()[METADATA].response, head, frame).message, ["orders", "t"], racks=True)
        if (head.api_key, head.api_version) == (DESCRIBE_GROUPS, DESCRIBE_VERSION):
            described_assignment(open_frame(apis()[DESCRIBE_GROUPS].response, head, frame).message, "orders", "m")
    except DecodeError:
        return


def take_otlp(data):
    """OTLP as a client pushes it without compression."""
    try:
        found = read_metrics(data, CLIENT_VALUES, ("group_id",))
    except PushError:
        return
    assert found.values.keys() <= CLIENT_VALUES.keys()
    assert found.attributes.keys() <= {"group_id"}


def take_push(data):
    """A telemetry request of either kind; its metrics are read as in the gateway."""
    with contextlib.suppress(DecodeError):
        decode_get_subscriptions(data)
    try:
        push = decode_push(data)
        take_otlp(unpacked(push["metrics"], push["compression_type"]))
    except (DecodeError, PushError):
        return


def _handler(head):
    """The handler that decodes the frame, for known versions; it has no connection, because decoding needs none."""
    kind = HANDLERS.get(head.api_key)
    if kind is None or not kind.VERSION_MIN <= head.api_version <= kind.VERSION_MAX:
        return None
    return kind.__new__(kind)


def _first(data):
    async def first(size):
        return data[:size]

    return first


def frames():
    return [group_frames(key, version) for key, versions in VERSIONS.items() for version in versions]


def requests():
    chance = random.Random(1)
    produced = [framed(filled(chance, apis()[PRODUCE].request, version)) for version in (3, 9, 12)]
    return [*(each.request for each in frames()), *produced]


def answers():
    chance = random.Random(1)
    found = [(each.key, each.version, each.answer) for each in frames() if each.answer]
    for key in ANSWERED:
        kind = apis()[key].response
        found += [(key, version, framed(filled(chance, kind, version))) for version in range(kind.max_version + 1)]
    return [struct.pack(">hh", key, version) + frame for key, version, frame in found]


def otlp():
    made = metrics_data(gauge(METRIC, 1.5), total(METRIC, 7), gauge("unwanted", 3), group_id="orders")
    return [made, *(gzip.decompress(each) for each in (PUSHED_BY_JAVA, PUSHED_BY_LIBRDKAFKA))]


def pushes():
    plain = [push_request(ZERO_UUID, 7, content) for content in otlp()]
    return [get_request(), *plain, push_request(ZERO_UUID, 7, PUSHED_BY_JAVA, codec=1)]


TARGETS = (
    Target("frame", take_request, requests, (b"orders", b"consumer", b"range"), 1.0, 4 * MB, 2_000),
    Target("answer", take_answer, answers, (b"orders", b"localhost", b"range"), 1.0, 4 * MB, 2_000),
    Target("otlp", take_otlp, otlp, (b"group_id", METRIC.encode())),
    Target("push", take_push, pushes, (b"group_id", METRIC.encode())),
)
