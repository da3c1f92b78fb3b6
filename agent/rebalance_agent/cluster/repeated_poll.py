"""A request that a scheduler repeats; after failures it is sent less often."""

from __future__ import annotations

import logging
from collections.abc import Callable

from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.cluster.collector_context import CollectorContext, PollName
from rebalance_agent.cluster.worker import failure_reason

__all__ = ["Poll"]

_log = logging.getLogger(__name__)


class Poll:
    """Calls ``ask`` whenever it is called itself, and reports health under ``name``. One caller at a time."""

    def __init__(
        self, name: PollName, ask: Callable[[], None], context: CollectorContext, backoff: Backoff | None = None
    ) -> None:
        """``ask`` raises `ClusterError` where the cluster does not answer."""
        self._name = name
        self._ask = ask
        self._health = context.health
        self._meters = context.meters
        self._clock = context.clock
        self._backoff = backoff or Backoff(max_s=5.0)
        self._not_before = float("-inf")

    def __call__(self) -> None:
        """Ask, unless the back-off of earlier failures is still running. Never raises."""
        begun = self._clock.monotonic()
        if begun < self._not_before:
            return
        try:
            self._ask()
        except Exception as error:  # noqa: BLE001 - a bug of ours must not end the polling
            ended = self._clock.monotonic()
            self._not_before = ended + self._backoff.next()
            self._health.unready(self._name, failure_reason(error, self._name, _log))
            self._meters.polled(self._name, ended - begun, None)
        else:
            self._backoff.reset()
            self._health.ready(self._name)
            self._meters.polled(self._name, self._clock.monotonic() - begun, self._clock.now_ms())
