"""What the records say that happened, one entry for each fact that has to be told."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.audit.audited_group import AuditedGroup, RecordPosition
from rebalance_agent.model.events import AbortedEvent, GenerationEvent, GroupGoneEvent, event_id
from rebalance_agent.model.group import GroupType

__all__ = ["ExpectedFact", "LogRecord"]


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One record of the offsets topic as it was read; ``timestamp_ms`` is the coordinator's."""

    place: RecordPosition
    timestamp_ms: int
    key: bytes
    value: bytes | None


@dataclass(frozen=True, slots=True)
class ExpectedFact:
    """A generation (or reached epoch) with what was before it, an aborted one, or the group's end (without ``now``).

    ``returned``: ids under which static members came back within it. ``certain``: all records before it were there to
    be read. ``unheld_ms``: of a group whose coordinator assigns, the longest that a partition had nobody on the way
    here. ``count``: aborted generations in a row.
    """

    kind: str
    group: str
    group_type: GroupType
    number: int
    at_ms: int
    place: RecordPosition
    now: AuditedGroup | None = None
    before: AuditedGroup | None = None
    returned: tuple[str, ...] = ()
    certain: bool = True
    unheld_ms: int = 0
    count: int = 1

    def event_id(self, cluster_id: str) -> str:
        """The id that its event must have."""
        known = (self.kind, cluster_id, self.group, self.group_type, self.number, self.at_ms)
        return event_id(*known, member_id=",".join(self.returned))

    def __str__(self) -> str:
        """In words."""
        words = {
            AbortedEvent.KIND: f"aborted generation {self.number}",
            GroupGoneEvent.KIND: "deletion",
            GenerationEvent.KIND: f"{'generation' if self.group_type is GroupType.CLASSIC else 'epoch'} {self.number}",
        }
        back = f" (return of {', '.join(self.returned)})" if self.returned else ""
        return words[self.kind] + back
