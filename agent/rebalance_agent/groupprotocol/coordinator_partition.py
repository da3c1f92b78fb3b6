"""The partition of ``__consumer_offsets`` that holds a group's records; its leader is the group's coordinator."""

from __future__ import annotations

import functools
import struct

__all__ = ["OFFSETS_TOPIC", "offsets_partition"]

OFFSETS_TOPIC = "__consumer_offsets"
"""Kafka's internal topic of group records and committed offsets."""

CACHED_NAMES_MAX = 20_000
"""Group names in the cache: the groups of a large cluster, which every poll asks for again."""

_SIGN = 1 << 31


@functools.lru_cache(CACHED_NAMES_MAX)
def offsets_partition(group: str, partitions: int) -> int:
    """Return the partition of ``group`` in a topic of ``partitions`` partitions (at least one).

    It is Kafka's ``Utils.abs(groupId.hashCode()) % partitions``: Java hashes UTF-16 units, and Kafka takes 0 for the
    one number that has no positive counterpart.
    """
    data = group.encode("utf-16-be", "surrogatepass")
    code = 0
    for unit in struct.unpack(f">{len(data) // 2}H", data):
        code = (31 * code + unit) & 0xFFFF_FFFF
    if code >= _SIGN:
        code = (2 * _SIGN - code) % _SIGN
    return code % partitions
