"""Follows moved partitions until they reach the end offset at which their new owner was first seen. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.tracking.lag.end_offsets import EndOffsets

__all__ = ["UNREAD_MAX", "CatchUp", "CatchUps", "Holders"]

UNREAD_MAX = 2
"""How far (offsets) below its target a partition counts as caught up: transaction markers have offsets, too, and some
consumers never commit past the last markers."""

Holders = Mapping[Partition, frozenset[str]]
"""Partition -> the identities (instance id, or else member id) of its owners; a redundant strategy has several."""


@dataclass(frozen=True, slots=True)
class CatchUp:
    """The partitions of a group that moved and are catching up.

    Times are lower bounds, too short by up to two measurements.

    A catch-up begins when partitions move while none is catching up, and ends when all have caught up; partitions that
    move in the meantime belong to it.

    ``partitions``: how many are catching up. ``moved``: how many moved in the current catch-up or, if it has ended, in
    the last one. ``seconds``: the longest catch-up of one of these; None before the first one. ``partition_seconds``:
    the sum over all partitions since measurement of the group began; it never decreases.
    """

    partitions: int = 0
    moved: int = 0
    seconds: float | None = None
    partition_seconds: float = 0.0


class _Behind(NamedTuple):
    """A partition that has been catching up since ``since`` (monotonic seconds), until ``target`` is committed."""

    target: int
    since: float


class CatchUps:
    """The partitions of one group that catch up, from one measurement to the next.

    A partition has moved if none of its owners owned it at the last measurement, and if it has a committed offset:
    without a committed offset, no backlog is due to the move. Its target is the end offset at the measurement that
    first shows its new owner. Its catch-up lasts from then until the measurement before the one that shows the target
    committed. So every counted second is certain, and a partition that is behind at only one measurement counts zero.
    """

    def __init__(self) -> None:
        """Start without owners: the first known owners are not moves."""
        self._holders: Holders | None = None
        self._behind: dict[Partition, _Behind] = {}
        self._at = 0.0
        self._moved = set[Partition]()
        self._seconds: float | None = None
        self._partition_seconds = 0.0

    def take(self, at: float, holders: Holders | None, committed: Mapping[Partition, int], ends: EndOffsets) -> CatchUp:
        """Process the owners and ``committed`` offsets at ``at`` (monotonic seconds), and return the catch-up.

        ``holders``: the owners; None while they are unknown, which counts as no change.

        A partition that moves again before it has caught up gets a new target and keeps its start, since it has been
        behind all the time. A partition without an owner or committed offset, or with a lower end offset than before
        (its topic was recreated), is dropped: the time counted so far stays.
        """
        before = self._holders
        self._holders = now = before if holders is None else holders
        behind = {} if now is None else self._still_behind(now, committed, ends)
        self._partition_seconds += len(behind) * (at - self._at)
        moved = {} if before is None or now is None or now is before else _targets(before, now, committed, ends)
        if moved and not behind:
            self._moved, self._seconds = set(), 0.0
        self._moved |= moved.keys()
        for partition, target in moved.items():
            if _is_behind(committed[partition], target, target):
                since = behind[partition].since if partition in behind else at
                behind[partition] = _Behind(target, since)
        self._behind, self._at = behind, at
        for catching_up in behind.values():
            self._seconds = max(self._seconds or 0.0, at - catching_up.since)
        return CatchUp(len(behind), len(self._moved), self._seconds, self._partition_seconds)

    def _still_behind(
        self, now: Holders, committed: Mapping[Partition, int], ends: EndOffsets
    ) -> dict[Partition, _Behind]:
        return {
            partition: catching_up
            for partition, catching_up in self._behind.items()
            if partition in now and _is_behind(committed.get(partition), catching_up.target, ends.end(partition))
        }


def _is_behind(offset: int | None, target: int, end: int | None) -> bool:
    fallen = end is not None and end < target
    return offset is not None and offset < target - UNREAD_MAX and not fallen


def _targets(
    before: Holders, now: Holders, committed: Mapping[Partition, int], ends: EndOffsets
) -> dict[Partition, int]:
    """Return the end offsets of the partitions that moved, as far as they are known."""
    nobody = frozenset[str]()
    return {
        partition: end
        for partition, names in now.items()
        if names.isdisjoint(before.get(partition, nobody))
        and partition in committed
        and (end := ends.end(partition)) is not None
    }
