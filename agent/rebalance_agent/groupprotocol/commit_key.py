"""Keys and offsets of offset commits as bytes: commits are nearly all of the topic, so they are not decoded."""

from __future__ import annotations

from rebalance_agent.groupprotocol.tables import OFFSET_COMMIT

__all__ = ["commit_key", "committed_offset"]

_VERSION = OFFSET_COMMIT.key.versions[-1].to_bytes(2, "big")


def commit_key(group: str, topic: str, partition: int) -> bytes:
    """Return the key that brokers write: version (int16), group and topic (int16 length, UTF-8), partition (int32)."""
    return b"".join((_VERSION, _string(group), _string(topic), partition.to_bytes(4, "big")))


def committed_offset(value: bytes) -> int:
    """Return the offset in a commit's value, of any version: int64 after the version; -1 where it is too short."""
    return int.from_bytes(value[2:10], "big", signed=True) if len(value) >= 10 else -1  # noqa: PLR2004


def _string(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(2, "big") + encoded
