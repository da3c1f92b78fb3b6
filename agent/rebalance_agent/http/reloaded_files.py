"""Reads values from files that may be replaced while the process runs, as when Kubernetes replaces mounted secrets."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from rebalance_agent.clock import Clock

__all__ = ["LOOK_AGAIN_S", "Reloaded"]

LOOK_AGAIN_S = 1.0
"""Seconds between checks of the files: a check takes microseconds, but hundreds of connections may arrive at a
time."""

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class Reloaded(Generic[_T]):
    """The value that ``load`` creates from the files ``paths``; reloaded when a file is replaced or changed.

    Thread-safe. If a later ``load`` fails, the former value stays in use and the error is logged once for that
    change: a half-written file must not close a port.
    """

    def __init__(self, paths: Sequence[str], load: Callable[[], _T], clock: Clock) -> None:
        """Load the value at once.

        Raises:
            InvalidInputError: raised by ``load``.
        """
        self._paths, self._load, self._clock = tuple(paths), load, clock
        self._lock = threading.Lock()
        self._looked = clock.monotonic()
        self._seen = self._look()
        self._value = load()

    def get(self) -> _T:
        """Return the value as of the last check of the files, which is at most `LOOK_AGAIN_S` ago."""
        with self._lock:
            now = self._clock.monotonic()
            if now - self._looked >= LOOK_AGAIN_S:
                self._looked = now
                self._renew()
            return self._value

    def _renew(self) -> None:
        seen = self._look()
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._value = self._load()
            _log.info("reloaded: %s", ", ".join(self._paths))
        except Exception as error:  # noqa: BLE001 - whatever the error in a file is, the former value still works
            _log.warning("not reloaded; the previous contents stay in use: %s", error)

    def _look(self) -> tuple[object, ...]:
        states: list[object] = []
        for path in self._paths:
            with contextlib.suppress(OSError):
                # stat() follows links: Kubernetes swaps a link to a folder of files.
                status = Path(path).stat()
                states.append((path, status.st_ino, status.st_mtime_ns, status.st_size))
        return tuple(states)
