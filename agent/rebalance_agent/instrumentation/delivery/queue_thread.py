"""A bounded queue of encoded events, and the daemon thread that delivers them; the consumer never waits for it.

The thread starts with the first event, ends when the queue is empty, and starts again with the next event. So an idle
consumer has no thread, and a forked child, which inherits no threads, only needs a new queue.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from abc import ABC, abstractmethod

from rebalance_agent.clock import SystemClock
from rebalance_agent.instrumentation.delivery.outbox import Batch, Outbox
from rebalance_agent.instrumentation.suppress import quietly

__all__ = ["EXIT_GRACE_SECONDS", "QueueThread"]

EXIT_GRACE_SECONDS = 1.0
"""Maximum time (seconds) for which the end of the process waits until queued events are delivered."""

LINGER_SECONDS = 0.1
"""Time (seconds) to wait for further events before the first batch: the second callback of a rebalance follows at once.
During this time the thread does not compete for the interpreter."""


class QueueThread(ABC):
    """Queues events and delivers them in batches. Thread-safe; only `finish` blocks."""

    def __init__(self, name: str, exit_grace_seconds: float = EXIT_GRACE_SECONDS) -> None:
        """``name``: the name of the thread, which starts with the first event."""
        self.exit_grace_seconds = exit_grace_seconds
        self._name = name
        self._pid = os.getpid()
        self._lock = threading.RLock()  # reentrant: a signal handler may close the consumer in the middle of `put`
        self._outbox = Outbox()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        _queues.add(self)

    def put(self, line: bytes) -> None:
        """Queue an event, one line of JSON without its newline, and start the thread.

        Raises:
            RuntimeError: no more threads are allowed. The event waits until the next event is queued.
        """
        with self._lock:
            self._outbox.put(line)
            self._start()

    def lose(self, events: int) -> None:
        """Count ``events`` as dropped."""
        with self._lock:
            self._outbox.lose(events)

    @property
    def waiting(self) -> int:
        """Number of events in the queue."""
        return len(self._outbox)

    @property
    def dropped(self) -> int:
        """Number of dropped events that were not reported yet."""
        return self._outbox.dropped

    def hurry(self) -> None:
        """Deliver each remaining batch once, without retries, since the process is ending."""
        if self._pid == os.getpid():  # in a forked child the lock may be held by a thread that does not exist there
            self._hurry.set()

    def finish(self, timeout_seconds: float) -> bool:
        """Call `hurry`, and wait until every event is delivered or dropped; False after ``timeout_seconds``."""
        self.hurry()
        thread = self._thread
        if thread is None or self._pid != os.getpid():
            return True
        thread.join(timeout_seconds)
        return not thread.is_alive()

    @abstractmethod
    def _deliver(self, batch: Batch) -> None:
        """Deliver one batch, on the thread."""

    def _take(self) -> Batch | None:
        """Return the next batch, None if there is none; called with the lock."""
        return self._outbox.take()

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            thread.start()  # raises if no more threads are allowed; then no thread is remembered
            self._thread = thread

    def _run(self) -> None:
        with quietly("deliver events"):
            self._hurry.wait(LINGER_SECONDS)
            while (batch := self._next()) is not None:
                self._deliver(batch)

    def _next(self) -> Batch | None:
        with self._lock:
            batch = self._take()
            if batch is None:
                self._thread = None
            return batch


_queues: weakref.WeakSet[QueueThread] = weakref.WeakSet()


@atexit.register
def _finish_all() -> None:
    clock = SystemClock()
    start = clock.monotonic()
    queues = list(_queues)
    for queue in queues:  # signal all first, so that the process waits for the longest grace period, not for the sum
        queue.hurry()
    for queue in queues:
        queue.finish(max(0.0, queue.exit_grace_seconds - (clock.monotonic() - start)))
