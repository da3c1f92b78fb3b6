"""All strategies by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rebalance_agent.assignors.strategies.failover import FAILOVER
from rebalance_agent.assignors.strategies.lag_aware import COOPERATIVE_LAG_AWARE, LAG_AWARE
from rebalance_agent.assignors.strategies.rack_aware import COOPERATIVE_RACK_AWARE_STICKY, RACK_AWARE_STICKY
from rebalance_agent.assignors.strategies.range import RANGE
from rebalance_agent.assignors.strategies.redundant import REDUNDANT
from rebalance_agent.assignors.strategies.roundrobin import ROUNDROBIN, SHUFFLED_ROUNDROBIN
from rebalance_agent.assignors.strategies.sticky import COOPERATIVE_STICKY, STICKY
from rebalance_agent.assignors.strategies.weighted import WEIGHTED_STICKY
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.assignors.units.copartitioned import COPARTITIONED_STICKY
from rebalance_agent.assignors.units.tasks import TASK_STICKY
from rebalance_agent.errors import AssignmentError

__all__ = ["STRATEGIES", "strategy"]

_ALL = (
    COOPERATIVE_LAG_AWARE,
    COOPERATIVE_RACK_AWARE_STICKY,
    COOPERATIVE_STICKY,
    COPARTITIONED_STICKY,
    COPARTITIONED_STICKY.cooperative(),
    FAILOVER,
    FAILOVER.cooperative(),
    LAG_AWARE,
    RACK_AWARE_STICKY,
    RANGE,
    REDUNDANT,
    ROUNDROBIN,
    SHUFFLED_ROUNDROBIN,
    STICKY,
    TASK_STICKY,
    TASK_STICKY.cooperative(),
    WEIGHTED_STICKY,
    WEIGHTED_STICKY.cooperative(),
)

STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {each.name: each for each in sorted(_ALL, key=lambda each: each.name)}
)
"""Name -> strategy, sorted by name."""


def strategy(name: str) -> Strategy:
    """Return the strategy of that name.

    Raises:
        AssignmentError: there is none; the message lists the names.
    """
    found = STRATEGIES.get(name)
    if found is None:
        raise AssignmentError(f"there is no strategy {name[:200]!r}; the strategies are {', '.join(STRATEGIES)}")
    return found
