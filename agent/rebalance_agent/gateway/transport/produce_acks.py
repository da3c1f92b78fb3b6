"""Reads the first bytes of a Produce request to find whether the broker will respond (``acks`` is not 0)."""

from __future__ import annotations

import io
import struct
from collections.abc import Awaitable, Callable

from kafka.protocol.producer import ProduceRequest

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.transport.request_head import RequestHead

__all__ = ["PRODUCE", "wants_no_answer"]

PRODUCE: int = ProduceRequest.API_KEY
"""The API key of Produce."""


_TRANSACTIONAL_SINCE = 3

_OFTEN_ENOUGH_BYTES = 512
_ALWAYS_ENOUGH_BYTES = 70_000
"""Most bytes that can precede ``acks``: client id and transactional id (32,767 bytes each), lengths and tags."""


async def wants_no_answer(head: RequestHead, first: Callable[[int], Awaitable[bytes]]) -> bool:
    """Whether ``acks`` is 0. ``first(size)`` returns the first ``size`` bytes of the request, or all if it has fewer.

    Raises:
        DecodeError: the request does not match its schema, or its version was not offered.
    """
    if not 0 <= head.api_version <= ProduceRequest.max_version:
        raise DecodeError(
            f"Produce v{head.api_version}: only versions up to {ProduceRequest.max_version} are supported"
        )
    problem: Exception | None = None
    for size in (_OFTEN_ENOUGH_BYTES, _ALWAYS_ENOUGH_BYTES):
        try:
            return _acks(head.api_version, await first(size)) == 0
        except (ValueError, struct.error) as error:
            problem = error
    raise DecodeError(f"Produce v{head.api_version} does not match its schema: {problem}")


def _acks(version: int, first: bytes) -> int:
    flexible = ProduceRequest.flexible_version_q(version)
    fields = ProduceRequest.fields
    stream = io.BytesIO(first)
    ProduceRequest.parse_header(stream, version=version)
    if version >= _TRANSACTIONAL_SINCE:
        fields["transactional_id"].decode(stream, version=version, compact=flexible, tagged=flexible)
    return int(fields["acks"].decode(stream, version=version, compact=flexible, tagged=flexible))
