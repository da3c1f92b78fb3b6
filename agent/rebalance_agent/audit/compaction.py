"""How far the broker may have compacted a partition: from there on all records are there.

Kafka's log cleaner leaves of each key one record in what it has cleaned, the last one, where it was. An offset that is
missing was cleaned; what follows it may have been cleaned without a trace, and earlier records of its keys be gone, up
to the first record whose key was there before: two records of one key are never both in the cleaned part.
"""

from __future__ import annotations

__all__ = ["CompactedRange"]


class CompactedRange:
    """Of each partition the keys that were read, and whether cleaning may reach to where it is read."""

    def __init__(self) -> None:
        """Nothing was read."""
        self._keys: dict[int, set[int]] = {}
        self._maybe: set[int] = set()

    def gap(self, partition: int) -> None:
        """An offset is missing."""
        self._maybe.add(partition)

    def maybe(self, partition: int) -> bool:
        """Whether records may have been removed between those that were read last."""
        return partition in self._maybe

    def ends(self, partition: int, key: bytes) -> bool:
        """The next record's key; whether by it the cleaned part is known to have ended before it."""
        keys, known = self._keys.setdefault(partition, set()), hash(key)  # a whole key takes ten times the memory
        again = known in keys
        keys.add(known)
        if not (again and partition in self._maybe):
            return False
        self._maybe.remove(partition)
        return True
