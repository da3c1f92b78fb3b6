"""What of a broker's APIs is offered to a client: those that the gateway rewrites in the versions it knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.protocol.admin import DescribeClusterResponse
from kafka.protocol.consumer import FetchResponse, JoinGroupResponse, SyncGroupResponse
from kafka.protocol.metadata import ApiVersionsResponse, FindCoordinatorResponse, MetadataResponse
from kafka.protocol.producer import ProduceResponse

from rebalance_agent.gateway.transport.kafka_messages import open_response
from rebalance_agent.gateway.transport.request_head import RequestHead

__all__ = ["API_VERSIONS", "NEWEST", "NOT_OFFERED", "asked_as_known", "offered"]

API_VERSIONS: int = ApiVersionsResponse.API_KEY

_FETCH_WITHOUT_ADDRESSES = 15
"""Fetch names brokers' addresses since v16 (KIP-951), in answers that are to pass unread."""

_READ = (
    ProduceResponse,
    MetadataResponse,
    FindCoordinatorResponse,
    JoinGroupResponse,
    SyncGroupResponse,
    ApiVersionsResponse,
    DescribeClusterResponse,
)

NEWEST: Mapping[int, int] = {
    **{kind.API_KEY: kind.max_version for kind in _READ},
    FetchResponse.API_KEY: _FETCH_WITHOUT_ADDRESSES,
}
"""API key -> newest version that is offered. Every other API is offered as the broker does."""

NOT_OFFERED = frozenset({78, 79})
"""ShareFetch and ShareAcknowledge: their answers name brokers' addresses, and kafka-python has no class for them."""

_NO_SUCH_VERSION = 0x7FFF


def asked_as_known(head: RequestHead, frame: bytes) -> bytes:
    """An ApiVersions request that the broker's answer to can be read.

    One of a newer version than is known here becomes one of a version that no broker knows: it answers with an error
    in version 0 then (KIP-511), and the client asks again in an older version.
    """
    if head.api_version <= NEWEST[API_VERSIONS]:
        return frame
    return frame[:2] + _NO_SUCH_VERSION.to_bytes(2, "big") + frame[4:]


def offered(head: RequestHead, frame: bytes) -> bytes:
    """An ApiVersions answer without what is not offered; ``head`` is the request's.

    Raises:
        DecodeError: it cannot be read.
    """
    opened = open_response(ApiVersionsResponse, _readable(head), frame)
    apis = opened.message.api_keys or ()  # kafka-python reads null where the schema has none
    before = [(each.api_key, each.max_version) for each in apis]
    opened.message.api_keys = [each for each in apis if _cap(each)]
    after = [(each.api_key, each.max_version) for each in opened.message.api_keys]
    return frame if before == after else opened.frame()


def _readable(head: RequestHead) -> RequestHead:
    return RequestHead(head.api_key, min(head.api_version, NEWEST[API_VERSIONS]), head.correlation_id)


def _cap(api: Any) -> bool:  # noqa: ANN401 - kafka-python is untyped
    """Cap one API's versions; whether it is offered at all."""
    api.max_version = min(api.max_version, NEWEST.get(api.api_key, api.max_version))
    return api.api_key not in NOT_OFFERED and api.min_version <= api.max_version
