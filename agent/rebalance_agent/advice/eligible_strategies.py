"""Decides which strategies a recorded group can be replayed through, and why not the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_agent.advice.recorded_history import RecordedHistory
from rebalance_agent.assignors import STRATEGIES, Strategy
from rebalance_agent.assignors.strategy import COOPERATIVE_PREFIX
from rebalance_agent.assignors.units.subtopologies import SUBTOPOLOGIES
from rebalance_agent.model.group import GroupType

__all__ = ["GENERAL", "MEMBERS_MAX", "SIZE_MAX", "ReplaySettings", "family", "library_strategy", "refusal"]

SIZE_MAX = 50_000_000
"""Members and partitions over all rebalances of a replay: some minutes of processor time per strategy."""

MEMBERS_MAX = 20_000
"""Members of one rebalance, above what Kafka's coordinators can handle."""

GENERAL = ("sticky", "shuffled-roundrobin", "roundrobin", "range")
"""Families that promise any group the same: partitions spread evenly. Of equals, the earlier moves less."""

_NEEDS: Mapping[str, tuple[str, str]] = {
    "lag-aware": ("", "it goes by the partitions' lag or rate, which events do not record"),
    "rack-aware-sticky": ("", "it goes by the racks of partitions, which events do not record"),
    "task-sticky": (SUBTOPOLOGIES.name, f"it needs the application's sub-topologies, setting {SUBTOPOLOGIES.name}"),
}
"""Family -> the setting without which it cannot run, if one helps, and why."""

_PURPOSES: Mapping[str, str] = {
    "failover": "it lets one member work while the others wait; nothing recorded asks for that",
    "redundant": "it gives every partition to several members; nothing recorded asks for that",
    "weighted-sticky": "no weights are recorded, and with equal ones it does what sticky does",
}
"""Family -> why it is for nobody who has not asked for it."""


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """Settings of a replay. ``config``: assignor settings of all members of the replayed group."""

    config: Mapping[str, str] = field(default_factory=dict)


def family(name: str) -> str:
    """Return the name of a strategy's eager form; both forms make the same plan."""
    return name.removeprefix(COOPERATIVE_PREFIX)


def refusal(history: RecordedHistory, strategy: Strategy, settings: ReplaySettings | None = None) -> str | None:
    """Return why the recorded group cannot be replayed through ``strategy``, as text; None if it can."""
    if history.group_type is not GroupType.CLASSIC:
        return f"the broker assigns in a {history.group_type} group; strategies run in members of classic groups"
    if not history.decided:
        return "no rebalance is recorded in which anybody was assigned anything"
    if (size := history.size) > SIZE_MAX:
        return (
            f"too large: {size} members and partitions over all rebalances, more than {SIZE_MAX}; take a shorter time"
        )
    if (most := max(len(each.closing.members) for each in history.decided)) > MEMBERS_MAX:
        return f"too large: {most} members, more than {MEMBERS_MAX}"
    return _unfit(history, strategy, settings or ReplaySettings())


def _unfit(history: RecordedHistory, strategy: Strategy, settings: ReplaySettings) -> str | None:
    kind = family(strategy.name)
    if kind in _NEEDS and _NEEDS[kind][0] not in settings.config:
        return _NEEDS[kind][1]
    asked = kind == family(history.assignor or "") or any(each.name in settings.config for each in strategy.config)
    if asked:
        return None
    if kind == "copartitioned-sticky" and not _anything_alike(history):
        return "no two topics have equal partition counts, so that there is nothing to keep together"
    return _PURPOSES.get(kind)


def _anything_alike(history: RecordedHistory) -> bool:
    counts = history.decided[-1].closing.topics.values()
    return len(set(counts)) < len(counts)


def library_strategy(name: str | None) -> Strategy | None:
    """Return the strategy of that name if it is one of this library's; else None."""
    return STRATEGIES.get(name or "")
