"""Limits the API versions in ApiVersions responses to those that the gateway can read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from kafka.protocol.admin import DescribeClusterResponse
from kafka.protocol.consumer import FetchResponse, JoinGroupResponse, SyncGroupResponse
from kafka.protocol.metadata import ApiVersionsResponse, FindCoordinatorResponse, MetadataResponse
from kafka.protocol.producer import ProduceResponse

from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.groupprotocol.requests.share_responses import SHARE_NEWEST, SHARE_OLDEST
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR

__all__ = ["API_VERSIONS", "NEWEST", "with_known_version", "with_offered_versions"]

API_VERSIONS: int = ApiVersionsResponse.API_KEY
"""The API key of ApiVersions."""


_APIS_BY_NODE = 5
"""ApiVersions version in which a client names the cluster and node that it expects (KIP-1242). Only the request differs
from version 4. The broker checks the names, which works because each port of the gateway leads to one node."""

_FETCH_WITHOUT_ADDRESSES = 15
"""Newest Fetch version without brokers' addresses in responses (KIP-951): these responses are forwarded unread."""

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
    ApiVersionsResponse.API_KEY: _APIS_BY_NODE,
    FetchResponse.API_KEY: _FETCH_WITHOUT_ADDRESSES,
    **SHARE_NEWEST,
}
"""API key -> newest version offered to clients. Other APIs are offered as the broker offers them."""

_OLDEST = dict.fromkeys(SHARE_NEWEST, SHARE_OLDEST)
"""API key -> oldest version offered to clients."""

_NO_SUCH_VERSION = 0x7FFF


def with_known_version(head: RequestHead, frame: bytes) -> bytes:
    """Return an ApiVersions request whose response the gateway can read.

    If the request's version is too new for the gateway, it is changed to a version that no broker supports. The broker
    then answers with an error in version 0 (KIP-511), and the client asks again in an older version.
    """
    if head.api_version <= NEWEST[API_VERSIONS]:
        return frame
    return frame[:2] + _NO_SUCH_VERSION.to_bytes(2, "big") + frame[4:]


def with_offered_versions(head: RequestHead, frame: bytes, own: Callable[[Collection[int]], Iterable[int]]) -> bytes:
    """Return an ApiVersions response with only the offered APIs and versions; ``head``: the head of the request.

    ``own`` accepts the broker's API keys, and returns the keys of the APIs that the gateway answers itself, in version
    0. It is not called for an error response, since the client then asks again.

    Raises:
        DecodeError: the response cannot be read.
    """
    opened = open_frame(ApiVersionsResponse, _readable(head), frame)
    apis = opened.message.api_keys or ()  # kafka-python accepts null where the schema does not
    before = [(api.api_key, api.min_version, api.max_version) for api in apis]
    opened.message.api_keys = [api for api in apis if _cap(api)]
    if opened.message.error_code == NO_ERROR:
        kind, keys = type(opened.message).ApiVersion, {api.api_key for api in apis}
        opened.message.api_keys += [
            kind(version=opened.version, api_key=key, min_version=0, max_version=0) for key in own(keys)
        ]
    after = [(api.api_key, api.min_version, api.max_version) for api in opened.message.api_keys]
    return frame if before == after else opened.frame()


def _readable(head: RequestHead) -> RequestHead:
    return RequestHead(head.api_key, min(head.api_version, ApiVersionsResponse.max_version), head.correlation_id)


def _cap(api: Any) -> bool:  # noqa: ANN401 - kafka-python is untyped
    """Limit one API's versions; return whether any version is left to offer."""
    api.min_version = max(api.min_version, _OLDEST.get(api.api_key, api.min_version))
    api.max_version = min(api.max_version, NEWEST.get(api.api_key, api.max_version))
    return bool(api.min_version <= api.max_version)
