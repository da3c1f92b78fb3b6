"""Passes tasks from the membership thread to the application's thread, and waits for them.

Kafka's own consumers run rebalance callbacks on the thread that polls, inside ``poll``, and rejoin only when the
callback has returned. There is one task at a time: a rebalance continues when its step is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Abandoned", "Task", "ThreadHandover"]


class Abandoned(Exception):  # noqa: N818 - no error, but the end of the waiting
    """The application did not poll in time to run the task."""


@dataclass(eq=False)
class Task:
    """A task for the application's thread, which calls ``run`` there, and then ``on_done``."""

    run: Callable[[], object]
    on_done: Callable[[], object] = lambda: None
    done: bool = False


class ThreadHandover:
    """Holds the task that the membership thread offers until the application's thread runs it."""

    def __init__(self) -> None:
        """Start without a task."""
        self._changed = threading.Condition()
        self._offered: Task | None = None
        self.busy = False
        """Whether a task runs now. Read on the application's thread: whether the caller is inside of it."""

    @property
    def waiting(self) -> bool:
        """Whether a task is offered. It is cheap, since it does not take the lock."""
        return self._offered is not None

    def offer(self, task: Task) -> None:
        """Offer ``task`` to the application."""
        with self._changed:
            self._offered = task
            self._changed.notify_all()

    def withdraw(self, task: Task) -> bool:
        """Withdraw ``task``; return False if the application is already running it."""
        with self._changed:
            offered = self._offered is task
            if offered:
                self._offered = None
            return offered

    def carry_out(self) -> bool:
        """Run the offered task on this thread; False if there is none. Exceptions of the task are passed on."""
        with self._changed:
            task, self._offered = self._offered, None
        if task is None:
            return False
        self.busy = True
        try:
            task.run()
        finally:
            self.busy = False
            with self._changed:
                task.done = True
                self._changed.notify_all()
            task.on_done()
        return True

    def await_offer(self, timeout_seconds: float) -> None:
        """Wait until a task is offered, or for ``timeout_seconds``."""
        with self._changed:
            self._changed.wait_for(lambda: self._offered is not None, timeout_seconds)

    def await_done(self, task: Task, timeout_seconds: float) -> bool:
        """Wait until ``task`` is done; False after ``timeout_seconds``."""
        with self._changed:
            return self._changed.wait_for(lambda: task.done, timeout_seconds)
