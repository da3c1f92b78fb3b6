"""Reads keys and offsets of offset commits from bytes: nearly all records are commits, so they are not decoded."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from rebalance_agent.groupprotocol.tables import OFFSET_COMMIT

__all__ = ["commit_key", "commit_keys", "committed_offset", "group_of_key"]

_OFFSET = struct.Struct(">q")
_VERSION = OFFSET_COMMIT.key.versions[-1].to_bytes(2, "big")


def commit_key(group: str, topic: str, partition: int) -> bytes:
    """Return the key that brokers write: version (int16), group and topic (int16 length, UTF-8), partition (int32)."""
    return _VERSION + _string(group) + _string(topic) + partition.to_bytes(4, "big")


def commit_keys(group: str, partitions: Iterable[tuple[str, int]]) -> Iterator[bytes]:
    """Yield the `commit_key` of each of the group's ``partitions``, in their order; each topic is encoded once."""
    starts: dict[str, bytes] = {}
    of_group = _VERSION + _string(group)
    for topic, partition in partitions:
        start = starts.get(topic)
        if start is None:
            start = starts[topic] = of_group + _string(topic)
        yield start + partition.to_bytes(4, "big")


def group_of_key(key: bytes) -> bytes:
    """Return the group (UTF-8) from any record's key; the result is too short if the key is malformed."""
    return key[4 : 4 + int.from_bytes(key[2:4], "big")]


def committed_offset(value: bytes) -> int:
    """Return the offset in a commit's value of any version (int64 after the version); -1 if it is too short."""
    return _OFFSET.unpack_from(value, 2)[0] if len(value) >= 10 else -1  # noqa: PLR2004


def _string(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(2, "big") + encoded
