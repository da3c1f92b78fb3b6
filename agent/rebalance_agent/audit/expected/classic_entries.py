"""Derives the expected facts of a classic group: one per record with a new generation, and aborted generations."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_agent.audit.audited_group import AuditedGroup, RecordPosition, audited_classic_group
from rebalance_agent.audit.expected.entries import ExpectedFact
from rebalance_agent.model.events import AbortedEvent, GenerationEvent
from rebalance_agent.model.group import GroupSnapshot, GroupType

__all__ = ["ClassicEntries"]

ABORTED_MAX = 10
"""Maximum number of missing generations in a row that have an event each; more have one event (`docs/events.md`)."""

ABORTED_MIN_MS = 10
"""Shortest time (ms) of a generation. If more than `ABORTED_MAX` generations are missing and would have been shorter,
the group was deleted and recreated."""


class ClassicEntries:
    """A group from its creation or migration to its deletion; ``origin``: the group's last state as another type."""

    group_type = GroupType.CLASSIC

    def __init__(self, group: str, origin: AuditedGroup | None = None) -> None:
        """Start without records."""
        self.group = group
        self.last: AuditedGroup | None = None
        self.certain = True
        self._origin = origin

    @property
    def number(self) -> int:
        """The last generation; 0 before the first record."""
        return self.last.number if self.last else 0

    @property
    def known(self) -> bool:
        """Whether the group has a record, so that its deletion is a fact."""
        return self.last is not None

    def mark_uncertain(self) -> None:
        """Process a gap: the state before the next record is uncertain."""
        self.certain = False

    def take(self, value: GroupSnapshot, at_ms: int, position: RecordPosition) -> Iterator[ExpectedFact]:
        """Process a record; yield the facts that follow from it."""
        now, last, origin = audited_classic_group(value, at_ms), self.last, self._origin
        certain = self.certain or (last is None and _begins(now))
        self.certain, self.last = True, now
        before = origin or last
        missing = max(0, now.number - last.number - 1) if last and not origin else 0
        if last and (now.number < last.number or _leaps(missing, at_ms - last.at_ms)):
            before, missing = None, 0  # deleted and recreated under the same name
        returned = now.returned(before) if before and before.number == now.number else ()
        fresh = not now.members and now.number == 0
        if before is origin is not None:
            repeats = bool(now.members) and now.number == origin.number and not returned
        else:
            repeats = before is not None and now.number == before.number and not returned
        if fresh or repeats:
            return
        self._origin = None
        if last and certain:
            yield from self._aborted(missing, now, position)
        follows = certain or (last is not None and not missing)
        kind, group_type = GenerationEvent.KIND, GroupType.CLASSIC
        yield ExpectedFact(kind, self.group, group_type, now.number, at_ms, position, now, before, returned, follows)

    def _aborted(self, missing: int, now: AuditedGroup, position: RecordPosition) -> Iterator[ExpectedFact]:
        step = 1 if missing <= ABORTED_MAX else missing
        for number in range(now.number - missing + step - 1, now.number, step):
            kind, group_type = AbortedEvent.KIND, GroupType.CLASSIC
            yield ExpectedFact(kind, self.group, group_type, number, now.at_ms, position, before=self.last, count=step)


def _begins(now: AuditedGroup) -> bool:
    """Return whether the record is certainly the group's first; with static members, it may be a member's return."""
    return now.number <= 1 and all(member.instance_id is None for member in now.members)


def _leaps(missing: int, elapsed_ms: int) -> bool:
    return missing > ABORTED_MAX and missing * ABORTED_MIN_MS > elapsed_ms
