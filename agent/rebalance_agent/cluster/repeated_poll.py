"""A request that a scheduler repeats; after failures, it is sent less often. Also logs repeated reasons once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.cluster.collector_context import CollectorContext, PollName
from rebalance_agent.cluster.worker import failure_reason

__all__ = ["REASONS_MAX", "LoggedReasons", "Poll"]

REASONS_MAX = 20
"""Maximum number of reasons to log, since some reasons contain text from a broker."""

_log = logging.getLogger(__name__)


class LoggedReasons:
    """Logs each reason why a poll does not measure or describe something, as a warning, once."""

    def __init__(self, log: logging.Logger, text: str) -> None:
        """``text``: the message, with ``{}`` for the reason."""
        self._log, self._text = log, text
        self._reasons: set[str] = set()

    def warn(self, reason: str) -> None:
        """Log a reason, unless it was logged since the last `clear`, or too many were."""
        if reason not in self._reasons and len(self._reasons) < REASONS_MAX:
            self._reasons.add(reason)
            self._log.warning("%s", self._text.format(reason))

    def clear(self) -> None:
        """Log all reasons again if they occur again."""
        self._reasons.clear()


@dataclass(eq=False, repr=False)
class Poll:
    """Calls ``ask`` whenever it is called, and reports health under ``name``. Only one caller at a time is allowed.

    ``ask`` raises `ClusterError` if the cluster does not answer.
    """

    name: PollName
    ask: Callable[[], None]
    context: CollectorContext
    backoff: Backoff = field(default_factory=lambda: Backoff(max_s=5.0))
    not_before: float = field(default=float("-inf"), init=False)

    def __call__(self) -> None:
        """Call ``ask``, unless the back-off after earlier failures is still running. Never raises."""
        begun = self.context.clock.monotonic()
        if begun < self.not_before:
            return
        try:
            self.ask()
        except Exception as error:  # noqa: BLE001 - a bug in this package must not end the polling
            ended = self.context.clock.monotonic()
            self.not_before = ended + self.backoff.next()
            self.context.health.unready(self.name, failure_reason(error, self.name, _log))
            self.context.meters.polled(self.name, ended - begun, None)
        else:
            self.backoff.reset()
            self.context.health.ready(self.name)
            self.context.meters.polled(self.name, self.context.clock.monotonic() - begun, self.context.clock.now_ms())
