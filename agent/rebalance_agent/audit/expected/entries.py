"""Defines the facts that follow from the records; each fact must have an event."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.audit.audited_group import AuditedGroup, RecordPosition
from rebalance_agent.model.events import AbortedEvent, GenerationEvent, GroupGoneEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.group_event import event_id

__all__ = ["ExpectedFact", "LogRecord"]


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One record of the offsets topic; ``timestamp_ms`` is from the coordinator's clock."""

    position: RecordPosition
    timestamp_ms: int
    key: bytes
    value: bytes | None


@dataclass(frozen=True, slots=True)
class ExpectedFact:
    """A fact that must have an event: a generation or reached epoch (``now``), an aborted generation, or a deletion.

    ``before``: the previous generation.
    ``returned``: new ids of static members that returned within the generation. ``certain``: whether no earlier record
    was missing.
    ``unowned_ms``: in an epoch group, the longest time (ms) in which a partition had no owner; ``unowned_sum_ms``: the
    sum of these times over all partitions. ``count``: number of aborted generations.
    """

    kind: str
    group: str
    group_type: GroupType
    number: int
    at_ms: int
    position: RecordPosition
    now: AuditedGroup | None = None
    before: AuditedGroup | None = None
    returned: tuple[str, ...] = ()
    certain: bool = True
    unowned_ms: int = 0
    unowned_sum_ms: int = 0
    count: int = 1

    def event_id(self, cluster_id: str) -> str:
        """Return the id that the fact's event must have."""
        fields = (self.kind, cluster_id, self.group, self.group_type, self.number, self.at_ms)
        return event_id(*fields, member_id=",".join(self.returned))

    def __str__(self) -> str:
        """Describe the fact in words."""
        words = {
            AbortedEvent.KIND: f"aborted generation {self.number}",
            GroupGoneEvent.KIND: "deletion",
            GenerationEvent.KIND: f"{'generation' if self.group_type is GroupType.CLASSIC else 'epoch'} {self.number}",
        }
        back = f" (return of {', '.join(self.returned)})" if self.returned else ""
        return words[self.kind] + back
