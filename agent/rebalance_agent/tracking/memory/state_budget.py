"""Bounds the memory of all groups' states together, so that invented groups cannot exhaust the observer's memory.

Above the budget, new groups share another quarter of it. If a record needs more, it is treated like one from before the
observer started: the group's members and partitions are shown, but no rebalance is reported. Groups that were known
before, or that commit, are not affected. A group commits in this sense if it goes on to commit (`COMMITTING_MS`): an
invented group can commit once.

Above 125 % of the budget, larger generations of groups that do not commit are refused, including groups that are known
only from descriptions. Invented groups can commit, too: above 120 %, a group that commits may only grow to
`SMALL_BYTES`, and to `GROWTH` times its size within the budget. A new group is shown if other groups can be removed for
it (`displaced`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from rebalance_agent.model.group import GroupSnapshot, Member, TaskKind
from rebalance_agent.model.partitions import TopicPartitions, count_partitions
from rebalance_agent.tracking.memory.recent_names import RecentNames
from rebalance_agent.tracking.observations import DescribedGroup

__all__ = [
    "ACTIVE_TASK_BYTES",
    "AWAITED_BYTES",
    "COMMITTING_MS",
    "DISPLACED_DOWN_TO",
    "GROUP_BYTES",
    "NAME_BYTES",
    "NEW_GROUPS_UP_TO",
    "UNBOUNDED",
    "StateBudget",
    "described_bytes",
    "state_bytes",
]

UNBOUNDED = 1 << 62
"""No limit, for replays; the observer's budget is its setting ``max_state_bytes``."""

COMMITTING_MS = 60_000
"""Shortest time (ms) between two commits of a group that counts as one that commits."""

NEW_GROUPS_UP_TO = 1.25
"""The multiple of the budget above which only groups that commit are tracked as usual."""

DISPLACED_DOWN_TO = 1.2
"""The multiple of the budget down to which groups are removed for a new group, and up to which a group that commits may
grow. Many are removed at once, because finding them requires a sort of all groups that exceeded the budget."""

GROWTH = 2
"""The multiple of its last size within the budget to which a group may grow beyond `DISPLACED_DOWN_TO`, since it does
not always keep the same number of generations."""

SMALL_BYTES = 500_000
"""Bytes to which any group that commits may grow: those of an ordinary group in many rebalances."""

SEARCH_MS = 1_000
"""Shortest time (ms) between two searches for groups that have grown: each sorts all groups."""

GROUP_BYTES = 4_000
"""Bytes of a group's state without its generations."""

GENERATION_BYTES, MEMBER_BYTES, PARTITION_BYTES = 3_000, 1_300, 400
"""Bytes of a generation, of a member and of a partition, including derived data: stalls, moments, views, events."""

ACTIVE_TASK_BYTES = 250
"""Bytes of a task that a streams member runs: its number in the member's assignment and target, and its owner."""

TASK_BYTES = 40
"""Bytes of a task in a streams member's list of tasks, from which nothing is derived."""

NAME_BYTES = 60
"""Bytes of a name in a streams group's topology without its characters."""

AWAITED_BYTES = 450
"""Bytes of a partition whose first commit is awaited."""

REFUSED_MAX = 20_000
"""Maximum number of refused groups that are kept, since later records alone do not describe a consumer, share or
streams group."""


def state_bytes(value: GroupSnapshot) -> int:
    """Return the approximate memory (bytes) that one generation takes in its group's state.

    This includes its record, which may have names and user data of any length.
    """
    partitions = sum(count_partitions(member.assigned) for member in value.members)
    numbers = MEMBER_BYTES * len(value.members) + PARTITION_BYTES * partitions
    return GENERATION_BYTES + numbers + sum(map(_streams_bytes, value.members)) + value.size_bytes


