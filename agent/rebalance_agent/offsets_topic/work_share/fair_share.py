"""Puts the records of groups into the inbox, so that no group takes more than its share of work from the others.

A classic group that has used its share waits, and the oldest of its records are skipped if too many wait. Records of
other groups are written by the coordinator itself and each is small: they never wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from rebalance_agent.groupprotocol.tables import GROUP_METADATA
from rebalance_agent.offsets_topic.work_share.set_aside import SetAside, WaitingRecord
from rebalance_agent.offsets_topic.work_share.work_budget import WorkBudget, work_seconds
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord

__all__ = ["NAMED_MAX", "NAMED_S", "FairShare"]

NAMED_S = 300.0
"""Seconds for which a group is named after its last record that waited: alerts are evaluated meanwhile."""

NAMED_MAX = 20
"""Groups that are named at once."""


class FairShare:
    """Emits live records, each group's in order. Used by the thread that reads them."""

    def __init__(
        self, context: CollectorContext, decode: Callable[[WaitingRecord], GroupRecord | EpochRecord | None]
    ) -> None:
        """Start with no group waiting; ``decode`` returns None for a record that it cannot read."""
        self._context, self._decode = context, decode
        self._budget = WorkBudget(context.clock.monotonic())
        self._waiting = SetAside()
        self._named: dict[str, float] = {}

    def put(self, record: WaitingRecord) -> None:
        """Emit a record that was read now, or let it wait."""
        key, now = record.message.key() or b"", self._context.clock.monotonic()
        if record_kind(key) != GROUP_METADATA.kind:
            self._emit(record)
        elif key not in self._waiting and self._budget.allows(key, len(record.message), now):
            self._spend(key, record, now)
        else:
            self._context.meters.over_budget("waited")
            if dropped := self._waiting.put(key, record):
                self._context.meters.over_budget("skipped", dropped)
            self._name(key, now)

    def release(self) -> None:
        """Emit the waiting records of groups that may cause work again. To be called several times a second."""
        now = self._context.clock.monotonic()
        for key in self._waiting.groups():
            while key in self._waiting and self._budget.allows(key, self._waiting.next_bytes(key), now):
                self._spend(key, self._waiting.pop(key), now)

    def drop(self, partitions: Iterable[int]) -> None:
        """These partitions of the offsets topic are no longer read."""
        self._waiting.drop(partitions)

    def held_back(self, positions: Mapping[int, int]) -> Mapping[int, int]:
        """Return ``positions`` (partition -> next offset), none of them after a record that waits."""
        return self._waiting.held_back(positions) if self._waiting else positions

    def named(self) -> list[str]:
        """Return the groups that had to wait lately, sorted."""
        since = self._context.clock.monotonic() - NAMED_S
        self._named = {group: at for group, at in self._named.items() if at >= since}
        return sorted(self._named)

    def _spend(self, key: bytes, record: WaitingRecord, now: float) -> None:
        emitted = self._emit(record)
        value = emitted.value if isinstance(emitted, GroupRecord) else None
        self._budget.spend(key, len(record.message), work_seconds(value), now)

    def _emit(self, waiting: WaitingRecord) -> GroupRecord | EpochRecord | None:
        record = self._decode(waiting)
        if record is not None:
            self._context.inbox.put(record)
        return record

    def _name(self, key: bytes, now: float) -> None:
        try:
            group = decode_record(key, None).group
        except DecodeError:
            return
        self._named.pop(group, None)
        self._named[group] = now
        if len(self._named) > NAMED_MAX:
            del self._named[next(iter(self._named))]
