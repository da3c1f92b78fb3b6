"""Puts the records of groups into the inbox, so that no group uses more than its share of work.

A group that has used its share waits, and its oldest records are skipped if too many wait. Consumer, share and streams
groups have small records, but thousands of them: each group has one share, for records of all kinds. The share is a
share of processor time. If there is less time for all groups, the records of groups that cause little work come first.
New groups together have one share of this kind: any number of groups can be created, and deleted at once. Every second
turn is that of the newest waiting group, so a group that comes after a flood of groups does not wait for all of them.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.topic_reader import record_bytes
from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.commit_key import group_of_key
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from rebalance_agent.groupprotocol.tables import GROUP_METADATA
from rebalance_agent.offsets_topic.work_share.set_aside import SetAside, WaitingRecord
from rebalance_agent.offsets_topic.work_share.work_budget import (
    GROUPS_MAX,
    WorkBudget,
    part_seconds,
    work_seconds,
)
from rebalance_agent.tracking.memory.recent_names import RecentNames
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord

__all__ = ["AHEAD_S", "LONGEST_S", "NAME_BYTES_MAX", "FairShare"]

AHEAD_S = 0.05
"""Seconds of work in the inbox above which only records of light groups are added. It is also the longest time for
which their records wait behind others; the inbox is refilled several times within it."""

NAME_BYTES_MAX = 64
"""Longest group name (bytes) that is used as a key. A longer name is hashed, since data is kept for 10,000 groups and a
name may have 32 kB."""

NAMED_EVERY_S = 1.0
"""Seconds between updates of the metric that names the groups that had to wait, even while the inbox is full."""

LONGEST_S = 0.5
"""Seconds after which a record of another group is put into the inbox nevertheless, so that no record waits forever."""


class FairShare:
    """Emits live records, each group's in order. Used by the thread that reads them."""

    def __init__(
        self, context: CollectorContext, decode: Callable[[WaitingRecord], GroupRecord | EpochRecord | None]
    ) -> None:
        """Start without waiting groups; ``decode`` returns None for an unreadable record."""
        self._context, self._decode = context, decode
        self._budget = WorkBudget(context.clock.monotonic())
        self._released = context.clock.monotonic()
        self._waiting = SetAside()
        self._waited = self._skipped = 0
        self._due: list[tuple[float, int, bytes]] = []
        self._turns = itertools.count()
        self._in_due: set[bytes] = set()
        self._unseen: dict[bytes, None] = {}  # waiting groups of which no record was emitted yet, from the oldest
        self._newest_next = True
        self._names = RecentNames()
        self._named = float("-inf")

    def know(self, key: bytes) -> None:
        """Note that the group of a record with this key is not new."""
        self._budget.know(_identity(key), self._context.clock.monotonic())

    def put(self, record: WaitingRecord) -> None:
        """Emit a record that was read now, or let it wait."""
        group, size, now = _identity(record.key), len(record.message), self._context.clock.monotonic()
        allowed = self._budget.allows(group, size, now)
        if group not in self._waiting and allowed and (self._has_time or self._budget.light(group, now)):
            lost = self._waiting.take_lost(group)
            self._spend(group, record._replace(skipped=lost) if lost else record, now)
            return
        if group not in self._in_due:
            self._set_due(group, size, now)
        if group in self._unseen and record.message.value() is None:  # this deletes the earlier records
            self._skipped += self._waiting.drop_key(group, record.key)
        elif group not in self._waiting and not self._budget.remembers(group):
            self._wait_unseen(group)
        self._skipped += self._waiting.put(group, record)
        if not allowed:
            self._waited += 1
            self._names.see(group, _ms(now), lambda: _group_name(record.key))
            if now - self._named >= NAMED_EVERY_S:
                self._count(now)

    def release(self) -> None:
        """Emit waiting records of groups that may cause work again. Call it several times a second.

        One turn is that of the group that has been allowed to cause work for longest, the next that of the newest new
        group.
        """
        now = self._context.clock.monotonic()
        self._count(now)
        late = list[bytes]()
        while self._due and self._due[0][0] <= now and (self._has_time or now - self._released >= LONGEST_S):
            self._newest_next = not self._newest_next
            if not self._newest_next and self._release_newest(now):
                continue
            _, _, group = heapq.heappop(self._due)
            self._in_due.discard(group)
            if group not in self._waiting:
                continue  # its records were dropped
            if not self._budget.allows(group, self._waiting.next_bytes(group), now):
                late.append(group)
                continue
            self._released = now
            self._spend(group, self._waiting.pop(group), now)
            if group in self._waiting:
                self._set_due(group, self._waiting.next_bytes(group), now)
        for group in late:
            self._set_due(group, self._waiting.next_bytes(group), now)

    def _release_newest(self, now: float) -> bool:
        """Emit the first waiting record of the group that came last; return False if there is none.

        The group stays where it is in the order of the others.
        """
        while self._unseen:
            group = next(reversed(self._unseen))
            if group not in self._waiting:
                del self._unseen[group]  # its records were dropped
            elif self._budget.allows(group, self._waiting.next_bytes(group), now):
                self._released = now
                self._spend(group, self._waiting.pop(group), now)
                return True
            else:
                return False
        return False

    def _wait_unseen(self, group: bytes) -> None:
        self._unseen[group] = None
        if len(self._unseen) > GROUPS_MAX:
            del self._unseen[next(iter(self._unseen))]

    @property
    def release_s(self) -> float | None:
        """Seconds until the next call of `release` while records wait, so that the inbox does not run empty."""
        return AHEAD_S / 2 if self._waiting else None

    @property
    def _has_time(self) -> bool:
        """Whether the tracker has time for more than light groups."""
        return self._context.inbox.work_s < AHEAD_S

    def _count(self, now: float) -> None:
        """Count the records that waited and were skipped since the last call, and name their groups now and then."""
        waited, skipped = self._waited, self._skipped
        self._waited = self._skipped = 0
        if waited:
            self._context.meters.over_budget("waited", waited)
        if skipped:
            self._context.meters.over_budget("skipped", skipped)
        if now - self._named >= NAMED_EVERY_S:
            self._named = now
            self._context.meters.groups_over_budget("work", self.named())

    def _set_due(self, group: bytes, size_bytes: int, now: float) -> None:
        heapq.heappush(self._due, (self._budget.allowed_at(group, size_bytes, now), next(self._turns), group))
        self._in_due.add(group)

    def drop(self, partitions: Iterable[int]) -> None:
        """Drop the waiting records of these partitions of the offsets topic, which are no longer read."""
        self._waiting.drop(partitions)

    def held_back(self, positions: Mapping[int, int]) -> Mapping[int, int]:
        """Return ``positions`` (partition -> next offset), lowered to the first waiting record of each partition."""
        return self._waiting.held_back(positions) if self._waiting else positions

    def named(self) -> list[str]:
        """Return the groups that recently had to wait, as `RecentNames.names` does."""
        return self._names.names(_ms(self._context.clock.monotonic()))

    def _spend(self, group: bytes, waiting: WaitingRecord, now: float) -> None:
        self._unseen.pop(group, None)
        size, record = len(waiting.message), self._decode(waiting)
        if record_kind(waiting.key) == GROUP_METADATA.kind:
            seconds = work_seconds(record.value if isinstance(record, GroupRecord) else None, size)
        else:
            seconds = part_seconds(record.value if isinstance(record, EpochRecord) else None, size)
        self._budget.spend(group, size, seconds, now)
        if record is not None:
            self._context.inbox.put(record, record_bytes(waiting.message), seconds)
        elif waiting.skipped:  # an unreadable record reports nothing
            self._waiting.lose(group, waiting.skipped)


def _identity(key: bytes) -> bytes:
    """Return what identifies the group of a record: its name, or the hash of a long one."""
    group = group_of_key(key)
    return group if len(group) <= NAME_BYTES_MAX else blake2b(group, digest_size=16).digest()


def _group_name(key: bytes) -> str | None:
    try:
        return decode_record(key, None).group
    except DecodeError:
        return None


def _ms(seconds: float) -> int:
    return round(seconds * 1_000)