def described_bytes(value: DescribedGroup) -> int:
    """Return the approximate memory (bytes) that one description takes in its group's state.

    Each member has its own strings; in descriptions with epochs, also its subscription and its target assignment.
    """
    size = len(value.group)
    for load in value.members:
        names = load.member_id, load.instance_id or "", load.client_id, load.host
        size += MEMBER_BYTES + sum(map(len, names)) + _assignment_bytes(load.assigned)
    for each in value.epochs.members if value.epochs else ():
        topics = each.member.subscription.topics if each.member.subscription else ()
        size += MEMBER_BYTES + sum(map(len, topics)) + _assignment_bytes(each.target) + _streams_bytes(each.member)
    return size


def _streams_bytes(member: Member) -> int:
    if member.streams is None:
        return 0
    names = len(member.streams.process_id) + len(member.streams.endpoint or "")
    sizes = (
        (tasks, ACTIVE_TASK_BYTES if kind is TaskKind.ACTIVE else TASK_BYTES)
        for kind, tasks in member.streams.tasks.items()
    )
    return names + sum(_assignment_bytes(tasks, size) for tasks, size in sizes)


def _assignment_bytes(partitions: TopicPartitions | None, partition_bytes: int = PARTITION_BYTES) -> int:
    return partition_bytes * count_partitions(partitions) + sum(map(len, partitions)) if partitions else 0


