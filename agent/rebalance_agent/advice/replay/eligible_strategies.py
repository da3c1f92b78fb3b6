"""Decides which strategies a recorded group can be replayed through, and gives the reason for each refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_agent.advice.replay.recorded_history import RecordedHistory
from rebalance_agent.assignors import Strategy, find_strategy, known_strategies
from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.assignors.strategy import COOPERATIVE_PREFIX
from rebalance_agent.model.group import GroupType

__all__ = ["MEMBERS_MAX", "SIZE_MAX", "ReplaySettings", "family", "general_families", "library_strategy", "refusal"]

SIZE_MAX = 50_000_000
"""Maximum number of members and partitions over all rebalances of a replay: minutes of processor time per strategy."""

MEMBERS_MAX = 20_000
"""Maximum number of members of one rebalance, more than Kafka's coordinators can handle."""


def family(name: str) -> str:
    """Return the name of a strategy's eager form; both forms make the same plan."""
    return name.removeprefix(COOPERATIVE_PREFIX)


def general_families() -> tuple[str, ...]:
    """Return the families that promise any group an even spread; families that move less come first."""
    ranks = {
        family(name): strategy.spread_rank
        for name, strategy in known_strategies().items()
        if strategy.spread_rank is not None
    }
    return tuple(sorted(ranks, key=ranks.__getitem__))


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """Settings of a replay.

    ``config``: assignor settings of all members of the replayed group; ``hosts``: the rule that derives a member's
    host.
    """

    config: Mapping[str, str] = field(default_factory=dict)
    hosts: HostNames = field(default_factory=HostNames)


def refusal(history: RecordedHistory, strategy: Strategy, settings: ReplaySettings | None = None) -> str | None:
    """Return why the recorded group cannot be replayed through ``strategy``, as text; None if it can."""
    if history.group_type is not GroupType.CLASSIC:
        return (
            f"in groups of the type {history.group_type}, the broker assigns; strategies run only in members of "
            "classic groups"
        )
    if not history.decided:
        return "no recorded rebalance assigned any partition"
    if (size := history.size) > SIZE_MAX:
        return (
            f"too large: {size} members and partitions over all rebalances, more than {SIZE_MAX}; choose a shorter "
            "period"
        )
    if (members_max := max(len(rebalance.closing.members) for rebalance in history.decided)) > MEMBERS_MAX:
        return f"too large: {members_max} members, more than {MEMBERS_MAX}"
    return _unfit(history, strategy, settings or ReplaySettings())


def _unfit(history: RecordedHistory, strategy: Strategy, settings: ReplaySettings) -> str | None:
    limits = strategy.replay_limits
    if limits.refusal is not None and (limits.setting is None or limits.setting.name not in settings.config):
        return limits.refusal
    in_use = family(strategy.name) == family(history.assignor or "")
    if in_use or any(setting.name in settings.config for setting in strategy.config):
        return None
    if limits.equal_counts and not _has_equal_counts(history):
        return "no two topics have equal partition counts, so there is nothing to co-partition"
    return limits.on_request


def _has_equal_counts(history: RecordedHistory) -> bool:
    counts = history.decided[-1].closing.topics.values()
    return len(set(counts)) < len(counts)


def library_strategy(name: str | None) -> Strategy | None:
    """Return the strategy of that name if this library or an installed package has it; otherwise None."""
    return find_strategy(name or "")
