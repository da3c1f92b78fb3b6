"""Sends a consumer's events to the sidecar without blocking the consumer.

`Reporter.emit` only encodes and queues an event. A daemon thread sends; it starts with the first event, ends when the
queue is empty, and starts again with the next event. So an idle consumer has no sending thread, and a forked child,
which inherits no threads, only needs a new process id and queue. Only the process's one `Heartbeat` thread remains.
"""

from __future__ import annotations

import atexit
import os
import random
import threading
import uuid
import weakref
from collections.abc import Callable

from rebalance_agent.clock import SystemClock
from rebalance_agent.instrumentation.delivery.endpoint import Endpoint, PostResult, PostStatus
from rebalance_agent.instrumentation.delivery.heartbeat import Heartbeat
from rebalance_agent.instrumentation.delivery.outbox import Batch, Outbox
from rebalance_agent.instrumentation.suppress import logger, quietly
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Callback, Event, MemberEvent

__all__ = ["EXIT_GRACE_SECONDS", "RETRIES_MAX", "BuildEvent", "Reporter"]

BuildEvent = Callable[[str, int], Event]
"""Makes an event from the reporting process's random id and a sequence number."""

EXIT_GRACE_SECONDS = 1.0
"""Maximum time that the end of the process waits for queued events to be sent."""

RETRIES_MAX = 10
"""Retries of one batch. With the delays below they last more than a minute, longer than a sidecar's restart."""

LINGER_SECONDS = 0.1
"""Time to wait for further events before the first POST: the second callback of a rebalance follows at once. It also
keeps the sending thread from competing for the interpreter meanwhile."""

FIRST_DELAY_SECONDS = 0.25
"""Longest delay before the first retry; it doubles with every retry."""

DELAY_SECONDS_MAX = 30.0
"""Longest delay between two retries."""


class Reporter:
    """Numbers, queues and sends one consumer's events. Thread-safe; no method but `finish` blocks."""

    def __init__(
        self,
        endpoint: Endpoint | None,
        *,
        exit_grace_seconds: float = EXIT_GRACE_SECONDS,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Send to ``endpoint``; None sends nothing. ``jitter`` returns numbers from 0 to 1."""
        self.exit_grace_seconds = exit_grace_seconds
        self._endpoint = endpoint
        self._jitter = jitter
        self._become_this_process()
        _reporters.add(self)

    def emit(self, build: BuildEvent) -> None:
        """Queue the event that ``build`` makes, and start sending. Raises nothing."""
        if self._endpoint is None:
            return
        if self._pid != os.getpid():
            self._become_this_process()
        with quietly("report an event"):
            with self._lock:
                self._sequence += 1
                sequence = self._sequence
            try:
                event = build(self._process, sequence)
                line = json_line(event)
            except Exception:
                with self._lock:
                    self._outbox.lose(1)
                raise
            with self._lock:
                self._outbox.put(line)
                if not event.revision:
                    self._lives = not (isinstance(event, MemberEvent) and event.callback is Callback.LEFT)
                self._start()
            _heartbeat.start()

    def beat(self) -> None:
        """Report that the process is alive, if its consumer is in the group and no event is queued."""
        if self._pid != os.getpid() or not self._lives:
            return
        with self._lock:
            self._beats = True
            self._start()

    @property
    def waiting(self) -> int:
        """Number of events in the queue."""
        return len(self._outbox)

    @property
    def dropped(self) -> int:
        """Number of dropped events not reported to the sidecar yet."""
        return self._outbox.dropped

    def send_without_retries(self) -> None:
        """Send each remaining batch once, without retries: the process ends."""
        self._hurry.set()

    def finish(self, timeout_seconds: float) -> bool:
        """Call `send_without_retries` and wait until the queue is sent or dropped; False after ``timeout_seconds``."""
        self.send_without_retries()
        thread = self._thread
        if thread is None or self._pid != os.getpid():
            return True
        thread.join(timeout_seconds)
        return not thread.is_alive()

    def _become_this_process(self) -> None:
        # In a forked child the lock may be held by a thread that does not exist there; the parent sends the queue.
        self._pid = os.getpid()
        self._process = uuid.uuid4().hex
        self._sequence = 0
        self._lock = threading.RLock()  # reentrant: a signal handler may close the consumer in the middle of `emit`
        self._outbox = Outbox()
        self._lives = self._beats = False
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self._last_reason = ""

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(
                target=self._run, args=(self._endpoint,), name="rebalance-agent-events", daemon=True
            )
            thread.start()  # raises if no more threads are allowed; then no thread is remembered
            self._thread = thread

    def _run(self, endpoint: Endpoint) -> None:
        with quietly("send events"):
            failures = 0
            self._hurry.wait(LINGER_SECONDS)
            while (batch := self._next()) is not None:
                answer = self._post(endpoint, batch)
                while (
                    batch.events
                    and answer.outcome is PostStatus.FAILED
                    and failures < RETRIES_MAX
                    and not self._hurry.is_set()
                ):
                    failures += 1
                    self._hurry.wait(self._delay(failures))
                    answer = self._post(endpoint, batch)
                if answer.outcome is PostStatus.TAKEN:
                    failures = 0
                self._settle(batch, answer)

    def _next(self) -> Batch | None:
        with self._lock:
            batch = self._outbox.take()
            beats, self._beats = self._beats, False
            if batch is None and beats:
                batch = Batch(b"", 0, self._outbox.dropped, self._process)
            if batch is None:
                self._thread = None
            return batch

    def _post(self, endpoint: Endpoint, batch: Batch) -> PostResult:
        answer = endpoint.post(batch)
        if answer.reason and not self._last_reason:
            logger.warning("%s accepts no events: %s; the consumer is not affected", endpoint.url, answer.reason)
        elif self._last_reason and not answer.reason:
            logger.info("%s accepts events again", endpoint.url)
        self._last_reason = answer.reason
        return answer

    def _delay(self, failures: int) -> float:
        longest = min(DELAY_SECONDS_MAX, FIRST_DELAY_SECONDS * 2.0 ** (failures - 1))
        return longest * (1 + self._jitter()) / 2

    def _settle(self, batch: Batch, answer: PostResult) -> None:
        with self._lock:
            if answer.outcome is PostStatus.TAKEN:
                self._outbox.reported(batch.dropped)
            else:
                self._outbox.lose(batch.events)


_reporters: weakref.WeakSet[Reporter] = weakref.WeakSet()


def _beat_reporters() -> None:
    for reporter in list(_reporters):
        reporter.beat()


_heartbeat = Heartbeat(_beat_reporters)


@atexit.register
def _finish_all() -> None:
    clock = SystemClock()
    start = clock.monotonic()
    reporters = list(_reporters)
    for reporter in reporters:  # all first: the process waits for the longest grace period, not for the sum
        reporter.send_without_retries()
    for reporter in reporters:
        reporter.finish(max(0.0, reporter.exit_grace_seconds - (clock.monotonic() - start)))
