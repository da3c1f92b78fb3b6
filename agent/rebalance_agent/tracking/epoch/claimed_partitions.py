"""Bounds the partitions in the assignments of one group, over all its members.

Partitions cost time and memory in every later step. An assignment that does not fit is kept without its partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from rebalance_agent.model.epoch_groups import CurrentAssignment, EpochFact, MemberTarget
from rebalance_agent.model.partitions import CLAIMS_MAX, TopicPartitions, count_partitions

__all__ = ["ClaimedPartitions"]

_Assignment = CurrentAssignment | MemberTarget
_Key = tuple[type[EpochFact], str]


class ClaimedPartitions:
    """The number of partitions that are kept: those of current assignments, and separately those of targets."""

    def __init__(self) -> None:
        """Start without assignments."""
        self._sizes: dict[_Key, int] = {}
        self._totals: Counter[type[EpochFact]] = Counter()
        self._unread = set[str]()

    @property
    def unread(self) -> bool:
        """Whether a member's current assignment is kept without its partitions, so that the group's are not known.

        It stays so until each of these members has another record that fits.
        """
        return bool(self._unread)

    def has_read(self, member_id: str) -> bool:
        """Whether the member's current assignment is kept with its partitions."""
        return member_id not in self._unread

    def bounded(self, member_id: str, value: _Assignment, subtopologies: Mapping[str, tuple[str, ...]]) -> _Assignment:
        """Return a member's new assignment, without its partitions if they do not fit beside those of other members.

        ``subtopologies``: the topics of each subtopology of a streams group: a task has a partition of each of them.
        """
        kind = type(value)
        self.remove(kind, member_id)
        size = _size(value, subtopologies)
        if self._totals[kind] + size <= CLAIMS_MAX:
            self._sizes[kind, member_id] = size
            self._totals[kind] += size
            return value
        if isinstance(value, MemberTarget):
            return MemberTarget({})
        self._unread.add(member_id)
        return replace(value, assigned={}, revoking={}, standbys={}, warmups={}, assigned_in={})

    def remove(self, kind: type[EpochFact], member_id: str) -> None:
        """Remove a member's assignment of this kind."""
        self._totals[kind] -= self._sizes.pop((kind, member_id), 0)
        if kind is CurrentAssignment:
            self._unread.discard(member_id)


def _size(value: _Assignment, subtopologies: Mapping[str, tuple[str, ...]]) -> int:
    lists: tuple[TopicPartitions, ...] = (value.assigned,)
    if isinstance(value, CurrentAssignment):
        lists = value.assigned, value.revoking
    read = sum(len(numbers) * len(subtopologies.get(key, (key,))) for each in lists for key, numbers in each.items())
    return read + count_partitions(value.standbys) + count_partitions(value.warmups)
