"""Makes the push of metrics if the environment turns it on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import structlog

from rebalance_agent.clock import Clock
from rebalance_agent.metrics.export.agent_metrics import AgentMetrics
from rebalance_agent.metrics.export.dialects import Page
from rebalance_agent.runtime.otlp.otlp_environment import otlp_signals

__all__ = ["Push", "configured_push"]

_log = structlog.get_logger("rebalance_agent.otlp")


class Push(Protocol):
    """Pushes metrics from `start` to `stop`."""

    def start(self) -> None:
        """Start to push; returns at once."""
        ...

    def stop(self) -> None:
        """Stop after a last export; waits for a bounded time."""
        ...


class _NoPush:
    """The push of a process without OTLP: it does nothing."""

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


def configured_push(pages: Sequence[Page], counts: AgentMetrics, clock: Clock) -> Push:
    """The push of ``pages``, not started yet; it does nothing where no variable turns it on.

    It logs the variables that have no effect.
    """
    signals = otlp_signals()
    for problem in signals.problems:
        _log.warning("otlp_variable_ignored", problem=problem)
    if not signals.metrics:
        return _NoPush()
    from rebalance_agent.runtime.otlp.metrics_push import MetricsPush  # noqa: PLC0415 - the SDK is an extra

    return MetricsPush(pages, counts, clock, signals.interval_seconds)
