"""Work that the membership thread hands over to the application's thread, and waits for.

Kafka's own consumers run rebalance callbacks on the thread that polls, inside ``poll``, and rejoin only when the
callback has returned. One task at a time: a rebalance goes on when its step is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["Abandoned", "Task", "ThreadHandover"]


class Abandoned(Exception):  # noqa: N818 - it is not an error: whoever waits has something better to do
    """The application did not come for the task, and by now it would be too late."""


class Task:
    """One thing to do on the application's thread; ``on_done`` is called there once it is done."""

    def __init__(self, run: Callable[[], object], on_done: Callable[[], object] = lambda: None) -> None:
        """Hand over ``run``."""
        self.run = run
        self.on_done = on_done
        self.done = False


class ThreadHandover:
    """Where the two threads meet. The membership thread offers, the application takes and finishes."""

    def __init__(self) -> None:
        """Start with nothing to do."""
        self._changed = threading.Condition()
        self._offered: Task | None = None
        self.busy = False
        """Whether a task is being carried out: asked on the application's thread, whether this is inside of one."""

    @property
    def waiting(self) -> bool:
        """Whether there is a task to take; cheap enough to ask before every record."""
        return self._offered is not None

    def offer(self, task: Task) -> None:
        """Let the application have ``task``."""
        with self._changed:
            self._offered = task
            self._changed.notify_all()

    def withdraw(self, task: Task) -> bool:
        """Take ``task`` back; False if the application has it already, and finishes it."""
        with self._changed:
            mine = self._offered is task
            if mine:
                self._offered = None
            return mine

    def carry_out(self) -> bool:
        """Do what is offered, on this thread; False if there is nothing. What the task raises comes out."""
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
        """Wait until there is something to take, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._offered is not None, timeout_seconds)

    def await_done(self, task: Task, timeout_seconds: float) -> bool:
        """Wait until the application has finished ``task``; False if the time is over first."""
        with self._changed:
            return self._changed.wait_for(lambda: task.done, timeout_seconds)
