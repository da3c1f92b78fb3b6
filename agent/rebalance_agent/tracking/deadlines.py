"""The next deadline of each group, ordered by time and then by name."""

from __future__ import annotations

import heapq

__all__ = ["Deadlines"]


class Deadlines:
    """At most one deadline per name. Replaced entries stay in the heap and are skipped when they reach its top."""

    def __init__(self) -> None:
        """Start without deadlines."""
        self._queue: list[tuple[int, str]] = []
        self._at_ms: dict[str, int] = {}

    def set(self, name: str, due_ms: int) -> None:
        """Set the deadline of ``name`` to ``due_ms``, unless ``name`` has an earlier one."""
        known_ms = self._at_ms.get(name)
        if known_ms is None or due_ms < known_ms:
            self._at_ms[name] = due_ms
            heapq.heappush(self._queue, (due_ms, name))

    def drop(self, name: str) -> None:
        """Remove the deadline of ``name``."""
        self._at_ms.pop(name, None)

    def clear(self) -> None:
        """Remove all deadlines."""
        self._queue.clear()
        self._at_ms.clear()

    def due_ms(self, name: str) -> int | None:
        """Return the deadline of ``name``; None if ``name`` has no deadline."""
        return self._at_ms.get(name)

    def first(self, now_ms: int) -> str | None:
        """Return the name with the earliest deadline that is not after ``now_ms``; None if there is none."""
        while self._queue and self._queue[0][0] <= now_ms:
            due_ms, name = self._queue[0]
            if self._at_ms.get(name) == due_ms:
                return name
            heapq.heappop(self._queue)
        return None
