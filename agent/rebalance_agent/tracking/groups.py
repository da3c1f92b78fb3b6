"""The states of all groups known from records, polls or reports, with their deadlines and changed views."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from rebalance_agent.model.episode import Source
from rebalance_agent.model.epoch_groups import StreamsTopology
from rebalance_agent.model.events import Event
from rebalance_agent.model.group import DeadLetterQueue
from rebalance_agent.tracking.classic.state import ClassicState
from rebalance_agent.tracking.deadlines import Deadlines
from rebalance_agent.tracking.described.described_state import DescribedState
from rebalance_agent.tracking.epoch.state import EpochState
from rebalance_agent.tracking.observations import DescribedGroup
from rebalance_agent.tracking.rebalance.episodes.group_episodes import REVISE_MAX_MS
from rebalance_agent.tracking.rebalance.group_history import GroupHistory
from rebalance_agent.tracking.tracker_context import TrackerContext

__all__ = [
    "LATE_MAX_MS",
    "UNKNOWN_GROUPS_MAX",
    "UNKNOWN_NAME_BYTES_MAX",
    "GroupStates",
    "ObservationError",
    "State",
]

LATE_MAX_MS = 60_000
"""Due work is done as of its deadline, but no more than this long (ms) ago, since the clock may jump by years."""

UNKNOWN_GROUPS_MAX = 10_000
"""Maximum number of groups without a record, known only from polls or reports; further groups wait for their first
record."""

UNKNOWN_NAME_BYTES_MAX = 4 << 20
"""Maximum number of bytes of these groups' names, four for each character: a name in a report may have 65,536
characters."""

State = ClassicState | DescribedState | EpochState

_Fact = TypeVar("_Fact")


class _UnknownGroups:
    """The names of the groups without a record, bounded in number and in bytes."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._bytes = 0

    def add(self, name: str) -> bool:
        """Add a name; return False if a bound does not allow it."""
        size = 4 * len(name)
        if len(self._names) >= UNKNOWN_GROUPS_MAX or self._bytes + size > UNKNOWN_NAME_BYTES_MAX:
            return False
        self._names.add(name)
        self._bytes += size
        return True

    def discard(self, name: str) -> None:
        """Remove a name, if it is contained."""
        if name in self._names:
            self._names.remove(name)
            self._bytes -= 4 * len(name)


class ObservationError(Exception):
    """An error ended the processing of an observation. ``events``: those that had resulted before it."""

    def __init__(self, events: tuple[Event, ...]) -> None:
        """``events``: in order."""
        super().__init__(
            f"an observation was not processed completely; it had resulted in {len(events)} events before the error"
        )
        self.events = events


