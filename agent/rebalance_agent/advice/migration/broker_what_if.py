"""Computes a group's recorded rebalances as if the brokers had assigned: loads, moves and expected stalls.

Stalls follow the consumer protocol: only partitions that change their owner stop. The new owner learns of a
partition with its next heartbeat after the old owner has revoked it, on average half an interval later. The time that
the old owner needs to revoke it is not known in advance, and is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rebalance_agent.advice.figures import Figures
from rebalance_agent.advice.outcomes import replayed_line
from rebalance_agent.advice.replay.eligible_strategies import ReplaySettings, refusal
from rebalance_agent.advice.replay.recorded_history import RecordedHistory
from rebalance_agent.advice.replay.strategy_replay import ReplayedRebalance, replay_rebalances
from rebalance_agent.assignors.broker import BROKER_ASSIGNORS

__all__ = ["BrokerOutcome", "broker_what_if"]


@dataclass(frozen=True, slots=True)
class BrokerOutcome:
    """The result of a replay through one of the brokers' assignors, or the reason why the replay was ``refused``.

    The stalls in ``figures`` are the expected partition-seconds. ``stalled_max``: the partition-seconds if each new
    owner waits for a whole heartbeat interval; None if the interval is not known.
    """

    assignor: str
    figures: Figures = field(default_factory=Figures)
    stalled_max: float | None = None
    refused: str | None = None


def broker_what_if(
    history: RecordedHistory, names: Iterable[str], heartbeat_interval_ms: int | None
) -> tuple[BrokerOutcome, ...]:
    """Replay ``history`` through the brokers' assignors ``names``; names that no broker has by default are refused."""
    return tuple(_outcome(history, name, heartbeat_interval_ms) for name in names)


def _outcome(history: RecordedHistory, name: str, heartbeat_interval_ms: int | None) -> BrokerOutcome:
    strategy = BROKER_ASSIGNORS.get(name)
    if strategy is None:
        return BrokerOutcome(name, refused="only Kafka's own assignors are modelled")
    if refused := refusal(history, strategy):
        return BrokerOutcome(name, refused=refused)
    interval = None if heartbeat_interval_ms is None else heartbeat_interval_ms / 1000
    figures, stalled_max = Figures(), 0.0
    for replayed in replay_rebalances(history, strategy, ReplaySettings()):
        if history.counts(replayed.rebalance.closing):
            most = None if interval is None else _waiting(replayed) * interval
            stalled = None if most is None or replayed.given is None else most / 2
            figures += Figures.of(replayed_line(replayed, stalled), avoided=False, waited=0.0)
            stalled_max += most or 0.0
    return BrokerOutcome(name, figures, None if interval is None else stalled_max)


def _waiting(replayed: ReplayedRebalance) -> int:
    """Return the number of partitions that wait for the heartbeat of a new owner."""
    if replayed.given is None:
        return 0
    return replayed.given.assigned if replayed.rebalance.fresh else replayed.given.changed
