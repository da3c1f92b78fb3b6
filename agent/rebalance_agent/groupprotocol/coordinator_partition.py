"""Which partition of ``__consumer_offsets`` a group's records are in, and so which broker coordinates it."""

from __future__ import annotations

import functools
import struct

__all__ = ["OFFSETS_TOPIC", "offsets_partition"]

OFFSETS_TOPIC = "__consumer_offsets"
"""The internal topic with every group's state: its group records, and its committed offsets."""

CACHED_NAMES_MAX = 20_000
"""Names whose partition is remembered: the groups of a large cluster, asked for with every list of them."""

_SIGN = 1 << 31


@functools.lru_cache(CACHED_NAMES_MAX)
def offsets_partition(group: str, partitions: int) -> int:
    """The partition of ``group`` where the topic has ``partitions`` (at least one).

    Kafka's ``Utils.abs(groupId.hashCode()) % partitions``: Java's hash runs over UTF-16 units, and of the one number
    that has no positive counterpart Kafka takes 0.
    """
    data = group.encode("utf-16-be", "surrogatepass")
    code = 0
    for unit in struct.unpack(f">{len(data) // 2}H", data):
        code = (31 * code + unit) & 0xFFFF_FFFF
    if code >= _SIGN:
        code = (2 * _SIGN - code) % _SIGN
    return code % partitions
