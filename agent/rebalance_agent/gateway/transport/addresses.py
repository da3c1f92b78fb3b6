"""Replaces brokers' addresses in responses by the addresses where the gateway listens for each broker."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from kafka.protocol.admin import DescribeClusterResponse
from kafka.protocol.metadata import FindCoordinatorResponse, MetadataResponse
from kafka.protocol.producer import ProduceResponse

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.groupprotocol.requests.share_responses import SHARE_NEWEST, ShareResponse, read_share_response

__all__ = ["NODES_MAX", "Address", "Nodes", "localized", "names_addresses"]

NODES_MAX = 2_000
"""Maximum number of brokers of a cluster, each with a port of the gateway: Kafka's own tests use at most a few
hundred."""

Address = tuple[str, int]
"""Host and port."""

_ENDPOINTS_SINCE = 10
_COORDINATORS_SINCE = 4
_CONTROLLERS = 2
"""``endpoint_type`` of DescribeCluster for controllers (KIP-919), for which the gateway has no listeners."""


class Nodes(Protocol):
    """Gives the gateway's own address for each broker."""

    async def local(self, nodes: Mapping[int, Address], *, complete: bool = False) -> Mapping[int, Address]:
        """Return node id -> the gateway's address for clients; open missing listeners. ``nodes``: the real addresses.

        A broker without a listener gets an address that accepts no connections. ``complete``: ``nodes`` has all brokers
        of the cluster.
        """
        ...


def names_addresses(head: RequestHead) -> bool:
    """Whether the response to this request may contain a broker's address."""
    if head.api_key == ProduceResponse.API_KEY:
        return head.api_version >= _ENDPOINTS_SINCE
    return head.api_key == MetadataResponse.API_KEY or head.api_key in _BROKERS or head.api_key in SHARE_NEWEST


async def localized(
    head: RequestHead, frame: bytes, nodes: Nodes, shared: Callable[[ShareResponse], None] = lambda _answer: None
) -> bytes:
    """Return the response to ``head`` with the gateway's addresses instead of the brokers' addresses, if it has any.

    ``shared`` is called with the response of a share group.

    Raises:
        DecodeError: the response cannot be read, so it might contain real addresses.
    """
    if head.api_key == MetadataResponse.API_KEY:
        return await _metadata(head, frame, nodes)
    if head.api_key in SHARE_NEWEST:
        answer = read_share_response(head.api_key, head.api_version, frame)
        shared(answer)
        return answer.frame() if await _set(answer.brokers, nodes) else frame
    kind, brokers, identified = _BROKERS[head.api_key]
    opened = open_frame(kind, head, frame)
    named = await _set(brokers(opened.message, head.api_version), nodes, identified=identified)
    return opened.frame() if named else frame


async def _metadata(head: RequestHead, frame: bytes, nodes: Nodes) -> bytes:
    """Rewrite only the brokers at the beginning; the rest is not read, since it grows with topics and partitions."""
    version, kind = head.api_version, MetadataResponse
    if not 0 <= version <= kind.max_version:
        raise DecodeError(f"Metadata v{version}: only versions up to {kind.max_version} are supported")
    flexible = kind.flexible_version_q(version)
    field = kind.fields["brokers"]
    how = {"version": version, "compact": flexible, "tagged": flexible}
    try:
        stream = io.BytesIO(frame)
        kind.parse_header(stream, version=version)
        if kind.fields["throttle_time_ms"].for_version_q(version):
            kind.fields["throttle_time_ms"].decode(stream, **how)
        begin = stream.tell()
        brokers = field.decode(stream, **how) or []
        end = stream.tell()
    except (ValueError, struct.error) as error:
        raise DecodeError(f"Metadata v{version} of {len(frame)} bytes does not match its schema: {error}") from None
    await _set(brokers, nodes, complete=True)
    return frame[:begin] + bytes(field.encode(brokers, **how)) + frame[end:]


def _coordinators(message: Any, version: int) -> Any:  # noqa: ANN401 - kafka-python is untyped
    return message.coordinators if version >= _COORDINATORS_SINCE else [message]


def _cluster(message: Any, version: int) -> Any:  # noqa: ANN401
    return () if version and message.endpoint_type == _CONTROLLERS else message.brokers


_BROKERS: Mapping[int, tuple[Any, Callable[[Any, int], Any], str]] = {
    FindCoordinatorResponse.API_KEY: (FindCoordinatorResponse, _coordinators, "node_id"),
    DescribeClusterResponse.API_KEY: (DescribeClusterResponse, _cluster, "broker_id"),
    ProduceResponse.API_KEY: (ProduceResponse, lambda message, _version: message.node_endpoints, "node_id"),
}
"""API key -> response class, function that returns the response's brokers, and name of the field with broker ids."""


async def _set(brokers: Iterable[Any], nodes: Nodes, *, complete: bool = False, identified: str = "node_id") -> bool:
    """Set the gateway's address on each broker; return whether any was set. Errors have node id -1 and no host."""
    named = {
        getattr(broker, identified): broker
        for broker in brokers or ()
        if getattr(broker, identified) >= 0 and broker.host
    }
    if len(named) > NODES_MAX:
        raise DecodeError(f"a response names {len(named)} brokers; at most {NODES_MAX} get a port")
    local = await nodes.local({node: (broker.host, broker.port) for node, broker in named.items()}, complete=complete)
    for broker in brokers or ():
        if (node := getattr(broker, identified)) in named:
            broker.host, broker.port = local[node]
    return bool(named)
