"""Bounds the work that the records of one group may cause, so that no group takes the time of all others. Pure.

All groups are processed by one thread. The work that a record causes is estimated from what it contains; each group may
cause a quarter of a processor's time. A group that has used its share has to wait, and the others do not wait for it.
Groups that have caused little work come before all others, within limits for any number of such groups.
"""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.model.epoch_groups import CurrentAssignment, EpochFact, MemberTarget
from rebalance_agent.model.group import GroupSnapshot
from rebalance_agent.model.partitions import count_partitions

__all__ = [
    "ALL_RATE",
    "BURST_S",
    "BUSY_RATE",
    "GROUP_RATE",
    "LARGE_BYTES",
    "LIGHT_S",
    "NEW_S",
    "QUIET_BYTES",
    "QUIET_RATE",
    "WorkBudget",
    "part_seconds",
    "work_seconds",
]

RECORD_S = 0.004
"""Seconds of work that any record of a classic group causes, all steps together: its view, its text on /metrics, its
events and their way into the history and to Kafka."""

PART_S = 300e-6
"""Seconds of work that a record of a consumer, share or streams group causes: each is a small part of the group's
state. A rebalance of 2,000 members has 4,000 to 6,000 records within some seconds."""

BYTE_S = 150e-9
"""Seconds of work per byte of a decoded record: the worst case is many topics with one partition each."""

MEMBER_S = 25e-6
"""Seconds of work per member in a record."""

ASSIGNED_S = 25e-6
"""Seconds of work per partition that a record assigns to a member: moves, stalls, quality and view."""

BYTE_MOST_S = ASSIGNED_S / 4
"""Most seconds of work per byte of a record, before it is decoded: each partition takes four bytes."""

TARGET_S = 2.5e-6
"""Seconds of work per partition or task in the target of a consumer or streams member: it is only compared with the
current assignments."""

GROUP_RATE = 0.25
"""Seconds of work per second that one group may cause: a group of 2,000 members and 10,000 partitions may rebalance
every two seconds."""

ALL_RATE = 0.6
"""Seconds of work per second that all groups with large records may cause together."""

BURST_S = 0.5
"""Seconds of work that a group may cause at once, after it was quiet."""

LIGHT_S = 0.05
"""Seconds of recent work up to which a group is light: ten records of an ordinary group at once."""

QUIET_RATE = 0.0025
"""Seconds of work per second that a quiet group may cause: six rebalances of an ordinary group per minute."""

QUIET_BYTES = 4_096
"""Maximum size of a quiet group's record: its work takes at most 30 ms."""

BUSY_RATE = 0.25
"""Seconds of work per second for which light groups that are not quiet come before others."""

AHEAD_SHARE = 0.1
"""Largest share of this time that one record may take, so that records with much work leave time for small ones."""

NEW_S = 60.0
"""Seconds from a group's first record for which the group is new."""

NEW_RATE = 0.25
"""Seconds of work per second up to which new groups together are light. Sixty ordinary groups per second may be
created, even if each of them is deleted at once."""

LARGE_BYTES = 16_384
"""A record with more bytes is large: `ALL_RATE` applies to it. Records of a hundred members are smaller."""

GROUPS_MAX = 10_000
"""Maximum number of groups whose work is kept, and of new groups; a dropped group is new at its next record."""


def work_seconds(value: GroupSnapshot | None, size_bytes: int = 0) -> float:
    """Return the estimated seconds of work for a classic group's record; ``value`` None: a tombstone.

    ``size_bytes``: of what was decoded, if ``value`` does not have it.
    """
    if value is None:
        return RECORD_S
    assigned = sum(count_partitions(member.assigned) for member in value.members)
    return RECORD_S + BYTE_S * (value.size_bytes or size_bytes) + MEMBER_S * len(value.members) + ASSIGNED_S * assigned


def part_seconds(value: EpochFact | None, size_bytes: int) -> float:
    """Return the estimated seconds of work for another group's record with a value of ``size_bytes``.

    A current assignment also pays for its end: the record that takes its partitions from the member may be small.
    """
    seconds = PART_S + BYTE_S * size_bytes
    if isinstance(value, CurrentAssignment):
        lists = value.assigned, value.revoking, value.standbys, value.warmups
        return seconds + ASSIGNED_S * sum(map(count_partitions, lists))
    if isinstance(value, MemberTarget):
        return seconds + TARGET_S * sum(map(count_partitions, (value.assigned, value.standbys, value.warmups)))
    return seconds


@dataclass(slots=True)
class _Bucket:
    """Seconds of work that are ``left`` as of ``at``; negative if overdrawn. ``since``: the first record.

    ``last``: seconds of work of the last record. ``recent``: seconds of recent work, reduced by `QUIET_RATE` per
    second; at most `BURST_S`, so that a group is quiet again three minutes after any work. Times are monotonic seconds.
    """

    left: float
    at: float
    since: float
    last: float = 0.0
    recent: float = 0.0

    def refill(self, rate: float, now: float) -> float:
        self.left = min(BURST_S, self.left + (now - self.at) * rate)
        self.recent = max(0.0, self.recent - (now - self.at) * QUIET_RATE)
        self.at = now
        return self.left

    def spend(self, seconds: float, rate: float, now: float) -> None:
        self.refill(rate, now)
        self.left -= seconds
        self.last = seconds
        self.recent = min(BURST_S, self.recent + seconds)

    def new(self, now: float) -> bool:
        return now - self.since < NEW_S


