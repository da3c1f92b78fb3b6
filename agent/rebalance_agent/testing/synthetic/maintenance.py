"""Defines the maintenance of a cluster and its hosts, which affects many groups at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebalance_agent.testing.simulation import RacksChange

__all__ = ["BrokerRestart", "Maintenance", "NodeDrain"]


@dataclass(frozen=True, slots=True)
class NodeDrain:
    """All pods on ``node`` are evicted ``at_ms`` after the start of the history. They start again on random nodes."""

    at_ms: int
    node: str


@dataclass(frozen=True, slots=True)
class BrokerRestart:
    """A broker stops ``at_ms`` after the start of the history, and returns ``down_ms`` later."""

    at_ms: int
    down_ms: int


@dataclass(frozen=True, slots=True)
class Maintenance:
    """The maintenance during a history, each kind in order of time. By default there is none."""

    drains: Sequence[NodeDrain] = ()
    restarts: Sequence[BrokerRestart] = ()

    def drains_between(self, from_ms: int, until_ms: int) -> Iterator[NodeDrain]:
        """Yield the drains from ``from_ms`` to before ``until_ms``."""
        return (drain for drain in self.drains if from_ms <= drain.at_ms < until_ms)

    def rack_changes_between(self, from_ms: int, until_ms: int) -> Iterator[RacksChange]:
        """Yield the steps of the brokers that stop or return from ``from_ms`` to before ``until_ms``."""
        moments = (moment for each in self.restarts for moment in (each.at_ms, each.at_ms + each.down_ms))
        return (RacksChange(at_ms) for at_ms in moments if from_ms <= at_ms < until_ms)
