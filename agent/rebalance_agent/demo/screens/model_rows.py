"""Simulates the cost of each join in the scenario under the eager and the cooperative protocol. Pure.

The demo's own groups are simulated, because a run shows each group under only one protocol.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rebalance_agent.assignors.strategy_registry import STRATEGIES
from rebalance_agent.demo.scenario_types import DemoGroup, DemoStep, StartMember
from rebalance_agent.model.partitions import pairs
from rebalance_agent.model.subscription import TopicMetadata
from rebalance_agent.testing.simulation import Join, SimulatedMember, SimulationSettings, Timeline, simulate

__all__ = ["HEADINGS", "model_rows"]

HEADINGS = ("in the coordinator's model", "under", "generations", "partitions that stop")

JOIN_MS = 60_000
"""Simulated time (ms) of the join, when the group has long been stable."""

SETTINGS = SimulationSettings(latency_ms=1)
"""Settings with latency, because without latency an eager group's stall would have no length."""

_COOPERATIVE = "cooperative-"


def model_rows(
    groups: Sequence[DemoGroup], steps: Sequence[DemoStep], topics: Mapping[str, int]
) -> list[tuple[str, ...]]:
    """Return rows under `HEADINGS`: each join of a group whose strategy has both forms, once for each form.

    ``topics``: topic -> number of partitions.
    """
    named = {group.name: group for group in groups}
    joins = [action for step in steps for action in step.actions if isinstance(action, StartMember)]
    return [row for join in joins for row in _rows(named[join.group], join.member, topics)]


def _rows(group: DemoGroup, joining: str, topics: Mapping[str, int]) -> list[tuple[str, ...]]:
    eager = group.assignor.removeprefix(_COOPERATIVE)
    both = (eager, _COOPERATIVE + eager)
    if not STRATEGIES.keys() >= {*both}:
        return []
    pattern = group.topics if group.topics.startswith("^") else re.escape(group.topics)
    known = {topic: TopicMetadata(count) for topic, count in topics.items() if re.fullmatch(pattern, topic)}
    total = sum(topic.partitions for topic in known.values())
    what = f"{joining} joins {group.name}"
    return [(what, name, *_cost(_join(group, joining, name, known), total)) for name in both]


def _join(group: DemoGroup, joining: str, strategy: str, subscribed: Mapping[str, TopicMetadata]) -> Timeline:
    """Simulate the group: ``joining`` joins at `JOIN_MS`, all other members at the start."""
    members = [
        SimulatedMember(member.name, tuple(subscribed), (strategy,), config=member.config) for member in group.members
    ]
    return simulate(
        subscribed, [Join(JOIN_MS if member.name == joining else 0, member) for member in members], SETTINGS
    )


def _cost(timeline: Timeline, total: int) -> tuple[str, str]:
    generations = sum(generation.start_ms >= JOIN_MS for generation in timeline.generations)
    stopped = {
        partition for stall in timeline.stalls if stall.stopped_ms >= JOIN_MS for partition in pairs(stall.partitions)
    }
    return str(generations), f"all {total}" if len(stopped) == total else f"{len(stopped)} of {total}"
