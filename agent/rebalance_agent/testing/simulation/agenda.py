"""Simulated time: what is to happen and when. The next thing happens at once; the time between is skipped."""

from __future__ import annotations

import heapq
from collections.abc import Callable

__all__ = ["Agenda", "Appointment"]


class Appointment:
    """Something that is to happen, unless it is cancelled."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], None]) -> None:
        """Plan ``action``."""
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """Let it not happen; does nothing if it has happened."""
        self.action = None


class Agenda:
    """Appointments in the order of their time, at one time in the order in which they were made."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.now_ms = 0
        self._heap: list[tuple[int, int, Appointment]] = []
        self._made = 0

    def at(self, at_ms: int, action: Callable[[], None]) -> Appointment:
        """Plan ``action`` for ``at_ms``, or for now if that is past."""
        appointment = Appointment(action)
        self._made += 1
        heapq.heappush(self._heap, (max(at_ms, self.now_ms), self._made, appointment))
        return appointment

    def after(self, delay_ms: int, action: Callable[[], None]) -> Appointment:
        """Plan ``action`` for ``delay_ms`` from now."""
        return self.at(self.now_ms + delay_ms, action)

    def run(self, until_ms: int, most: int) -> bool:
        """Let everything happen up to ``until_ms``, ``most`` things at most. True if nothing is left then."""
        for _ in range(most):
            if not self._heap or self._heap[0][0] > until_ms:
                break
            self.now_ms, _made, appointment = heapq.heappop(self._heap)
            action, appointment.action = appointment.action, None
            if action is not None:
                action()
        return all(appointment.action is None for _, _, appointment in self._heap)
