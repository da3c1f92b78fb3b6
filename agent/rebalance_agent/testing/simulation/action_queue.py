"""Simulated time: a queue of planned actions. The time between two actions is skipped."""

from __future__ import annotations

import heapq
from collections.abc import Callable

__all__ = ["Agenda", "Appointment", "cancel"]


class Appointment:
    """A planned action that can be cancelled."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], None]) -> None:
        """Plan ``action``."""
        self.action: Callable[[], None] | None = action


def cancel(appointment: Appointment | None) -> None:
    """Cancel the action of an appointment, if there is one; no effect after it has run."""
    if appointment is not None:
        appointment.action = None


class Agenda:
    """Appointments in the order of their time; those of the same time in the order in which they were made."""

    def __init__(self) -> None:
        """Start at time zero without appointments."""
        self.now_ms = 0
        self._heap: list[tuple[int, int, Appointment]] = []
        self._made = 0

    def at(self, at_ms: int, action: Callable[[], None]) -> Appointment:
        """Plan ``action`` for the time ``at_ms``, or for now if that has passed."""
        appointment = Appointment(action)
        self._made += 1
        heapq.heappush(self._heap, (max(at_ms, self.now_ms), self._made, appointment))
        return appointment

    def after(self, delay_ms: int, action: Callable[[], None]) -> Appointment:
        """Plan ``action`` for ``delay_ms`` from now."""
        return self.at(self.now_ms + delay_ms, action)

    def run(self, until_ms: int, appointments_max: int) -> bool:
        """Run the appointments up to ``until_ms``, ``appointments_max`` at most; True if none is left then."""
        for _ in range(appointments_max):
            if not self._heap or self._heap[0][0] > until_ms:
                break
            self.now_ms, _made, appointment = heapq.heappop(self._heap)
            action, appointment.action = appointment.action, None
            if action is not None:
                action()
        return all(appointment.action is None for _, _, appointment in self._heap)
