"""Sends commits in order, one at a time, on a thread of its own.

An older offset must not overtake a newer one, asynchronous commits must not block the caller, and stored offsets are
committed at intervals whether or not the application polls.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException

from rebalance_agent.clients.confluent_assignors.offsets import Offsets, OffsetStore
from rebalance_agent.clock import Clock

__all__ = ["Committer", "RequestedCommit"]

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class RequestedCommit:
    """A requested commit; ``error`` is None if it succeeded. ``done`` is set after the response."""

    offsets: Offsets
    waited_for: bool
    error: KafkaError | None = None
    done: threading.Event = field(default_factory=threading.Event)


@dataclass(eq=False)
class Committer:
    """A queue of commits and the thread that sends them.

    It commits on request, and commits the offsets in ``offset_store`` every ``interval_seconds`` (None: never).

    ``send`` commits, and may raise `KafkaException`. ``on_commit`` is called after commits for which no caller waits.
    """

    send: Callable[[Offsets], None]
    offset_store: OffsetStore
    on_commit: Callable[[RequestedCommit], None]
    clock: Clock
    interval_seconds: float | None

    def __post_init__(self) -> None:
        """Prepare the queue; `start` starts the thread."""
        self._changed = threading.Condition()
        self._queue: deque[RequestedCommit] = deque()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="rebalance-agent-commits", daemon=True)

    def start(self) -> None:
        """Start the thread, if it does not run."""
        if self._thread.ident is None:
            self._thread.start()

    def commit_async(self, offsets: Offsets) -> None:
        """Queue ``offsets`` and return; ``on_commit`` is called after the response."""
        self._enqueue(RequestedCommit(offsets, waited_for=False))

    def commit_sync(self, offsets: Offsets) -> None:
        """Commit ``offsets`` and wait for the response.

        Raises:
            KafkaException: the commit failed.
        """
        commit = RequestedCommit(offsets, waited_for=True)
        self._enqueue(commit)
        commit.done.wait()
        if commit.error is not None:
            raise KafkaException(commit.error)

    def stop(self) -> None:
        """Send the queued commits, then end the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def _enqueue(self, commit: RequestedCommit) -> None:
        with self._changed:
            self._queue.append(commit)
            self._changed.notify_all()

    def _run(self) -> None:
        due = self.clock.monotonic() + (self.interval_seconds or 0.0)
        while True:
            with self._changed:
                left = None if self.interval_seconds is None else max(0.0, due - self.clock.monotonic())
                self._changed.wait_for(lambda: self._queue or self._stopping, left)
                batch = list(self._queue)
                self._queue.clear()
                if self._stopping and not batch:
                    return
            for request in _batched(batch):
                self._carry_out(request)
            if self.interval_seconds is not None and self.clock.monotonic() >= due:
                due = self.clock.monotonic() + self.interval_seconds
                if offsets := self.offset_store.due():
                    self._carry_out([RequestedCommit(offsets, waited_for=False)])

    def _carry_out(self, commits: list[RequestedCommit]) -> None:
        offsets = {partition: offset for commit in commits for partition, offset in commit.offsets.items()}
        error = None
        try:
            self.send(offsets)
            self.offset_store.committed(offsets)
        except KafkaException as failed:
            error = failed.args[0]
            _logger.info("offsets not committed: %s", error)
        for commit in commits:
            commit.error = error
            commit.done.set()
            if not commit.waited_for:
                self.on_commit(commit)


def _batched(commits: list[RequestedCommit]) -> list[list[RequestedCommit]]:
    """Return ``commits`` grouped into requests.

    Adjacent asynchronous commits share a request, because there may be one commit per record.
    """
    groups: list[list[RequestedCommit]] = []
    for commit in commits:
        if groups and not commit.waited_for and not groups[-1][-1].waited_for:
            groups[-1].append(commit)
        else:
            groups.append([commit])
    return groups
