"""Values made from files that may be replaced while we run, as Kubernetes does with mounted secrets."""

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
"""Least time between two looks at the files: a look is a few microseconds, and connections may come by the hundred."""

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class Reloaded(Generic[_T]):
    """What ``load`` makes of ``paths``, made anew when one of them is another file or has other contents.

    Thread-safe. A later ``load`` that fails is logged once for that change, and what there was stays in use: a
    half-written file must not close a port.
    """

    def __init__(self, paths: Sequence[str], load: Callable[[], _T], clock: Clock) -> None:
        """Load at once.

        Raises:
            InvalidInputError: what ``load`` raises.
        """
        self._paths, self._load, self._clock = tuple(paths), load, clock
        self._lock = threading.Lock()
        self._looked = clock.monotonic()
        self._seen = self._look()
        self._value = load()

    def get(self) -> _T:
        """The value as of the last look, which is at most `LOOK_AGAIN_S` ago."""
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
            _log.info("read again: %s", ", ".join(self._paths))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a file, the former contents still work
            _log.warning("not read again, the former contents stay in use: %s", error)

    def _look(self) -> tuple[object, ...]:
        looks: list[object] = []
        for path in self._paths:
            with contextlib.suppress(OSError):
                # Following links: Kubernetes swaps one that leads to a folder of files.
                status = Path(path).stat()
                looks.append((path, status.st_ino, status.st_mtime_ns, status.st_size))
        return tuple(looks)
