"""Simulates time with a queue of planned actions. The time between two actions is skipped."""

from __future__ import annotations

import heapq
from collections.abc import Callable

__all__ = ["ActionQueue", "PlannedAction", "cancel"]


class PlannedAction:
    """A planned action that can be cancelled."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], None]) -> None:
        """Plan ``action``."""
        self.action: Callable[[], None] | None = action


def cancel(planned: PlannedAction | None) -> None:
    """Cancel a planned action, if there is one; this has no effect after the action has run."""
    if planned is not None:
        planned.action = None


class ActionQueue:
    """Planned actions, ordered by time; actions with the same time are in the order in which they were planned."""

    def __init__(self) -> None:
        """Start at time zero without planned actions."""
        self.now_ms = 0
        self._heap: list[tuple[int, int, PlannedAction]] = []
        self._made = 0

    def at(self, at_ms: int, action: Callable[[], None]) -> PlannedAction:
        """Plan ``action`` for the time ``at_ms``, or for now if that time has passed."""
        planned = PlannedAction(action)
        self._made += 1
        heapq.heappush(self._heap, (max(at_ms, self.now_ms), self._made, planned))
        return planned

    def after(self, delay_ms: int, action: Callable[[], None]) -> PlannedAction:
        """Plan ``action`` for ``delay_ms`` from now."""
        return self.at(self.now_ms + delay_ms, action)

    def run(self, until_ms: int, actions_max: int) -> bool:
        """Run planned actions up to ``until_ms``, at most ``actions_max``; return True if no action is left then."""
        for _ in range(actions_max):
            if not self._heap or self._heap[0][0] > until_ms:
                break
            self.now_ms, _made, planned = heapq.heappop(self._heap)
            action, planned.action = planned.action, None
            if action is not None:
                action()
        return all(planned.action is None for _, _, planned in self._heap)