class GroupStates:
    """The state of each group, by name. After changing a state, the caller must call `refresh`.

    ``backfilled``: partitions of the offsets topic that were read completely. ``rebalancing``: groups in a rebalance
    whose final record has not been read yet. ``changed``: groups whose view changed, appeared or disappeared; the
    caller clears it.
    """

    def __init__(self, context: TrackerContext) -> None:
        """Start without groups."""
        self.backfilled: frozenset[int] = frozenset()
        self.rebalancing: set[str] = set()
        self.changed: set[str] = set()
        self._context = context
        self._states: dict[str, State] = {}
        self._unknown = _UnknownGroups()
        self._deadlines = Deadlines()
        self._versions: dict[str, int] = {}
        self._unread: dict[int, set[str]] = {}

    def __len__(self) -> int:
        """Return the number of groups, with and without a view."""
        return len(self._states)

    def __iter__(self) -> Iterator[State]:
        """Iterate over a copy of the states, so that groups may be added and removed meanwhile."""
        return iter(list(self._states.values()))

    def get(self, name: str) -> State | None:
        """Return the group's state; None if there is none."""
        return self._states.get(name)

    def known(self) -> Iterable[str]:
        """Yield the names of the groups that have a view."""
        return (name for name, state in self._states.items() if state.known)

    def put(self, state: State) -> None:
        """Set the state of its group."""
        self._states[state.group] = state

    def get_or_create(self, name: str, now_ms: int) -> State | None:
        """Return the group's state; create it unless there are too many groups without a record, or their names."""
        state = self._states.get(name)
        if state is None and self._unknown.add(name):
            state = self._states[name] = ClassicState(name, self._context, now_ms)
        return state

    def refresh(self, state: State) -> None:
        """Update the set of changed views and the next deadline after a change of a state."""
        name = state.group
        if state.known:
            self._unknown.discard(name)
            if self._versions.get(name) != state.history.version:
                self._versions[name] = state.history.version
                self.changed.add(name)
        (self.rebalancing.add if state.rebalancing else self.rebalancing.discard)(name)
        self._deadlines.set(name, state.due_ms)
        self._context.state_budget.set(name, state.size_bytes)

    def set_dead_letter_queues(self, queues: Mapping[str, DeadLetterQueue | None]) -> None:
        """Set the dead letter queues of these groups; groups without a state are ignored."""
        self._put(queues, GroupHistory.set_dead_letter_queue)

    def set_topologies(self, topologies: Mapping[str, StreamsTopology | None]) -> None:
        """Set the topologies of these groups; groups without a state are ignored."""
        self._put(topologies, GroupHistory.set_topology)

    def _put(self, facts: Mapping[str, _Fact], put: Callable[[GroupHistory, _Fact], bool]) -> None:
        for name, fact in facts.items():
            if (state := self._states.get(name)) and put(state.history, fact):
                self.refresh(state)

    def mark_changed(self, name: str) -> None:
        """Record that the group's view changed."""
        self.changed.add(name)

    def forget(self, name: str) -> None:
        """Remove a group that is gone or owned by another observer."""
        state = self._states.pop(name)
        self._deadlines.drop(name)
        self._context.state_budget.drop(name)
        self.rebalancing.discard(name)
        self._unknown.discard(name)
        if self._versions.pop(name, None) is not None:
            self.changed.add(name)
        # Last, so that an error in it leaves no trace of the group.
        state.close()

    def vanish(self, name: str, version: int, now_ms: int) -> Iterator[Event]:
        """Remove a group that its coordinator no longer has, unless its view is newer than ``version``."""
        state = self._states.get(name)
        if state and state.known and not state.deletion and state.history.version == version:
            yield from self.settle(state, now_ms)

    def forget_outdated(self, described: DescribedGroup, asked_ms: int, now_ms: int) -> Iterator[Event]:
        """Drop a group known from leaders' frames if frames were missed: only descriptions show it from now on.

        A state from descriptions with epochs is also dropped if such descriptions are refused now.
        """
        state = self._states.get(described.group)
        if isinstance(state, ClassicState):
            state.led.describe(described, asked_ms, now_ms)
        if isinstance(state, ClassicState | DescribedState) and state.is_outdated(described, asked_ms):
            yield from self.settle(state, now_ms)

    def is_known(self, name: str) -> bool:
        """Whether anything besides descriptions without epochs shows the group."""
        state = self._states.get(name)
        return state is not None and state.known

    def forget_unlisted(self, listed: Collection[str], now_ms: int) -> Iterator[Event]:
        """Drop groups that are known from leaders' frames and not ``listed``, since no frame shows a deletion."""
        for state in list(self):
            by_frames = state.last is not None and state.last.source is Source.FRAMES
            if by_frames and state.group not in listed:
                yield from self.settle(state, now_ms)

    def settle(self, state: State, now_ms: int) -> Iterator[Event]:
        """Settle the episodes of a group, and remove the group."""
        yield from state.settle(now_ms)
        self.forget(state.group)

    # Partitions of the offsets topic

    def own(self, partitions: frozenset[int], of: int) -> None:
        """Drop the groups of other partitions. The owned partitions may be read again from now on.

        ``of``: the partition count of the offsets topic.
        """
        self._unread = {}
        for state in self:
            partition = offsets_partition(state.group, of)
            if partition not in partitions:
                self.forget(state.group)
            elif state.known:
                self._unread.setdefault(partition, set()).add(state.group)

    def mark_read(self, name: str, partition: int) -> None:
        """Note that a record of the group was read."""
        self._unread.get(partition, set()).discard(name)

    def unread(self, partitions: Iterable[int]) -> list[str]:
        """Return, sorted, the groups that had a view at the last `own` and have had no record (`mark_read`) since."""
        return sorted(name for partition in partitions for name in self._unread.get(partition, ()))

    def delete(self, state: State, now_ms: int) -> Iterator[Event]:
        """End a group that was deleted and did not migrate to another type."""
        yield from state.delete(now_ms)
        self.forget(state.group)

    # Time

    def is_due(self, now_ms: int) -> bool:
        """Whether any group has work that is due by ``now_ms``."""
        return self._deadlines.first(now_ms) is not None

    def pass_time(self, now_ms: int, groups_max: int = sys.maxsize, bytes_max: int = sys.maxsize) -> Iterator[Event]:
        """Do the work due by ``now_ms`` for up to ``groups_max`` groups, earliest deadline first.

        The group with which the sizes of their states exceed ``bytes_max`` is the last one.

        Raises:
            ExceptionGroup: the processing of some groups failed; that of the others is done.
        """
        errors: list[Exception] = []
        size_bytes = 0
        for _ in range(groups_max):
            if size_bytes > bytes_max or (name := self._deadlines.first(now_ms)) is None:
                break
            size_bytes += self._context.state_budget.bytes_of(name)
            try:
                yield from self.catch_up(name, now_ms)
            except Exception as error:  # noqa: BLE001 - an error in one group must not end the work of all others
                self._deadlines.drop(name)
                errors.append(error)
        if errors:
            raise ExceptionGroup("the processing of some groups failed", errors)

    def catch_up(self, name: str, now_ms: int) -> Iterator[Event]:
        """Do one group's work that is due by ``now_ms``, each step as of its deadline."""
        while (due_ms := self._deadlines.due_ms(name)) is not None and due_ms <= now_ms:
            self._deadlines.drop(name)
            at_ms = max(due_ms, now_ms - LATE_MAX_MS)
            state = self._states[name]
            if state.deletion and at_ms >= state.deletion.due_ms:
                yield from self.delete(state, at_ms)
                continue
            yield from state.pass_time(at_ms)
            if self._has_no_records(state) and at_ms - state.history.first_seen_ms >= REVISE_MAX_MS:
                self.forget(name)
            else:
                self.refresh(state)

    def restart(self, latest_ms: int, now_ms: int) -> Iterator[Event]:
        """Handle a clock that was set back from ``latest_ms`` to ``now_ms``: pending work is done now."""
        self._deadlines.clear()
        for state in self:
            if state.deletion:
                yield from self.delete(state, now_ms)
            else:
                yield from state.restart(latest_ms, now_ms)
                self.refresh(state)

    def _has_no_records(self, state: State) -> bool:
        """Whether the group has no view for a reason other than that its partition is still being read."""
        return not state.known and (not isinstance(state, EpochState) or state.partition in self.backfilled)
