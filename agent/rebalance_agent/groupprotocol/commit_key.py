"""Keys and offsets of offset commits as bytes: commits are nearly all of the topic, so they are not decoded."""

from __future__ import annotations

from rebalance_agent.groupprotocol.tables import OFFSET_COMMIT

__all__ = ["commit_key", "committed_offset", "partition_key", "split_commit_key"]

_VERSION = OFFSET_COMMIT.key.versions[-1].to_bytes(2, "big")


def commit_key(group: str, topic: str, partition: int) -> bytes:
    """Return the key that brokers write: version (int16), group and topic (int16 length, UTF-8), partition (int32)."""
    return _VERSION + _string(group) + partition_key(topic, partition)


def partition_key(topic: str, partition: int) -> bytes:
    """Return the part of the key after the group."""
    return _string(topic) + partition.to_bytes(4, "big")


def split_commit_key(key: bytes) -> tuple[bytes, bytes]:
    """Return the group (UTF-8) and the part after it; both may be too short if the key is malformed."""
    end = 4 + int.from_bytes(key[2:4], "big")
    return key[4:end], key[end:]


def committed_offset(value: bytes) -> int:
    """Return the offset in a commit's value of any version (int64 after the version); -1 if it is too short."""
    return int.from_bytes(value[2:10], "big", signed=True) if len(value) >= 10 else -1  # noqa: PLR2004


def _string(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(2, "big") + encoded
