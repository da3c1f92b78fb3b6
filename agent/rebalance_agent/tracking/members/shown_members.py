"""The members of a group as its view shows them, with counts over all of them, updated member by member.

A group may have thousands of members with a record each, so the cost of a change depends on the member's own partitions
and topics, not on the group's size. Only the tuples of all members are copied for a view.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from rebalance_agent.model.group import Member, TaskKind
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.tracking.members.shared_counts import add_count
from rebalance_agent.tracking.views import MemberLoad

__all__ = ["ShownMembers"]


class ShownMembers:
    """The members of one group. Results are the same as if they were computed from all members at once."""

    def __init__(self, members: Iterable[Member] = ()) -> None:
        """Start with ``members``."""
        self._members: dict[str, Member] = {}
        self._ids: list[str] = []
        self._loads: dict[str, MemberLoad] = {}
        self._unloaded: set[str] = set()
        self._targets: Mapping[str, int] = {}
        self._owners: dict[str, Counter[int]] = {}
        self._subscribed: Counter[tuple[str, ...]] = Counter()
        self._unread: Counter[str] = Counter()
        self._timeouts_ms: Counter[int] = Counter()
        self._tasks = dict.fromkeys(TaskKind, 0)
        self._topics: frozenset[str] | None = None
        self._all: tuple[Member, ...] | None = None
        self._all_loads: tuple[MemberLoad, ...] | None = None
        self.static = 0
        for member in members:
            self.put(member)

    def put(self, member: Member) -> None:
        """Add a member, or replace the member with the same id."""
        name, old = member.member_id, self._members.get(member.member_id)
        if old == member:
            return
        if old is None:
            if self._ids and name < self._ids[-1]:
                insort(self._ids, name)
            else:
                self._ids.append(name)
        else:
            self._count(old, -1)
        self._members[name] = member
        self._unloaded.add(name)
        self._count(member, 1)

    def remove(self, member_id: str) -> None:
        """Remove the member with this id, if there is one."""
        if (old := self._members.pop(member_id, None)) is not None:
            del self._ids[bisect_left(self._ids, member_id)]
            self._loads.pop(member_id, None)
            self._unloaded.discard(member_id)
            self._count(old, -1)

    def aim(self, targets: Mapping[str, int]) -> None:
        """Set how many partitions the assignor aims to give each member, by id; None for members without an entry."""
        old, self._targets = self._targets, targets
        if old != targets:
            self._unloaded.update(name for name, load in self._loads.items() if load.target != targets.get(name))
            self._all_loads = None

    @property
    def members(self) -> tuple[Member, ...]:
        """All members, sorted by id; the same tuple until a member changes."""
        if self._all is None:
            self._all = tuple(map(self._members.__getitem__, self._ids))
        return self._all

    @property
    def loads(self) -> tuple[MemberLoad, ...]:
        """All members as a view shows them, sorted by id; the same tuple until a member changes."""
        if self._all_loads is None:
            loads = self._loads
            for name in self._unloaded:
                loads[name] = _load(self._members[name], self._targets.get(name))
            self._unloaded.clear()
            self._all_loads = tuple(map(loads.__getitem__, self._ids))
        return self._all_loads

    @property
    def topics(self) -> AbstractSet[str]:
        """The topics that members subscribe to, or are assigned if their subscription cannot be read."""
        if self._topics is None:
            self._topics = frozenset[str]().union(*self._subscribed, self._unread)
        return self._topics

    @property
    def assigned_counts(self) -> dict[str, int]:
        """The lowest possible partition count of each assigned topic: its highest assigned number plus one."""
        return {topic: max(numbers) + 1 for topic, numbers in self._owners.items()}

    def served(self, sizes: Mapping[str, int]) -> int:
        """Return how many of the partitions of topics with these ``sizes`` (partition counts) have an owner."""
        return sum(
            len(numbers) if max(numbers) < size else sum(number < size for number in numbers)
            for topic, size in sizes.items()
            if (numbers := self._owners.get(topic))
        )

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the members (ms); -1 if unknown, 0 without members."""
        return max(self._timeouts_ms, default=0)

    @property
    def streams_tasks(self) -> dict[TaskKind, int]:
        """The number of tasks of each kind (streams groups)."""
        return dict(self._tasks)

    def _count(self, member: Member, by: int) -> None:
        self._all = self._all_loads = None
        self.static += by * (member.instance_id is not None)
        add_count(self._timeouts_ms, member.rebalance_timeout_ms, by)
        for kind, tasks in member.streams.tasks.items() if member.streams else ():
            self._tasks[kind] += by * count_partitions(tasks)
        if member.subscription is not None:
            changed = add_count(self._subscribed, member.subscription.topics, by)
        else:
            changed = bool([topic for topic in member.assigned if add_count(self._unread, topic, by)])
        if changed:
            self._topics = None
        for topic, numbers in member.assigned.items():
            owners = self._owners.setdefault(topic, Counter())
            for number in numbers:
                add_count(owners, number, by)
            if not owners:
                del self._owners[topic]


def _load(member: Member, target: int | None) -> MemberLoad:
    topics = member.subscription.topics if member.subscription else None
    return MemberLoad(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.assigned,
        target,
        topics,
        streams=member.streams,
    )
