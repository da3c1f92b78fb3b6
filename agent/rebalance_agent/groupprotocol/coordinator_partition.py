"""The partition of ``__consumer_offsets`` that holds a group's records; its leader is the group's coordinator."""

from __future__ import annotations

import functools
import itertools
import struct

__all__ = ["OFFSETS_TOPIC", "offsets_partition", "with_the_coordinator_of"]

OFFSETS_TOPIC = "__consumer_offsets"
"""Kafka's internal topic of group records and committed offsets."""

CACHED_NAMES_MAX = 20_000
"""Maximum number of group names in the cache: the groups of a large cluster, which every poll looks up again."""

_SIGN = 1 << 31
_HASHES = 1 << 32
_FACTOR = 31
"""The factor of Java's hash: each character counts 31 times as much as the next one."""
_FIRST_LETTER, _LETTERS = ord("a"), 26
_SUFFIX_LETTERS_MIN = 8
"""Minimum number of letters of a suffix: nearly 50 of the 26^8 suffixes have the required hash."""


@functools.lru_cache(CACHED_NAMES_MAX)
def offsets_partition(group: str, partitions: int) -> int:
    """Return the partition of ``group`` in a topic of ``partitions`` partitions (at least one).

    The result is Kafka's ``Utils.abs(groupId.hashCode()) % partitions``: Java hashes UTF-16 units, and Kafka takes 0
    for the one number that has no positive counterpart.
    """
    code = _java_hash(group)
    if code >= _SIGN:
        code = (2 * _SIGN - code) % _SIGN
    return code % partitions


@functools.lru_cache(CACHED_NAMES_MAX)
def with_the_coordinator_of(group: str, beginning: str) -> str:
    """Return a group id that begins with ``beginning`` and has the same coordinator as ``group``.

    The result ends with a few letters that give it the hash of ``group``, so both ids belong to the same partition for
    any number of partitions.
    """
    for letters in itertools.count(_SUFFIX_LETTERS_MIN):
        before = _java_hash(beginning) * _FACTOR**letters
        smallest = sum(_FIRST_LETTER * _FACTOR**place for place in range(letters))
        for number in range((_java_hash(group) - before - smallest) % _HASHES, _FACTOR**letters, _HASHES):
            digits = [number // _FACTOR**place % _FACTOR for place in reversed(range(letters))]
            if max(digits) < _LETTERS:
                return beginning + "".join(chr(_FIRST_LETTER + digit) for digit in digits)
    raise AssertionError("unreachable")


def _java_hash(text: str) -> int:
    """Return Java's ``String.hashCode`` as a number from 0 to 2^32 - 1."""
    data = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for unit in struct.unpack(f">{len(data) // 2}H", data):
        code = (_FACTOR * code + unit) % _HASHES
    return code
