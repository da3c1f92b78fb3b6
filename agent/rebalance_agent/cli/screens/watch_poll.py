"""Polls a source in a separate thread, so that a slow answer never delays a key press."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from textual.message_pump import MessagePump

from rebalance_agent.errors import RebalanceAgentError

__all__ = ["Poller"]

_Answer = TypeVar("_Answer")


@dataclass(eq=False)
class Poller(Generic[_Answer]):
    """Calls ``ask`` every ``interval`` seconds in a thread; ``screen`` gets ``show(answer)`` or ``fail(reason)``.

    ``show`` and ``fail`` are called in the thread in which the screen handles its messages.
    """

    screen: MessagePump
    ask: Callable[[], _Answer]
    interval: float
    show: Callable[[_Answer], None]
    fail: Callable[[str], None]

    def __post_init__(self) -> None:
        """Create the thread's state; polling begins with `start`."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="poller", daemon=True)

    def start(self) -> None:
        """Poll at once, and then every ``interval`` seconds."""
        self._thread.start()

    def stop(self) -> None:
        """Stop polling; an answer that arrives later is dropped."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            call = self._polled()
            if not self._stop.is_set():
                self.screen.call_later(call)
            self._stop.wait(self.interval)

    def _polled(self) -> Callable[[], None]:
        try:
            return partial(self.show, self.ask())
        except RebalanceAgentError as error:
            return partial(self.fail, str(error))
        except Exception as error:  # noqa: BLE001 - shown on screen; the next poll may succeed
            return partial(self.fail, f"internal error: {error!r}")
