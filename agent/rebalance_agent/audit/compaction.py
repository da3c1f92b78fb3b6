"""How far a partition may have been compacted; after that position no record is missing.

Kafka's log cleaner keeps the last record of each key in the cleaned part of a log, at its offset. A missing offset was
cleaned. The records after it may be in the cleaned part, too, with earlier records of their keys removed, up to the
first record whose key occurred before: the cleaned part never has two records of one key.
"""

from __future__ import annotations

__all__ = ["CompactedRange"]


class CompactedRange:
    """The keys read in each partition, and whether the current position may be in the cleaned part."""

    def __init__(self) -> None:
        """Start without records."""
        self._keys: dict[int, set[int]] = {}
        self._maybe: set[int] = set()

    def gap(self, partition: int) -> None:
        """Take a missing offset."""
        self._maybe.add(partition)

    def maybe(self, partition: int) -> bool:
        """Whether the current position may be in the cleaned part."""
        return partition in self._maybe

    def ends(self, partition: int, key: bytes) -> bool:
        """Take the next record's key; return whether it shows that the cleaned part ended before it."""
        keys, known = self._keys.setdefault(partition, set()), hash(key)  # a whole key takes ten times the memory
        again = known in keys
        keys.add(known)
        if not (again and partition in self._maybe):
            return False
        self._maybe.remove(partition)
        return True
