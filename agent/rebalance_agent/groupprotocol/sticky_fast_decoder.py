"""A fast decoder for well-formed sticky user data, ten times as fast as the schema's reader.

The leader decodes every member's owned partitions while the whole group waits: up to a million partitions in a thousand
topics. The schema's reader decodes other data (damaged or out of order, with a topic twice or an impossible partition),
and raises the errors.
"""

from __future__ import annotations

import functools
import struct

from rebalance_agent.model.partitions import PARTITION_MAX
from rebalance_agent.model.subscription import MemberUserData

__all__ = ["decode_fast"]

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_INT32_BYTES = 4

_SIZES_MAX = 1_024
"""Maximum number of compiled ``struct`` layouts in the cache, one per number of partitions in a topic."""


def decode_fast(data: bytes) -> MemberUserData | None:
    """Decode version 1 or 0 of the schema of Kafka's ``StickyAssignor``; None if the data is not well-formed."""
    owned: dict[str, tuple[int, ...]] = {}
    size, at, last = len(data), _INT32_BYTES, ""
    number, short = _INT32.unpack_from, _INT16.unpack_from
    try:
        (topics,) = number(data, 0)
        for _ in range(topics):
            (length,) = short(data, at)
            start = at + 2
            at = start + length
            topic = data[start:at].decode()
            (count,) = number(data, at)
            at += _INT32_BYTES
            if length < 0 or topic <= last or not 0 < count <= (size - at) // _INT32_BYTES:
                return None
            numbers = number(data, at) if count == 1 else _numbers(count).unpack_from(data, at)
            if (count > 1 and not _ascends(numbers)) or numbers[0] < 0 or numbers[-1] >= PARTITION_MAX:
                return None
            owned[topic] = numbers
            at += count * _INT32_BYTES
            last = topic
        if at == size:
            return MemberUserData(owned=owned) if topics >= 0 else None
        if at + _INT32_BYTES == size and topics >= 0:
            return MemberUserData(owned=owned, generation=number(data, at)[0])
    except (struct.error, UnicodeDecodeError):
        pass
    return None


@functools.lru_cache(maxsize=_SIZES_MAX)
def _numbers(count: int) -> struct.Struct:
    return struct.Struct(f">{count}i")


def _ascends(numbers: tuple[int, ...]) -> bool:
    return list(numbers) == sorted(set(numbers))
