"""Puts the records of groups into the inbox, so that no group uses more than its share of work.

A group that has used its share waits, and its oldest records are skipped if too many wait. Consumer, share and streams
groups have small records, but thousands of them: each group has one share, for records of all kinds. The share is a
share of processor time. If there is less time for all groups, they take turns (`Turns`), and groups that cause little
work need not wait for their turns.
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
from rebalance_agent.offsets_topic.work_share.turns import Turns
from rebalance_agent.offsets_topic.work_share.work_budget import WorkBudget, part_seconds, work_seconds
from rebalance_agent.tracking.memory.recent_names import RecentNames
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord

__all__ = ["AHEAD_S", "NAME_BYTES_MAX", "FairShare"]

AHEAD_S = 0.05
"""Seconds of work in the inbox above which only records of light groups are added. It is also the longest time for
which their records wait behind others; the inbox is refilled several times within it."""

NAME_BYTES_MAX = 64
"""Longest group name (bytes) that is used as a key. A longer name is hashed, since data is kept for 10,000 groups and a
name may have 32 kB."""

PREFERRED_S = 0.1
"""Seconds of expected work up to which a record with less work is preferred; more would delay large groups too long."""

NAMED_EVERY_S = 1.0
"""Seconds between updates of the metric that names the groups that had to wait, even while the inbox is full."""


class FairShare:
    """Emits live records, each group's in order. Used by the thread that reads them."""

    def __init__(
        self, context: CollectorContext, decode: Callable[[WaitingRecord], GroupRecord | EpochRecord | None]
    ) -> None:
        """Start without waiting groups; ``decode`` returns None for an unreadable record."""
        self._context, self._decode = context, decode
        self._budget = WorkBudget(context.clock.monotonic())
        self._waiting = SetAside()
        self._waited = self._skipped = 0
        self._over: list[tuple[float, int, bytes]] = []  # groups over their budget, by the time at which they are not
        self._numbers = itertools.count()
        self._turns = Turns()
        self._placed: set[bytes] = set()  # groups that are in `_over` or `_turns`
        self._names = RecentNames()
        self._named = float("-inf")

    def know(self, key: bytes) -> None:
        """Note that the group of a record with this key is not new."""
        self._budget.know(_identity(key), self._context.clock.monotonic())

    def put(self, record: WaitingRecord) -> None:
        """Emit a record that was read now, or let it wait."""
        group, size, now = _identity(record.key), len(record.message), self._context.clock.monotonic()
        allowed = self._budget.allows(group, size, now)
        in_order = allowed and group not in self._waiting
        timely = not self._turns and self._has_time
        if in_order and (timely or self._budget.light(group, size, now)):
            if not timely:
                self._budget.spend_ahead(group, size, now)
            lost = self._waiting.take_lost(group)
            self._spend(group, record._replace(skipped=lost) if lost else record, now)
            return
        if record.message.value() is None and not self._budget.remembers(group):  # this deletes the earlier records
            self._skipped += self._waiting.drop_key(group, record.key)
        for dropped in self._waiting.put(group, record, new=self._budget.is_new(group, now)):
            self._skipped += 1
            self._name(_identity(dropped.key), dropped.key, now)
        if not allowed:
            self._waited += 1
            self._name(group, record.key, now)
        if now - self._named >= NAMED_EVERY_S:
            self._count(now)
        if group not in self._placed:
            self._place(group, now)
        self._emit(now)

    def release(self) -> None:
        """Emit waiting records of groups that may cause work again. Call it several times a second."""
        now = self._context.clock.monotonic()
        self._count(now)
        while self._over and self._over[0][0] <= now:
            _, _, group = heapq.heappop(self._over)
            self._placed.discard(group)
            self._place(group, now)
        self._emit(now)

    def _place(self, group: bytes, now: float) -> None:
        """Add a group to those that take turns, or to those over their budget, unless its records were dropped."""
        if group not in self._waiting:
            return
        self._placed.add(group)
        size = self._waiting.next_bytes(group)
        if self._budget.allows(group, size, now):
            new, seen = self._budget.is_new(group, now), self._budget.remembers(group)
            self._turns.add(group, min(self._budget.expected(group, size), PREFERRED_S), new=new, seen=seen)
        else:
            heapq.heappush(self._over, (self._budget.allowed_at(group, size, now), next(self._numbers), group))

    def _emit(self, now: float) -> None:
        """Emit records of the groups whose turn it is, while the tracker has time."""
        while self._turns and self._has_time:
            group = self._turns.pop()
            self._placed.discard(group)
            if group in self._waiting and self._budget.allows(group, self._waiting.next_bytes(group), now):
                self._turns.spend(group, self._spend(group, self._waiting.pop(group), now))
            self._place(group, now)
        if not self._turns:
            self._turns.reset()

    @property
    def release_s(self) -> float | None:
        """Seconds until the next call of `release` while records wait, so that the inbox does not run empty.

        Many records cause much less work than the estimate.
        """
        return AHEAD_S / 5 if self._waiting else None

    @property
    def _has_time(self) -> bool:
        """Whether the tracker has time for more records."""
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

    def _name(self, group: bytes, key: bytes, now: float) -> None:
        self._names.see(group, _ms(now), lambda: _group_name(key))

    def drop(self, partitions: Iterable[int]) -> None:
        """Drop the waiting records of these partitions of the offsets topic, which are no longer read."""
        self._waiting.drop(partitions)

    def held_back(self, positions: Mapping[int, int]) -> Mapping[int, int]:
        """Return ``positions`` (partition -> next offset), lowered to the first waiting record of each partition."""
        return self._waiting.held_back(positions) if self._waiting else positions

    def named(self) -> list[str]:
        """Return the groups that recently had to wait, as `RecentNames.names` does."""
        return self._names.names(_ms(self._context.clock.monotonic()))

    def _spend(self, group: bytes, waiting: WaitingRecord, now: float) -> float:
        """Emit a record; return the estimated seconds of work."""
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
        return seconds


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
