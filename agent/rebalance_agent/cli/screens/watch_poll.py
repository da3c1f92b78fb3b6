"""Asks something again and again beside the screen, so that a slow answer never keeps a key waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from textual.message import Message
from textual.message_pump import MessagePump

from rebalance_agent.errors import RebalanceAgentError

__all__ = ["PollAnswered", "PollFailed", "Poller"]

_Answer = TypeVar("_Answer")


class PollAnswered(Message):
    """There is an answer."""

    def __init__(self, answer: object) -> None:
        """``answer`` is what was asked for."""
        super().__init__()
        self.answer = answer


class PollFailed(Message):
    """There is none, and why."""

    def __init__(self, reason: str) -> None:
        """``reason`` is for a person."""
        super().__init__()
        self.reason = reason


class Poller(Generic[_Answer]):
    """Calls ``ask`` every ``interval`` s in a daemon thread; posts `PollAnswered` or `PollFailed` to ``screen``."""

    def __init__(self, screen: MessagePump, ask: Callable[[], _Answer], interval: float) -> None:
        """Nothing is asked before `start`."""
        self._screen = screen
        self._ask = ask
        self._interval = interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="poller", daemon=True)

    def start(self) -> None:
        """Ask at once, and from then on."""
        self._thread.start()

    def stop(self) -> None:
        """Ask no more; an answer that is under way comes to nothing."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._post(self._message())
            self._stop.wait(self._interval)

    def _message(self) -> Message:
        try:
            return PollAnswered(self._ask())
        except RebalanceAgentError as error:
            return PollFailed(str(error))
        except Exception as error:  # noqa: BLE001 - shown in place; the next look may find it mended
            return PollFailed(f"internal error: {error!r}")

    def _post(self, message: Message) -> None:
        if not self._stop.is_set():
            self._screen.post_message(message)
