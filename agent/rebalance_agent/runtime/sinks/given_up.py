"""The signal that ends a delivery, and its pauses when its sink begins to close."""

from __future__ import annotations

import threading

__all__ = ["GivenUp"]

LAST_PAUSE_S = 0.5
"""Longest pause in seconds while a sink closes: its target may have come back since the last attempt."""


class GivenUp(threading.Event):
    """Is set when deliveries must end. `wait` is the pause of a delivery between two attempts."""

    def __init__(self) -> None:
        """Start with pauses of full length."""
        super().__init__()
        self._hurried = threading.Event()

    def hurry(self) -> None:
        """End the current pause; later ones are short."""
        self._hurried.set()

    def set(self) -> None:
        """Also end the current pause."""
        super().set()
        self._hurried.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for `set`, at most ``timeout`` seconds; return whether it was called. Returns early after `hurry`."""
        if self._hurried.is_set():
            return super().wait(LAST_PAUSE_S if timeout is None else min(timeout, LAST_PAUSE_S))
        self._hurried.wait(timeout)
        return self.is_set()
