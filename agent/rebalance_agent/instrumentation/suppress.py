"""Logs exceptions of the instrumentation instead of raising them into the consumer."""

from __future__ import annotations

import contextlib
import logging
from types import TracebackType

__all__ = ["Suppressor", "logger", "quietly"]

logger = logging.getLogger("rebalance_agent.instrumentation")


class Suppressor:
    """A context manager that logs and suppresses exceptions raised in its block, but not ``KeyboardInterrupt``."""

    def __init__(self, task: str) -> None:
        """``task``: what the block does, as a name in the log if it fails, such as "report a callback"."""
        self._task = task

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        with contextlib.suppress(Exception):  # the user's log handler may also raise
            logger.warning("could not %s; the consumer is not affected", self._task, exc_info=error)
        return True


def quietly(task: str) -> Suppressor:
    """Return a `Suppressor` for a block; ``task``: what the block does."""
    return Suppressor(task)
