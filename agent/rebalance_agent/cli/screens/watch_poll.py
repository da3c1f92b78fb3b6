"""Polls a source in a thread of its own, so that a slow answer never delays a key press."""

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
    """Message: a poll was answered."""

    def __init__(self, answer: object) -> None:
        """``answer``: the value that the poll returned."""
        super().__init__()
        self.answer = answer


class PollFailed(Message):
    """Message: a poll failed."""

    def __init__(self, reason: str) -> None:
        """``reason``: text for a person."""
        super().__init__()
        self.reason = reason


class Poller(Generic[_Answer]):
    """Calls ``ask`` every ``interval`` seconds in a thread; posts `PollAnswered` or `PollFailed` to ``screen``."""

    def __init__(self, screen: MessagePump, ask: Callable[[], _Answer], interval: float) -> None:
        """Polling begins with `start`."""
        self._screen = screen
        self._ask = ask
        self._interval = interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="poller", daemon=True)

    def start(self) -> None:
        """Poll at once, and then every interval."""
        self._thread.start()

    def stop(self) -> None:
        """Stop polling; an answer that is still to come is dropped."""
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
        except Exception as error:  # noqa: BLE001 - shown on screen; the next poll may succeed
            return PollFailed(f"internal error: {error!r}")

    def _post(self, message: Message) -> None:
        if not self._stop.is_set():
            self._screen.post_message(message)
