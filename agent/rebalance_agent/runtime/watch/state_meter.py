"""Reports, as metrics, the groups that exceed the tracker's memory budget."""

from __future__ import annotations

from rebalance_agent.cluster.collector_context import Meters
from rebalance_agent.tracking.memory.state_budget import StateBudget
from rebalance_agent.tracking.observations import Observation, Tick

__all__ = ["StateMeter"]


class StateMeter:
    """At each `Tick`, counts the records that exceeded the budget, and names their groups."""

    def __init__(self, budget: StateBudget, meters: Meters) -> None:
        """Start with nothing counted."""
        self._budget, self._meters = budget, meters
        self._unreported = self._refused = 0

    def on_observation(self, observation: Observation) -> None:
        """Update the metrics."""
        if not isinstance(observation, Tick):
            return
        budget = self._budget
        if unreported := budget.unreported - self._unreported:
            self._meters.over_budget("unreported", unreported)
        if refused := budget.refused - self._refused:
            self._meters.over_budget("skipped", refused)
        self._unreported, self._refused = budget.unreported, budget.refused
        self._meters.groups_over_budget("memory", budget.named(observation.at_ms))
