"""The groups that records, polls or members told of: each one's state, what is due when, and whose view changed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from rebalance_agent.model.events import Event
from rebalance_agent.tracking.classic.state import ClassicState
from rebalance_agent.tracking.deadlines import Deadlines
from rebalance_agent.tracking.epoch.state import EpochState
from rebalance_agent.tracking.rebalance.episodes import REVISE_MAX_MS
from rebalance_agent.tracking.tracker_context import TrackerContext

__all__ = ["LATE_MAX_MS", "UNKNOWN_GROUPS_MAX", "GroupStates", "State"]

LATE_MAX_MS = 60_000
"""What is due is done as of when it was due, but not as of earlier than this: time may jump by years, step by step."""

UNKNOWN_GROUPS_MAX = 10_000
"""Groups heard of without a record of theirs yet; beyond it they are not remembered until there is one."""

State = ClassicState | EpochState


class GroupStates:
    """States by the groups' names. Whoever changed one calls `follow`.

    ``backfilled``: partitions of the offsets topic that have been read as a whole. ``rebalancing``: groups that polls
    showed so. ``changed``: those whose view changed, appeared or went, until somebody takes them.
    """

    def __init__(self, around: TrackerContext) -> None:
        """Begin with no group."""
        self.backfilled: frozenset[int] = frozenset()
        self.rebalancing: set[str] = set()
        self.changed: set[str] = set()
        self._around = around
        self._states: dict[str, State] = {}
        self._unknown: set[str] = set()
        self._deadlines = Deadlines()
        self._versions: dict[str, int] = {}
        self._unread: dict[int, set[str]] = {}

    def __len__(self) -> int:
        """How many there are, known or not."""
        return len(self._states)

    def __iter__(self) -> Iterator[State]:
        """All states, also while they come and go."""
        return iter(list(self._states.values()))

    def get(self, name: str) -> State | None:
        """The group's state; None where nothing was heard of it."""
        return self._states.get(name)

    def known(self) -> Iterable[str]:
        """The names of those that have a view."""
        return (name for name, state in self._states.items() if state.known)

    def put(self, state: State) -> None:
        """From now on the group is in this state."""
        self._states[state.group] = state

    def hear_of(self, name: str, now_ms: int) -> State | None:
        """The group's state, made if there is room for one more group without a record."""
        state = self._states.get(name)
        if state is None and len(self._unknown) < UNKNOWN_GROUPS_MAX:
            state = self._states[name] = ClassicState(name, self._around, now_ms)
            self._unknown.add(name)
        return state

    def follow(self, state: State) -> None:
        """After anything that may have changed a group: note its view's change and its next deadline."""
        name = state.group
        if state.known:
            self._unknown.discard(name)
            if self._versions.get(name) != state.version:
                self._versions[name] = state.version
                self.changed.add(name)
        (self.rebalancing.add if state.rebalancing else self.rebalancing.discard)(name)
        self._deadlines.set(name, state.due_ms)

    def note(self, name: str) -> None:
        """Its view changed, whoever draws it."""
        self.changed.add(name)

    def forget(self, name: str) -> None:
        """It is gone, or somebody else's."""
        self._states.pop(name).let_go()
        self._deadlines.drop(name)
        self.rebalancing.discard(name)
        self._unknown.discard(name)
        if self._versions.pop(name, None) is not None:
            self.changed.add(name)

    def vanish(self, name: str, version: int) -> None:
        """It is gone without a word, unless something was heard of it since it had this version."""
        state = self._states.get(name)
        if state and state.known and not state.parting and state.version == version:
            self.forget(name)

    # Partitions of the offsets topic

    def own(self, partitions: frozenset[int], of: int) -> None:
        """Those of other partitions than these are forgotten; the others' records may come again from now on."""
        self._unread = {}
        for state in self:
            partition = offsets_partition(state.group, of)
            if partition not in partitions:
                self.forget(state.group)
            elif state.known:
                self._unread.setdefault(partition, set()).add(state.group)

    def read(self, name: str, partition: int) -> None:
        """There is a record of it."""
        self._unread.get(partition, set()).discard(name)

    def unread(self, partitions: Iterable[int]) -> list[str]:
        """Those that were known before `own` and not `read` since; asked once of each partition."""
        return sorted(name for each in partitions for name in self._unread.get(each, ()))

    def part(self, state: State, now_ms: int) -> Iterator[Event]:
        """It was deleted, and did not go on as a group of another type."""
        yield from state.part(now_ms)
        self.forget(state.group)

    # Time

    def is_due(self, now_ms: int) -> bool:
        """Whether any has something to do by then."""
        return self._deadlines.first(now_ms) is not None

    def pass_time(self, now_ms: int, most: int = sys.maxsize) -> Iterator[Event]:
        """Do what is due by now, for ``most`` groups, those first that wait longest."""
        for _ in range(most):
            if (name := self._deadlines.first(now_ms)) is None:
                return
            yield from self.catch_up(name, now_ms)

    def catch_up(self, name: str, now_ms: int) -> Iterator[Event]:
        """Do what one group has to do by now, each thing as of its time."""
        while (due_ms := self._deadlines.due_ms(name)) is not None and due_ms <= now_ms:
            self._deadlines.drop(name)
            at_ms = max(due_ms, now_ms - LATE_MAX_MS)
            state = self._states[name]
            if state.parting and at_ms >= state.parting.due_ms:
                yield from self.part(state, at_ms)
                continue
            yield from state.pass_time(at_ms)
            if self._is_hearsay(state) and at_ms - state.first_seen_ms >= REVISE_MAX_MS:
                self.forget(name)
            else:
                self.follow(state)

    def restart(self, latest_ms: int, now_ms: int) -> Iterator[Event]:
        """The clock was set back from ``latest_ms``: nothing may wait until it is again as late as it was."""
        self._deadlines.clear()
        for state in self:
            if state.parting:
                yield from self.part(state, now_ms)
            else:
                yield from state.restart(latest_ms, now_ms)
                self.follow(state)

    def _is_hearsay(self, state: State) -> bool:
        """Whether no record will tell of the group: it is not known, and not because all of it is yet to be read."""
        return not state.known and (isinstance(state, ClassicState) or state.partition in self.backfilled)
