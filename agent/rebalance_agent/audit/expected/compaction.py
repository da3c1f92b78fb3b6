"""Finds the position up to which a partition may have been compacted; no record after this position is missing.

Kafka's log cleaner keeps the last record of each key in the cleaned part of a log, at its offset. A missing offset was
cleaned. The records after it may also be in the cleaned part, where earlier records with their keys were removed. The
cleaned part ends before the first record whose key occurred before, because the cleaned part never has two records with
the same key.
"""

from __future__ import annotations

__all__ = ["CompactedRange"]


class CompactedRange:
    """The keys read in each partition, and whether the current position may be in the cleaned part."""

    def __init__(self) -> None:
        """Start without records."""
        self._keys: dict[int, set[int]] = {}
        self._may_be_cleaned: set[int] = set()

    def gap(self, partition: int) -> None:
        """Process a missing offset."""
        self._may_be_cleaned.add(partition)

    def may_be_cleaned(self, partition: int) -> bool:
        """Whether the current position may be in the cleaned part."""
        return partition in self._may_be_cleaned

    def ends(self, partition: int, key: bytes) -> bool:
        """Process the next record's key; return whether it shows that the cleaned part ended before it."""
        keys, digest = self._keys.setdefault(partition, set()), hash(key)  # a whole key takes ten times the memory
        repeated = digest in keys
        keys.add(digest)
        if not (repeated and partition in self._may_be_cleaned):
            return False
        self._may_be_cleaned.remove(partition)
        return True
