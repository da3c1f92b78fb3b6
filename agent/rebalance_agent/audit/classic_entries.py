"""A classic group's records, one after the other, as entries: each record with a new generation is one."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_agent.audit.audited_group import AuditedGroup, RecordPosition, classic_sheet
from rebalance_agent.audit.entries import ExpectedFact
from rebalance_agent.model.events import AbortedEvent, GenerationEvent
from rebalance_agent.model.group import GroupSnapshot, GroupType

__all__ = ["ClassicEntries"]

ABORTED_MAX = 10
"""Missing generations in a row that are told one by one (`docs/events.md`)."""

ABORTED_MIN_MS = 10
"""Less time than that for each of very many missing ones: another life of the group."""


class ClassicEntries:
    """One life of one classic group; ``origin``: how it ended as a group of another type, if it goes on from there."""

    group_type = GroupType.CLASSIC

    def __init__(self, group: str, origin: AuditedGroup | None = None) -> None:
        """Begin without a record."""
        self.group = group
        self.last: AuditedGroup | None = None
        self.certain = True
        self._origin = origin

    @property
    def number(self) -> int:
        """Its last generation; 0 before any."""
        return self.last.number if self.last else 0

    @property
    def known(self) -> bool:
        """Whether there was anything that can end."""
        return self.last is not None

    def doubt(self) -> None:
        """Records may have been missing: how it was before is not known from here on."""
        self.certain = False

    def take(self, value: GroupSnapshot, at_ms: int, place: RecordPosition) -> Iterator[ExpectedFact]:
        """A record of it."""
        now, last, origin = classic_sheet(value, at_ms), self.last, self._origin
        certain = self.certain or (last is None and _begins(now))
        self.certain, self.last = True, now
        before = origin or last
        missing = max(0, now.number - last.number - 1) if last and not origin else 0
        if last and (now.number < last.number or _leaps(missing, at_ms - last.at_ms)):
            before, missing = None, 0  # deleted and made anew under the same name
        returned = now.returned(before) if before and before.number == now.number else ()
        fresh = not now.rows and now.number == 0
        if before is origin is not None:
            repeats = bool(now.rows) and now.number == origin.number and not returned
        else:
            repeats = before is not None and now.number == before.number and not returned
        if fresh or repeats:
            return
        self._origin = None
        if last and certain:
            yield from self._aborted(missing, now, place)
        follows = certain or (last is not None and not missing)
        kind, group_type = GenerationEvent.KIND, GroupType.CLASSIC
        yield ExpectedFact(kind, self.group, group_type, now.number, at_ms, place, now, before, returned, follows)

    def _aborted(self, missing: int, now: AuditedGroup, place: RecordPosition) -> Iterator[ExpectedFact]:
        each = 1 if missing <= ABORTED_MAX else missing
        for number in range(now.number - missing + each - 1, now.number, each):
            kind, group_type = AbortedEvent.KIND, GroupType.CLASSIC
            yield ExpectedFact(kind, self.group, group_type, number, now.at_ms, place, before=self.last, count=each)


def _begins(now: AuditedGroup) -> bool:
    """Whether nothing was before its first record; static members may have been there, and have returned."""
    return now.number <= 1 and all(row.instance_id is None for row in now.rows)


def _leaps(missing: int, elapsed_ms: int) -> bool:
    return missing > ABORTED_MAX and missing * ABORTED_MIN_MS > elapsed_ms
