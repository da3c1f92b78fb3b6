"""Creates the push of metrics, and the forwarder of clients' metrics, if the environment turns them on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import structlog

from rebalance_agent.clock import Clock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.metrics.export.agent_metrics import AgentMetrics
from rebalance_agent.metrics.export.dialects import Page
from rebalance_agent.runtime.otlp.otlp_environment import metrics_target, otlp_signals

if TYPE_CHECKING:
    from rebalance_agent.runtime.otlp.passed_telemetry import PassedTelemetry

__all__ = ["Push", "configured_passing", "configured_push"]

_log = structlog.get_logger("rebalance_agent.otlp")


class Push(Protocol):
    """Pushes metrics from `start` to `stop`."""

    def start(self) -> None:
        """Start pushing; returns at once."""
        ...

    def stop(self) -> None:
        """Stop after a last export; waits for a bounded time."""
        ...


class _NoPush:
    """The push of a process without OTLP, which does nothing."""

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


def configured_push(pages: Sequence[Page], counts: AgentMetrics, clock: Clock) -> Push:
    """Return the push of ``pages``, not started yet; the push does nothing if no variable turns it on.

    Variables that have no effect are logged.
    """
    signals = otlp_signals()
    for problem in signals.problems:
        _log.warning("otlp_variable_ignored", problem=problem)
    if not signals.metrics:
        return _NoPush()
    from rebalance_agent.runtime.otlp.metrics_push import MetricsPush  # noqa: PLC0415 - the SDK is an extra

    return MetricsPush(pages, counts, clock, signals.interval_seconds)


def configured_passing(count: Callable[..., None], *, pushed: bool) -> PassedTelemetry:
    """Return the forwarder of clients' metrics to the endpoint that the environment names; the caller starts it.

    ``count`` receives the outcome of each push, as in `PassedTelemetry`. ``pushed``: whether clients are asked for
    metrics.

    Raises:
        InvalidInputError: clients are not asked for metrics, or the environment names no endpoint.
    """
    if not pushed:
        raise InvalidInputError(
            "gateway_telemetry_pass", "requires gateway_telemetry, which makes clients push their metrics"
        )
    signals = otlp_signals()
    if not signals.metrics:
        reason = "; ".join(signals.problems) or "set OTEL_EXPORTER_OTLP_ENDPOINT to the collector's URL"
        raise InvalidInputError("gateway_telemetry_pass", f"requires an OTLP endpoint: {reason}")
    from rebalance_agent.runtime.otlp.passed_telemetry import PassedTelemetry  # noqa: PLC0415 - `requests` is an extra

    return PassedTelemetry(metrics_target(), count)
