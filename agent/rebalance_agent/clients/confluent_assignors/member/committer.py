"""Commits, one after the other, in a thread of their own: in the order in which they were asked for.

An older offset must not overtake a newer one on its way to the coordinator; callers that do not wait must not be held
up; and stored offsets are due at intervals whether or not the application polls.
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

__all__ = ["Commit", "Committer"]

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Commit:
    """Offsets on their way; ``error`` is None when they have arrived."""

    offsets: Offsets
    waited_for: bool
    error: KafkaError | None = None
    done: threading.Event = field(default_factory=threading.Event)


class Committer:
    """Sends with ``send``, which raises `KafkaException`; tells ``tell`` of commits that nobody waits for."""

    def __init__(
        self,
        send: Callable[[Offsets], None],
        ledger: OffsetStore,
        tell: Callable[[Commit], None],
        clock: Clock,
        interval_seconds: float | None,
    ) -> None:
        """Commit what ``ledger`` has stored every ``interval_seconds``; None: only what is asked for."""
        self._send = send
        self._ledger = ledger
        self._tell = tell
        self._clock = clock
        self._interval = interval_seconds
        self._changed = threading.Condition()
        self._queue: deque[Commit] = deque()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="rebalance-agent-commits", daemon=True)

    def start(self) -> None:
        """Begin, once."""
        if self._thread.ident is None:
            self._thread.start()

    def soon(self, offsets: Offsets) -> None:
        """Commit ``offsets``, and tell of it when it is done."""
        self._ask(Commit(offsets, waited_for=False))

    def now(self, offsets: Offsets) -> None:
        """Commit ``offsets`` and wait for it.

        Raises:
            KafkaException: it did not work.
        """
        commit = Commit(offsets, waited_for=True)
        self._ask(commit)
        commit.done.wait()
        if commit.error is not None:
            raise KafkaException(commit.error)

    def stop(self) -> None:
        """Finish what is asked for, and end."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def _ask(self, commit: Commit) -> None:
        with self._changed:
            self._queue.append(commit)
            self._changed.notify_all()

    def _run(self) -> None:
        due = self._clock.monotonic() + (self._interval or 0.0)
        while True:
            with self._changed:
                left = None if self._interval is None else max(0.0, due - self._clock.monotonic())
                self._changed.wait_for(lambda: self._queue or self._stopping, left)
                batch = list(self._queue)
                self._queue.clear()
                if self._stopping and not batch:
                    return
            for together in _gathered(batch):
                self._carry_out(together)
            if self._interval is not None and self._clock.monotonic() >= due:
                due = self._clock.monotonic() + self._interval
                if offsets := self._ledger.due():
                    self._carry_out([Commit(offsets, waited_for=False)])

    def _carry_out(self, commits: list[Commit]) -> None:
        offsets = {partition: offset for each in commits for partition, offset in each.offsets.items()}
        error = None
        try:
            self._send(offsets)
            self._ledger.committed(offsets)
        except KafkaException as failed:
            error = failed.args[0]
            _logger.info("offsets not committed: %s", error)
        for each in commits:
            each.error = error
            each.done.set()
            if not each.waited_for:
                self._tell(each)


def _gathered(commits: list[Commit]) -> list[list[Commit]]:
    """Commits that nobody waits for travel together: an application may ask for one with every record."""
    groups: list[list[Commit]] = []
    for commit in commits:
        if groups and not commit.waited_for and not groups[-1][-1].waited_for:
            groups[-1].append(commit)
        else:
            groups.append([commit])
    return groups
