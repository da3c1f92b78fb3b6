"""Posts a consumer's events to the sidecar, with retries."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from rebalance_agent.instrumentation.delivery.endpoint import Endpoint, PostResult, PostStatus
from rebalance_agent.instrumentation.delivery.outbox import Batch
from rebalance_agent.instrumentation.delivery.queue_thread import EXIT_GRACE_SECONDS, QueueThread
from rebalance_agent.instrumentation.suppress import logger

__all__ = ["RETRIES_MAX", "PostThread"]

RETRIES_MAX = 10
"""Retries of one batch. With the delays below they last more than a minute, longer than a sidecar's restart."""

FIRST_DELAY_SECONDS = 0.25
"""Longest delay before the first retry; it doubles with every retry."""

DELAY_SECONDS_MAX = 30.0
"""Longest delay between two retries."""


class PostThread(QueueThread):
    """Posts events to ``endpoint``, and reports that ``process`` is alive. Thread-safe."""

    def __init__(
        self,
        endpoint: Endpoint,
        process: str,
        *,
        exit_grace_seconds: float = EXIT_GRACE_SECONDS,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """``process``: the random id in its events. ``jitter`` returns numbers from 0 to 1."""
        super().__init__("rebalance-agent-events", exit_grace_seconds)
        self._endpoint = endpoint
        self._process = process
        self._jitter = jitter
        self._beats = False
        self._failures = 0
        self._last_reason = ""

    def beat(self) -> None:
        """Report that the process is alive, if no event is queued.

        Raises:
            RuntimeError: no more threads are allowed.
        """
        with self._lock:
            self._beats = True
            self._start()

    def _run(self) -> None:
        self._failures = 0
        super()._run()

    def _take(self) -> Batch | None:
        batch = super()._take()
        beats, self._beats = self._beats, False
        if batch is None:
            return Batch(b"", 0, self._outbox.dropped, self._process) if beats else None
        return replace(batch, alive=self._process)

    def _deliver(self, batch: Batch) -> None:
        answer = self._post(batch)
        while (
            batch.events
            and answer.outcome is PostStatus.FAILED
            and self._failures < RETRIES_MAX
            and not self._hurry.is_set()
        ):
            self._failures += 1
            self._hurry.wait(self._delay(self._failures))
            answer = self._post(batch)
        if answer.outcome is PostStatus.TAKEN:
            self._failures = 0
        with self._lock:
            if answer.outcome is PostStatus.TAKEN:
                self._outbox.reported(batch.dropped)
            else:
                self._outbox.lose(batch.events)

    def _post(self, batch: Batch) -> PostResult:
        answer = self._endpoint.post(batch)
        if answer.reason and not self._last_reason:
            logger.warning(
                "rebalances are not reported, because %s accepts no events: %s; the consumer is not affected",
                self._endpoint.url,
                answer.reason,
            )
        elif self._last_reason and not answer.reason:
            logger.info("%s accepts events again", self._endpoint.url)
        self._last_reason = answer.reason
        return answer

    def _delay(self, failures: int) -> float:
        longest = min(DELAY_SECONDS_MAX, FIRST_DELAY_SECONDS * 2.0 ** (failures - 1))
        return longest * (1 + self._jitter()) / 2
