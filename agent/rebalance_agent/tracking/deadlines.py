"""When each group has something to do: earliest first, and of one moment by name."""

from __future__ import annotations

import heapq

__all__ = ["Deadlines"]


class Deadlines:
    """One deadline for each name at most; one that was replaced is passed over when its time comes."""

    def __init__(self) -> None:
        """Begin with nothing to do."""
        self._queue: list[tuple[int, str]] = []
        self._at_ms: dict[str, int] = {}

    def set(self, name: str, due_ms: int) -> None:
        """``name`` is due by then, unless it is sooner."""
        known_ms = self._at_ms.get(name)
        if known_ms is None or due_ms < known_ms:
            self._at_ms[name] = due_ms
            heapq.heappush(self._queue, (due_ms, name))

    def drop(self, name: str) -> None:
        """``name`` has nothing to do any more."""
        self._at_ms.pop(name, None)

    def clear(self) -> None:
        """Nobody has."""
        self._queue.clear()
        self._at_ms.clear()

    def due_ms(self, name: str) -> int | None:
        """When ``name`` is due."""
        return self._at_ms.get(name)

    def first(self, now_ms: int) -> str | None:
        """Who is due by ``now_ms``, the one that waits longest; None if nobody is."""
        while self._queue and self._queue[0][0] <= now_ms:
            due_ms, name = self._queue[0]
            if self._at_ms.get(name) == due_ms:
                return name
            heapq.heappop(self._queue)
        return None
