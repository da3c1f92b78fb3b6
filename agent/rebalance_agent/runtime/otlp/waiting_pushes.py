"""Queues the pushes that wait for a collector, in turns by the address that they come from."""

from __future__ import annotations

from collections import Counter, deque

__all__ = ["WaitingPushes"]


class WaitingPushes:
    """Pushes by source. Sources take turns. Above ``bytes_max`` bytes, the source with the most bytes loses its oldest.

    A source that pushes too much therefore affects no other source. Not thread-safe.
    """

    def __init__(self, bytes_max: int) -> None:
        """Start empty."""
        self._bytes_max, self._bytes = bytes_max, 0
        self._pushes: dict[str, deque[bytes]] = {}  # the next source comes first
        self._bytes_of: Counter[str] = Counter()

    def __len__(self) -> int:
        """The number of waiting pushes."""
        return sum(map(len, self._pushes.values()))

    def __bool__(self) -> bool:
        """Whether a push waits."""
        return bool(self._pushes)

    def put(self, push: bytes, source: str) -> int:
        """Add a push; return how many were dropped for it."""
        self._pushes.setdefault(source, deque()).append(push)
        self._count(source, len(push))
        dropped = 0
        while self._bytes > self._bytes_max:
            self._take(max(self._bytes_of, key=self._bytes_of.__getitem__))
            dropped += 1
        return dropped

    def next(self) -> bytes | None:
        """Remove and return the oldest push of the source whose turn it is; None if no push waits."""
        if not self._pushes:
            return None
        source = next(iter(self._pushes))
        push = self._take(source)
        if source in self._pushes:
            self._pushes[source] = self._pushes.pop(source)
        return push

    def clear(self) -> int:
        """Remove all pushes; return how many there were."""
        left = len(self)
        self._pushes.clear()
        self._bytes_of.clear()
        self._bytes = 0
        return left

    def _take(self, source: str) -> bytes:
        push = self._pushes[source].popleft()
        self._count(source, -len(push))
        if not self._pushes[source]:
            del self._pushes[source], self._bytes_of[source]
        return push

    def _count(self, source: str, change: int) -> None:
        self._bytes += change
        self._bytes_of[source] += change