class WorkBudget:
    """The work of each group, by the group's name in bytes. Times are monotonic seconds."""

    def __init__(self, now: float) -> None:
        """Start with the whole budget."""
        self._groups: dict[bytes, _Bucket] = {}
        self._new: dict[bytes, _Bucket] = {}  # apart, so that created groups do not push out the others
        self._all, self._all_new, self._all_busy = (_Bucket(BURST_S, now, now) for _ in range(3))

    def know(self, group: bytes, now: float) -> None:
        """Note that the group is not new: it had a record before the observer started."""
        bucket = self._groups.get(group) or self._new.pop(group, None) or _Bucket(BURST_S, now, now)
        bucket.since = now - NEW_S
        _keep(self._groups, group, bucket)

    def remembers(self, group: bytes) -> bool:
        """Whether a record of the group was processed, or read before the observer started, and is not dropped."""
        return self._bucket(group) is not None

    def allows(self, group: bytes, size_bytes: int, now: float) -> bool:
        """Whether the group's next record, of ``size_bytes``, may be processed now."""
        bucket = self._bucket(group)
        if bucket is not None and bucket.refill(GROUP_RATE, now) <= 0:
            return False
        return size_bytes <= LARGE_BYTES or self._all.refill(ALL_RATE, now) > 0

    def expected(self, group: bytes, size_bytes: int) -> float:
        """Return the expected seconds of work of the group's next record: as the last one, or less if it is smaller."""
        most, bucket = BYTE_MOST_S * size_bytes, self._bucket(group)
        return min(most, bucket.last) if bucket and bucket.last else most

    def is_new(self, group: bytes, now: float) -> bool:
        """Whether the group's first record was processed less than `NEW_S` ago, or not yet."""
        bucket = self._bucket(group)
        return bucket is None or bucket.new(now)

    def light(self, group: bytes, size_bytes: int, now: float) -> bool:
        """Whether the group's next record, of ``size_bytes``, may come before those of other groups.

        The group has caused little work recently. If it is new, also all new groups together have; if it is not quiet,
        also all others that came before (`spend_ahead`), and the record's share of what is left is small.
        """
        bucket = self._bucket(group)
        if bucket is not None and bucket.refill(GROUP_RATE, now) < BURST_S - LIGHT_S:
            return False
        if bucket is None or bucket.new(now):
            return self._all_new.refill(NEW_RATE, now) > 0
        if _quiet(bucket, size_bytes):
            return True
        return self.expected(group, size_bytes) < AHEAD_SHARE * self._all_busy.refill(BUSY_RATE, now)

    def allowed_at(self, group: bytes, size_bytes: int, now: float) -> float:
        """Return when the group's next record, of ``size_bytes``, may be processed if other groups cause no work."""
        at = now
        if (bucket := self._bucket(group)) is not None:
            at = max(at, now - bucket.refill(GROUP_RATE, now) / GROUP_RATE)
        if size_bytes > LARGE_BYTES:
            at = max(at, now - self._all.refill(ALL_RATE, now) / ALL_RATE)
        return at

    def spend(self, group: bytes, size_bytes: int, seconds: float, now: float) -> None:
        """Subtract the work of a record that is processed now; the budget may become negative."""
        bucket = self._groups.pop(group, None) or self._new.pop(group, None) or _Bucket(BURST_S, now, now)
        bucket.spend(seconds, GROUP_RATE, now)
        if size_bytes > LARGE_BYTES:
            self._all.spend(seconds, ALL_RATE, now)
        if bucket.new(now):
            self._all_new.spend(seconds, NEW_RATE, now)
        _keep(self._new if bucket.new(now) else self._groups, group, bucket)

    def spend_ahead(self, group: bytes, size_bytes: int, now: float) -> None:
        """Note that the group's next record, of ``size_bytes``, comes before those of others."""
        bucket = self._bucket(group)
        if bucket is not None and not bucket.new(now) and not _quiet(bucket, size_bytes):
            self._all_busy.spend(self.expected(group, size_bytes), BUSY_RATE, now)

    def _bucket(self, group: bytes) -> _Bucket | None:
        return self._groups.get(group) or self._new.get(group)


def _quiet(bucket: _Bucket, size_bytes: int) -> bool:
    """Whether a group has caused little work for minutes, and its next record causes little."""
    return bucket.recent <= LIGHT_S and size_bytes <= QUIET_BYTES


def _keep(buckets: dict[bytes, _Bucket], group: bytes, bucket: _Bucket) -> None:
    buckets[group] = bucket
    if len(buckets) > GROUPS_MAX:
        del buckets[next(iter(buckets))]
