"""Our own failures end here: they are logged, and the consumer goes on."""

from __future__ import annotations

import contextlib
import logging
from types import TracebackType

__all__ = ["Suppressor", "logger", "quietly"]

logger = logging.getLogger("rebalance_agent.instrumentation")


class Suppressor:
    """A context manager whose block may fail: what it raises (but for the likes of Ctrl-C) is logged and ends there."""

    def __init__(self, task: str) -> None:
        """``task`` says in the log what did not work, such as "report a callback"."""
        self._task = task

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        with contextlib.suppress(Exception):  # a log handler of the user's may raise, too
            logger.warning("could not %s; the consumer is not affected", self._task, exc_info=error)
        return True


def quietly(task: str) -> Suppressor:
    """Do ``task`` without letting it fail."""
    return Suppressor(task)