class StateBudget:
    """The bytes of each group's state.

    ``unreported``, ``refused``: counts of records that were not processed as usual.
    """

    def __init__(self, committed_ms: Callable[[str], int], bytes_max: int = UNBOUNDED) -> None:
        """``committed_ms``: returns the milliseconds between the first and the last commit of the group with a name.

        ``bytes_max``: the budget.
        """
        self.size_bytes = 0
        self.unreported = self.refused = 0
        self._committed_ms = committed_ms
        self._bytes_max = bytes_max
        self._sizes: dict[str, int] = {}
        self._within: dict[str, int] = {}  # the last size of each group while the total was within the budget
        self._unknown: dict[str, None] = {}  # groups that came above the budget, in the order in which they came
        self._refused: dict[int, None] = {}  # hashes: a name may have 32 kB
        self._names = RecentNames()
        self._searched_ms = -SEARCH_MS

    def set(self, name: str, size_bytes: int) -> None:
        """Set the bytes of a group's state."""
        self.size_bytes += size_bytes - self._sizes.get(name, 0)
        self._sizes[name] = size_bytes
        if self.size_bytes < self._bytes_max:
            self._within[name] = size_bytes

    def bytes_of(self, name: str) -> int:
        """Return the bytes of a group's state; 0 if there is none."""
        return self._sizes.get(name, 0)

    def drop(self, name: str) -> None:
        """Remove a group that is gone."""
        self.size_bytes -= self._sizes.pop(name, 0)
        self._within.pop(name, None)
        self._unknown.pop(name, None)

    def admits(self, name: str, now_ms: int, size: Callable[[], int] = int, *, live: bool, whole: bool) -> bool:
        """Whether a group without a state gets one; ``live`` is False if its record is older than the observer.

        ``size``: returns the bytes of its first generation. ``whole``: the record contains the whole state of the
        group. Otherwise, a group that was refused once stays refused until it is deleted (`forgive`), since its later
        records would show only a part of it.
        """
        if self._has_room(name, size) and (whole or hash(name) not in self._refused):
            if live and self.size_bytes >= self._bytes_max:
                self._unknown[name] = None
            return True
        if not whole:
            self._keep_refused(name)
        self._refuse(name, now_ms)
        return False

    def displaced(self, now_ms: int) -> Iterator[str]:
        """Yield the groups to remove if there is no room for a new group; the caller drops each of them.

        First come groups that exceeded the budget and do not commit: large ones before small ones, and groups that
        committed more than once last; of equal groups, those that came first. So the groups of a flood are removed for
        a group that comes after it, even if they are never deleted. Then, at most every `SEARCH_MS`, come groups that
        have grown, the largest first.
        """
        if not self._full:
            return
        for name in [name for name in self._unknown if self._commits(name)]:
            del self._unknown[name]  # these are groups like others, so they are not looked at again
        grown = list[str]()
        if now_ms - self._searched_ms >= SEARCH_MS:
            self._searched_ms = now_ms
            grown = sorted(filter(self._grew, self._sizes), key=self._sizes.__getitem__, reverse=True)
        for name in itertools.chain(sorted(self._unknown, key=self._displaced_late), grown):
            if self.size_bytes < DISPLACED_DOWN_TO * self._bytes_max:
                return
            self._keep_refused(name)
            self._refuse(name, now_ms)
            yield name

    def outgrown(self, now_ms: int) -> Iterator[str]:
        """Yield the groups to remove since there is no room for the growth of known groups; as `displaced`.

        The records of consumer, share and streams groups are parts of their groups, so they are not refused.
        """
        if now_ms - self._searched_ms >= SEARCH_MS:
            yield from self.displaced(now_ms)

    def _displaced_late(self, name: str) -> tuple[bool, int]:
        return self._committed_ms(name) > 0, -(self._sizes.get(name, 0) // GROUP_BYTES)

    def _keep_refused(self, name: str) -> None:
        self._refused[hash(name)] = None
        if len(self._refused) > REFUSED_MAX:
            del self._refused[next(iter(self._refused))]

    def refuses(self, name: str, now_ms: int, before: Callable[[], int], size: Callable[[], int]) -> bool:
        """Whether a known group's record or description is refused: its state grows, and there is no room.

        ``before``, ``size``: return the bytes of the last and of this generation or description.
        """
        if self._has_room(name, size) or size() <= before():
            return False
        self._refuse(name, now_ms)
        return True

    def forgive(self, name: str) -> None:
        """Note that a group was deleted, so that its next records begin a new group."""
        self._refused.pop(hash(name), None)

    def reports(self, name: str, now_ms: int, size: Callable[[], int] = int) -> bool:
        """Whether the group's rebalances are reported; if they are not, count this rebalance and name the group.

        ``size``: returns the bytes of the rebalance's generation.
        """
        within = self.size_bytes < self._bytes_max
        commits = not within and self._commits(name)
        grown = self.size_bytes >= DISPLACED_DOWN_TO * self._bytes_max and self._grew(name)
        if within or (commits and not grown):
            self._unknown.pop(name, None)
            return True
        if not (commits or name in self._unknown or self._full):
            return True
        if not grown and self.size_bytes + size() < NEW_GROUPS_UP_TO * self._bytes_max:
            return True
        self.unreported += 1
        self._names.see(name, now_ms, lambda: name)
        return False

    def named(self, now_ms: int) -> list[str]:
        """Return the groups with records that were not processed as usual, as `RecentNames.names` does."""
        return self._names.names(now_ms)

    def _commits(self, name: str) -> bool:
        return self._committed_ms(name) >= COMMITTING_MS

    @property
    def _full(self) -> bool:
        return self.size_bytes >= NEW_GROUPS_UP_TO * self._bytes_max

    def _has_room(self, name: str, size: Callable[[], int]) -> bool:
        """Whether a group may get a generation of ``size`` bytes."""
        if self.size_bytes < self._bytes_max or not self._commits(name):
            return not self._full
        needed = size()
        return self.size_bytes + needed < DISPLACED_DOWN_TO * self._bytes_max or needed <= self._allowed(name)

    def _allowed(self, name: str) -> int:
        """Return the bytes that a group that commits may have if there is no room."""
        return max(SMALL_BYTES, GROWTH * self._within.get(name, 0))

    def _grew(self, name: str) -> bool:
        return self._sizes.get(name, 0) > self._allowed(name)

    def _refuse(self, name: str, now_ms: int) -> None:
        self.refused += 1
        self._names.see(name, now_ms, lambda: name)
