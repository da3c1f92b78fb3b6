"""Pairs departed members with joined members: replacements."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rebalance_agent.model.events import GenerationEvent, Workload
from rebalance_agent.model.group import HasIds
from rebalance_agent.tracking.member_reports import ReportedMember

__all__ = [
    "PAIR_MS",
    "WAITING_MAX",
    "Replacement",
    "Replacements",
    "ReportedBy",
    "SettledRebalance",
    "stem",
]

PAIR_MS = 5 * 60_000
"""Time (ms) between the departure and the join of a pair: a replaced pod is back within a minute or two, or its
successor joined before."""

WAITING_MAX = 4_096
"""Unpaired departed members, and unpaired joined members, kept per group: twice the largest groups. Beyond it none is
added."""


ReportedBy = Callable[[str], ReportedMember]
"""Function from a member id to what the member last reported; also for members that departed a while ago."""


@dataclass(frozen=True, slots=True)
class SettledRebalance:
    """A summary of a settled episode. Times are by the coordinator's clock; ``members``: how many there were before."""

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
class _Change:
    """A member that departed or joined in a rebalance; ``kind`` is the `stem` of its client id."""

    rebalance: SettledRebalance
    member_id: str
    instance_id: str | None
    kind: str
    reported: ReportedMember


@dataclass(frozen=True, slots=True)
class Replacement:
    """A departed member and the member that joined for it, by member id, with their workloads.

    ``first`` and ``last``: the rebalances in which that happened; they may be the same.
    """

    gone: str
    joined: str
    before: Workload
    after: Workload
    first: SettledRebalance
    last: SettledRebalance

    @property
    def new_image(self) -> bool:
        """Whether both images are known and differ."""
        return self.before.image is not None and self.after.image is not None and self.before.image != self.after.image


class Replacements:
    """Finds the replacements in the episodes of one group.

    A member that departed and one that joined within `PAIR_MS`, in either order, are a pair if their client ids have
    the same `stem` and their workloads, as far as reported, are equal. Among several candidates, one with the same
    process id or instance id is taken, else the first. A process that only rejoined was not replaced. A member that
    joins within `PAIR_MS` after the group was Empty starts the group, and does not replace a member that departs later.
    """

    def __init__(self) -> None:
        """Start without departed or joined members."""
        self._departed = _Unpaired()
        self._joined = _Unpaired()
        self._starts_until_ms = 0

    def add_episode(
        self,
        rebalance: SettledRebalance,
        before: Sequence[HasIds],
        events: Sequence[GenerationEvent],
        reported_by: ReportedBy,
    ) -> list[Replacement]:
        """Return the replacements that this episode's ``events`` complete; ``before``: the members before it."""
        self._departed.forget(rebalance.at_ms - PAIR_MS)
        self._joined.forget(rebalance.at_ms - PAIR_MS)
        if not before:
            self._starts_until_ms = rebalance.at_ms + PAIR_MS
        replacements: list[Replacement] = []
        for event in events:
            had, has = {member.member_id for member in before}, {member.member_id for member in event.members}
            for member in before:
                if member.member_id not in has:
                    replacements += self._depart(_change(rebalance, member, reported_by))
            for snapshot in event.members:
                if snapshot.member_id not in had:
                    replacements += self._arrive(_change(rebalance, snapshot, reported_by))
            before = event.members
        return replacements

    def _depart(self, gone: _Change) -> list[Replacement]:
        self._joined.drop(gone)
        if joined := self._joined.counterpart(gone):
            return _pair(gone, joined)
        self._departed.add(gone)
        return []

    def _arrive(self, joined: _Change) -> list[Replacement]:
        if self._departed.drop(joined):
            return []  # the same member returned: it was not replaced
        if gone := self._departed.counterpart(joined):
            return _pair(gone, joined)
        if joined.rebalance.at_ms > self._starts_until_ms:
            self._joined.add(joined)
        return []


class _Unpaired:
    """Departed (or joined) members without a counterpart, by kind and workload, the oldest first."""

    def __init__(self) -> None:
        self._changes: dict[str, dict[str | None, dict[str, _Change]]] = {}
        self._by_identity: dict[str, _Change] = {}
        self._number = 0

    def counterpart(self, other: _Change) -> _Change | None:
        """Remove and return the counterpart of ``other``; None if there is none."""
        workload = _workload(other)
        waiting = self._changes.get(other.kind, {})
        buckets = [waiting[key] for key in (waiting if workload is None else (workload, None)) if key in waiting]
        candidates = (self._by_identity.get(identity) for identity in _identities(other))
        same = (change for change in candidates if change and any(change.member_id in bucket for bucket in buckets))
        counterpart = next(same, None) or next((change for bucket in buckets for change in bucket.values()), None)
        if counterpart is not None:
            self.drop(counterpart)
        return counterpart

    def add(self, change: _Change) -> None:
        """Add a member, unless there are `WAITING_MAX`."""
        if self._number < WAITING_MAX:
            self._changes.setdefault(change.kind, {}).setdefault(_workload(change), {})[change.member_id] = change
            self._by_identity.update(dict.fromkeys(_identities(change), change))
            self._number += 1

    def drop(self, change: _Change) -> bool:
        """Remove the member; return whether it was there."""
        number = self._number
        waiting = self._changes.get(change.kind, {})
        for workload, bucket in list(waiting.items()):
            if (removed := bucket.pop(change.member_id, None)) is not None:
                self._number -= 1
                for identity in _identities(removed):
                    self._by_identity.pop(identity, None)
            if not bucket:
                del waiting[workload]
        if not waiting:
            self._changes.pop(change.kind, None)
        return self._number < number

    def forget(self, before_ms: int) -> None:
        """Remove the members of rebalances before ``before_ms``."""
        buckets = (bucket for waiting in self._changes.values() for bucket in waiting.values())
        changes = [change for bucket in buckets for change in bucket.values()]
        for change in changes:
            if change.rebalance.at_ms < before_ms:
                self.drop(change)


def stem(client_id: str) -> str:
    """Return what the client ids of one workload have in common: their parts before the first one with a digit.

    ``orders`` is the stem of ``orders-7c9d-x2`` and ``orders-5b8f-k7``.
    """
    pieces = re.split(r"[-_.:]", client_id)
    return "-".join(itertools.takewhile(lambda piece: not re.search(r"\d", piece), pieces))


def _change(rebalance: SettledRebalance, member: HasIds, reported_by: ReportedBy) -> _Change:
    return _Change(
        rebalance, member.member_id, member.instance_id, stem(member.client_id), reported_by(member.member_id)
    )


def _pair(gone: _Change, joined: _Change) -> list[Replacement]:
    if gone.reported.process is not None and gone.reported.process == joined.reported.process:
        return []
    first, last = sorted((gone.rebalance, joined.rebalance), key=lambda rebalance: rebalance.at_ms)
    before, after = (change.reported.where or Workload() for change in (gone, joined))
    return [Replacement(gone.member_id, joined.member_id, before, after, first, last)]


def _workload(change: _Change) -> str | None:
    return change.reported.where.workload if change.reported.where else None


def _identities(change: _Change) -> list[str]:
    """Return the keys that a member shares with its counterpart: process id, instance id."""
    instance = [] if change.instance_id is None else [f"instance {change.instance_id}"]
    return instance if change.reported.process is None else [f"process {change.reported.process}", *instance]
