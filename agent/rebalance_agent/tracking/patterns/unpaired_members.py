"""Members that departed from a group, or joined it, and wait for their counterpart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.tracking.patterns.rollout_evidence import VisibleMember

__all__ = ["UNPAIRED_MAX", "MemberChange", "SettledRebalance", "UnpairedMembers"]

UNPAIRED_MAX = 4_096
"""Maximum number of members kept per group and kind (departed, joined): twice the largest groups. Beyond it, no more
are added."""


@dataclass(frozen=True, slots=True)
class SettledRebalance:
    """A summary of a settled episode. Times are by the coordinator's clock; ``members``: the count before it."""

    at_ms: int
    started_ms: int
    first_generation: int
    last_generation: int
    members: int
    stalled_partition_seconds: float
    stall_seconds: float | None

    @classmethod
    def of(cls, members: int, events: Sequence[GenerationEvent]) -> SettledRebalance:
        """Summarise an episode from its generations' events, the closing one last."""
        first, closing = events[0], events[-1]
        return cls(
            at_ms=closing.timestamp_ms,
            started_ms=first.timestamp_ms if first.phases.started_ms is None else first.phases.started_ms,
            first_generation=first.generation,
            last_generation=closing.generation,
            members=members,
            stalled_partition_seconds=closing.stall.partition_seconds if closing.stall else 0.0,
            stall_seconds=closing.stall.lower_seconds if closing.stall else None,
        )


@dataclass(frozen=True, slots=True)
class MemberChange:
    """A member that departed or joined in a rebalance."""

    rebalance: SettledRebalance
    member_id: str
    where: Workload
    seen: VisibleMember


class UnpairedMembers:
    """Departed (or joined) members without a counterpart, the oldest first."""

    __slots__ = ("_by_name", "_by_version", "_changes")

    def __init__(self) -> None:
        """Start without members."""
        self._changes: dict[str, MemberChange] = {}
        self._by_name: dict[str, MemberChange] = {}
        self._by_version: dict[str, dict[str, dict[str, MemberChange]]] = {}

    def __len__(self) -> int:
        """The number of members."""
        return len(self._changes)

    @property
    def oldest_ms(self) -> int | None:
        """The time of the oldest member's rebalance; None without members."""
        return next((change.rebalance.at_ms for change in self._changes.values()), None)

    def counterpart(self, other: MemberChange) -> MemberChange | None:
        """Remove and return the counterpart of ``other``, preferably a member with its name; None if there is none."""
        named = (self._by_name.get(name) for name in other.seen.names)
        match = next((change for change in named if change), None) or self._other_version(other)
        if match is not None:
            self.drop(match)
        return match

    def add(self, change: MemberChange) -> None:
        """Add a member, unless there are already `UNPAIRED_MAX`."""
        if len(self._changes) >= UNPAIRED_MAX:
            return
        self._changes[change.member_id] = change
        self._by_name.update(dict.fromkeys(change.seen.names, change))
        for workload, version in change.seen.versions.items():
            self._by_version.setdefault(workload, {}).setdefault(version, {})[change.member_id] = change

    def drop(self, change: MemberChange) -> bool:
        """Remove the member; return whether it was there."""
        removed = self._changes.pop(change.member_id, None)
        if removed is None:
            return False
        for name in removed.seen.names:
            if self._by_name.get(name) is removed:
                del self._by_name[name]
        for workload, version in removed.seen.versions.items():
            versions = self._by_version[workload]
            del versions[version][removed.member_id]
            if not versions[version]:
                del versions[version]
            if not versions:
                del self._by_version[workload]
        return True

    def forget(self, before_ms: int) -> int | None:
        """Remove the members of rebalances before ``before_ms``; return the newest of their times, None if none."""
        old = [change for change in self._changes.values() if change.rebalance.at_ms < before_ms]
        for change in old:
            self.drop(change)
        return max((change.rebalance.at_ms for change in old), default=None)

    def _other_version(self, other: MemberChange) -> MemberChange | None:
        for workload, version in other.seen.versions.items():
            for waiting, changes in self._by_version.get(workload, {}).items():
                if waiting != version:
                    return next(iter(changes.values()))
        return None
