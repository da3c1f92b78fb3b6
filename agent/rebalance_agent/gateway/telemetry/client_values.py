"""Maps clients' own metrics to the gateway's series. Names: KIP-714, KIP-1076, and pushes of real clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rebalance_agent.metrics import member_client_rows as rows
from rebalance_agent.metrics.metric import Metric
from rebalance_agent.model.events import Callback
from rebalance_agent.model.reported.client_metrics import CLIENT_VALUE_MAX, ClientMetrics

__all__ = ["CALLBACK_MAXIMA", "CLIENT_VALUES", "JAVA_NAMES", "LAST_POLL", "REBALANCES", "ClientValue", "client_metrics"]

_PREFIX = "org.apache.kafka.consumer."
_MS = 0.001
"""Factor from milliseconds, in which clients measure, to seconds."""


@dataclass(frozen=True, slots=True)
class ClientValue:
    """One series. ``labels``: the label values besides the client's; ``factor``: from the client's unit to ours.

    ``merge``: combines the values of several clients with equal labels.
    """

    row: Metric
    labels: tuple[str, ...] = ()
    factor: float = 1.0
    merge: Callable[[Iterable[float]], float] = max


def _times(name: str, row: Metric, *labels: str) -> dict[str, ClientValue]:
    return {f"{_PREFIX}{name}.{stat}": ClientValue(row, (*labels, stat), _MS) for stat in rows.STATS}


LAST_POLL = f"{_PREFIX}last.poll.seconds.ago"
"""Name of the metric with the time since the client's last call to poll()."""

CLIENT_VALUES: Mapping[str, ClientValue] = {
    **_times("coordinator.rebalance.latency", rows.CLIENT_REBALANCE),
    f"{_PREFIX}coordinator.rebalance.latency.total": ClientValue(rows.CLIENT_REBALANCING, (), _MS, sum),
    f"{_PREFIX}coordinator.failed.rebalance.total": ClientValue(rows.CLIENT_FAILED_REBALANCES, (), 1.0, sum),
    **_times("coordinator.partition.revoked.latency", rows.CLIENT_CALLBACK, "revoked"),
    **_times("coordinator.partition.assigned.latency", rows.CLIENT_CALLBACK, "assigned"),
    **_times("coordinator.partition.lost.latency", rows.CLIENT_CALLBACK, "lost"),
    **_times("time.between.poll", rows.CLIENT_POLL_INTERVAL),
    LAST_POLL: ClientValue(rows.CLIENT_LAST_POLL),
    f"{_PREFIX}poll.idle.ratio.avg": ClientValue(rows.CLIENT_IDLE, merge=min),
    **_times("coordinator.commit.latency", rows.CLIENT_COMMIT),
}
"""Name of a client's metric -> its series."""

CALLBACK_MAXIMA: Mapping[Callback, str] = {
    callback: f"{_PREFIX}coordinator.partition.{callback}.latency.max"
    for callback in (Callback.REVOKED, Callback.ASSIGNED)
}
"""Callback -> name of the metric with the callback's longest duration (milliseconds) in the client's own window."""

REBALANCES = f"{_PREFIX}coordinator.rebalance.total"
"""Name of the metric with the number of rebalances since the client started. It is no series of ours."""

JAVA_NAMES = (*CLIENT_VALUES, REBALANCES)
"""The metrics requested from Java clients, as full names: a prefix would match hundreds of metrics, and the clients
would push them all."""

_REPORTED = {
    "rebalance_seconds": f"{_PREFIX}coordinator.rebalance.latency.max",
    "failed_rebalances": f"{_PREFIX}coordinator.failed.rebalance.total",
    "poll_interval_seconds": f"{_PREFIX}time.between.poll.max",
    "last_poll_seconds": LAST_POLL,
    "idle_ratio": f"{_PREFIX}poll.idle.ratio.avg",
    "commit_seconds": f"{_PREFIX}coordinator.commit.latency.max",
}
"""Field of `ClientMetrics` -> name of the client's metric."""


def client_metrics(measured: Mapping[str, float]) -> ClientMetrics:
    """Return the values for the events of a member from its client's push: name of the client's metric -> value."""
    values = {
        field: measured[name] * CLIENT_VALUES[name].factor for field, name in _REPORTED.items() if name in measured
    }
    return ClientMetrics(**{field: value for field, value in values.items() if 0 <= value <= CLIENT_VALUE_MAX})
