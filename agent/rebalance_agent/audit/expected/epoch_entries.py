"""Derives the expected facts of a consumer, share or streams group: one per epoch that all members have reached.

Sources: KIP-848, KIP-932, KIP-1071. An epoch is reached when it has a target assignment and every member is stable in
this epoch, except static members that left temporarily (negative epoch). A tombstone is never the last record of a
batch, so it leads to no fact before the next record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rebalance_agent.audit.audited_group import AuditedGroup, AuditedMember, Partition, RecordPosition
from rebalance_agent.audit.expected.entries import ExpectedFact
from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochFact,
    EpochMember,
    GroupEpoch,
    MemberState,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupType

__all__ = ["EpochEntries"]

SESSION_MS = 45_000
"""Session timeout (ms) assumed if no record has it: Kafka's default, which events also assume."""


class EpochEntries:
    """A group from its creation or migration to its deletion; ``origin``: the group's last state as another type."""

    def __init__(self, group: str, group_type: GroupType, origin: AuditedGroup | None = None) -> None:
        """Start without records."""
        self.group = group
        self.group_type = group_type
        self.last = origin
        self.certain = True
        self._topology: Topology | None = None
        self._inherits = origin is not None and bool(origin.members)
        self._repeated: int | None = None
        self._epoch: int | None = None
        self._target = -1
        self._members: dict[str, EpochMember] = {}
        self._currents: dict[str, CurrentAssignment] = {}
        self._behind: set[str] = set()
        self._holders: dict[Partition, int] = {}
        self._free_ms: dict[Partition, int] = {}
        self._unowned_ms = self._unowned_sum_ms = 0
        self._started_ms: int | None = None
        self._assigned_ms: int | None = None
        self._peopled = False

    @property
    def number(self) -> int:
        """The newest epoch; 0 before the first epoch."""
        return self._epoch or 0

    @property
    def known(self) -> bool:
        """Whether the group has an epoch, so that its deletion is a fact."""
        return self._epoch is not None

    def mark_uncertain(self) -> None:
        """Process a gap, after which the members and the last reached epoch are uncertain."""
        self.certain, self.last = False, None

    def take(
        self, kind: type[EpochFact], subject: str, fact: EpochFact | None, at_ms: int, position: RecordPosition
    ) -> Iterator[ExpectedFact]:
        """Process one record (a tombstone if ``fact`` is None); yield the generation that it completes, if any."""
        self._put(kind, subject, fact, at_ms)
        if fact is None or self._epoch is None or self._behind or (self._members and self._target < self._epoch):
            return
        last, number = self.last, self._epoch
        same = last is not None and number in (last.number, self._repeated)
        now = self._audited_group(at_ms) if not same or isinstance(fact, EpochMember | CurrentAssignment) else None
        if now is None:
            return
        returned = now.returned(last) if same else ()
        if same and not returned:
            return
        # After a gap, the partitions of a static member that is away may have had an owner when the epoch was reached.
        certain, self.certain, self.last = self.certain, self.certain or not self._has_away_members, now
        unowned_ms = self._unowned_ms, self._unowned_sum_ms
        self._unowned_ms = self._unowned_sum_ms = 0
        self._free_ms.clear()
        self._started_ms = self._assigned_ms = None
        # Members that came and went before any assignment are in no reached epoch.
        peopled, self._peopled = self._peopled or bool(last and last.members), bool(now.members)
        if peopled or not certain:
            fact_fields = GenerationEvent.KIND, self.group, self.group_type, number, at_ms
            yield ExpectedFact(*fact_fields, position, now, last, returned, certain, *unowned_ms)

    def _put(self, kind: type[EpochFact], subject: str, fact: EpochFact | None, at_ms: int) -> None:
        if kind is GroupEpoch:
            if self._epoch is None and isinstance(fact, GroupEpoch) and self._inherits:
                self._repeated = fact.epoch  # it only repeats the group's state before the migration
            self._epoch = fact.epoch if isinstance(fact, GroupEpoch) else None
            if fact is not None and self._started_ms is None:
                self._started_ms = at_ms
            self._behind = {name for name in self._members if self._is_behind(name)}
        elif kind is TargetEpoch:
            self._target = fact.epoch if isinstance(fact, TargetEpoch) else -1
            self._assigned_ms = at_ms
        elif kind is Topology:
            self._topology = fact if isinstance(fact, Topology) else None
        elif kind is EpochMember:
            self._members.pop(subject, None)
            if isinstance(fact, EpochMember):
                self._members[subject] = fact
                self._peopled = True
            self._update_behind(subject)
        elif kind is CurrentAssignment:
            old = self._currents.pop(subject, None)
            new = fact if isinstance(fact, CurrentAssignment) else None
            if new is not None:
                self._currents[subject] = new
            self._update_holders(_held(old), _held(new), at_ms)
            self._update_behind(subject)

    def _update_behind(self, name: str) -> None:
        (self._behind.add if self._is_behind(name) else self._behind.discard)(name)

    def _is_behind(self, name: str) -> bool:
        if name not in self._members or self._epoch is None:
            return False
        current = self._currents.get(name)
        if current is None:
            return True
        return current.epoch >= 0 and (current.epoch < self._epoch or current.state is not MemberState.STABLE)

    def _update_holders(self, old: set[Partition], new: set[Partition], at_ms: int) -> None:
        for partition in new - old:
            self._holders[partition] = self._holders.get(partition, 0) + 1
            if (free_ms := self._free_ms.pop(partition, None)) is not None:
                self._unowned_ms = max(self._unowned_ms, at_ms - free_ms)
                self._unowned_sum_ms += max(0, at_ms - free_ms)
        for partition in old - new:
            self._holders[partition] -= 1
            if not self._holders[partition]:
                del self._holders[partition]
                self._free_ms[partition] = at_ms

    @property
    def _has_away_members(self) -> bool:
        return any(current.epoch < 0 for current in self._currents.values())

    def _audited_group(self, at_ms: int) -> AuditedGroup:
        members = []
        for name, member in self._members.items():
            current = self._currents.get(name)
            held: dict[str, set[int]] = {}
            for key, number in _held(current):
                held.setdefault(key, set()).add(number)
            partitions = {key: tuple(sorted(held[key])) for key in sorted(held)}
            members.append(AuditedMember(name, member.instance_id, member.client_id, member.client_host, partitions))
        empty_handed = bool(members) and not any(member.held for member in members)
        session_ms = max((member.session_timeout_ms or SESSION_MS for member in self._members.values()), default=0)
        number = self._epoch or 0
        audited = AuditedGroup(
            self.group_type,
            number,
            at_ms,
            tuple(members),
            joined_ms=self._assigned_ms,
            started_ms=self._started_ms,
            session_ms=session_ms,
            has_pending_revocations=empty_handed,
        )
        if self.group_type is not GroupType.STREAMS:
            return audited
        names = self._topics_of_tasks()
        return replace(
            audited.named(names),
            has_unresolved_topics=any(key not in names for member in members for key in member.held),
        )

    def _topics_of_tasks(self) -> dict[str, str]:
        """Map each subtopology with a single topic to it; with several topics, each partition count is unknown."""
        sources = self._topology.sources if self._topology else {}
        return {key: topics[0] for key, topics in sources.items() if len(topics) == 1}


def _held(current: CurrentAssignment | None) -> set[Partition]:
    """Return the partitions that a member owns, including those still to be revoked; none while the member is away."""
    if current is None or current.epoch < 0:
        return set()
    both = (current.assigned, current.revoking)
    return {(key, number) for assignment in both for key, numbers in assignment.items() for number in numbers}
