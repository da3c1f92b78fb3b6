"""Puts the records of groups into the inbox, so that no group takes more than its share of work from the others.

A group that has used its share waits, and the oldest of its records are skipped if too many wait. Consumer, share and
streams groups have small records, but thousands of them: a group has one share, whatever the kind of its records. The
share is of a processor; where there is less time for all, the records of other groups come first.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Mapping

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.topic_reader import record_bytes
from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.commit_key import group_of_key
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from rebalance_agent.groupprotocol.tables import GROUP_METADATA
from rebalance_agent.offsets_topic.work_share.set_aside import SetAside, WaitingRecord
from rebalance_agent.offsets_topic.work_share.work_budget import WorkBudget, part_seconds, work_seconds
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord

__all__ = ["AHEAD_MAX", "NAMED_MAX", "NAMED_S", "FairShare"]

AHEAD_MAX = 100
"""Observations in the inbox from which on no more waiting records are put into it: records of groups that do not wait
come behind them. They are 20 ms of work, and released several times a second, more than one group's share."""

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
        self._waited = self._skipped = 0
        self._due: list[tuple[float, int, bytes]] = []
        self._turns = itertools.count()
        self._in_due: set[bytes] = set()
        self._named: dict[bytes, tuple[str, float]] = {}

    def put(self, record: WaitingRecord) -> None:
        """Emit a record that was read now, or let it wait."""
        group, now = group_of_key(record.key), self._context.clock.monotonic()
        if group not in self._waiting and self._budget.allows(group, len(record.message), now):
            self._spend(group, record, now)
        else:
            self._waited += 1
            if group not in self._in_due:
                self._set_due(group, len(record.message), now)
            self._skipped += self._waiting.put(group, record)
            self._name(group, record.key, now)

    def release(self) -> None:
        """Emit waiting records of groups that may cause work again. To be called several times a second.

        The one that may do so for longest comes first. While many observations wait to be processed, it is one record.
        """
        self._count()
        now = self._context.clock.monotonic()
        emitted, late = 0, list[bytes]()
        while self._due and self._due[0][0] <= now and (not emitted or len(self._context.inbox) < AHEAD_MAX):
            _, _, group = heapq.heappop(self._due)
            self._in_due.discard(group)
            if group not in self._waiting:
                continue  # its records were dropped
            if not self._budget.allows(group, self._waiting.next_bytes(group), now):
                late.append(group)
                continue
            self._spend(group, self._waiting.pop(group), now)
            emitted += 1
            if group in self._waiting:
                self._set_due(group, self._waiting.next_bytes(group), now)
        for group in late:
            self._set_due(group, self._waiting.next_bytes(group), now)

    def _count(self) -> None:
        """Count the records that waited and were skipped since the last call: all at once, as there are thousands."""
        waited, skipped = self._waited, self._skipped
        self._waited = self._skipped = 0
        if waited:
            self._context.meters.over_budget("waited", waited)
        if skipped:
            self._context.meters.over_budget("skipped", skipped)

    def _set_due(self, group: bytes, size_bytes: int, now: float) -> None:
        heapq.heappush(self._due, (self._budget.allowed_at(group, size_bytes, now), next(self._turns), group))
        self._in_due.add(group)

    def drop(self, partitions: Iterable[int]) -> None:
        """Drop the waiting records of these partitions of the offsets topic, which are no longer read."""
        self._waiting.drop(partitions)

    def held_back(self, positions: Mapping[int, int]) -> Mapping[int, int]:
        """Return ``positions`` (partition -> next offset), none of them after a record that waits."""
        return self._waiting.held_back(positions) if self._waiting else positions

    def named(self) -> list[str]:
        """Return the groups that recently had to wait, sorted."""
        since = self._context.clock.monotonic() - NAMED_S
        self._named = {group: named for group, named in self._named.items() if named[1] >= since}
        return sorted(name for name, _ in self._named.values())

    def _spend(self, group: bytes, record: WaitingRecord, now: float) -> None:
        size, emitted = len(record.message), self._emit(record)
        if record_kind(record.key) == GROUP_METADATA.kind:
            seconds = work_seconds(emitted.value if isinstance(emitted, GroupRecord) else None)
        else:
            seconds = part_seconds(size)
        self._budget.spend(group, size, seconds, now)

    def _emit(self, waiting: WaitingRecord) -> GroupRecord | EpochRecord | None:
        record = self._decode(waiting)
        if record is not None:
            self._context.inbox.put(record, record_bytes(waiting.message))
        return record

    def _name(self, group: bytes, key: bytes, now: float) -> None:
        if entry := self._named.pop(group, None):
            self._named[group] = entry[0], now
            return
        try:
            self._named[group] = decode_record(key, None).group, now
        except DecodeError:
            return
        if len(self._named) > NAMED_MAX:
            del self._named[next(iter(self._named))]
