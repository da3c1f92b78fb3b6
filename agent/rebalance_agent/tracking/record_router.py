"""Records of the offsets topic into the states of their groups: of whichever type, in whichever order they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rebalance_agent.model.events import Event
from rebalance_agent.tracking.classic.state import ClassicState
from rebalance_agent.tracking.epoch.state import EpochState
from rebalance_agent.tracking.groups import GroupStates, State
from rebalance_agent.tracking.observations import Backfilled, EpochRecord, GroupRecord
from rebalance_agent.tracking.polled_groups import PolledGroups
from rebalance_agent.tracking.tracked_group import GroupParting
from rebalance_agent.tracking.tracker_context import TrackerContext

__all__ = ["RecordRouter"]


class RecordRouter:
    """Finds or makes the state that a record is for, and tells it."""

    def __init__(self, groups: GroupStates, polled: PolledGroups, around: TrackerContext) -> None:
        """Of ``groups``; what polls told of one counts until there are records of it."""
        self._groups, self._polled, self._around = groups, polled, around

    def record(self, record: GroupRecord | EpochRecord) -> Iterator[Event]:
        """Take one record in; the events that follow."""
        self._groups.read(record.group, record.partition)
        if record.live and not record.replayed:
            self._around.offset.learn(record.timestamp_ms, record.seen_ms)
        state = self._groups.get(record.group)
        if state and record.live and record.replayed and 0 <= record.offset <= state.offset:
            return  # the tail started over: this has been observed
        if state and state.parting and record.value is not None and not _goes_on(state.parting, state, record):
            if record.timestamp_ms < state.parting.timestamp_ms:
                return
            yield from self._groups.part(state, record.seen_ms)
            state = None
        if state is None or state.group_type is not record.group_type:
            # A type's last records may be read late: what the group is since then counts.
            if record.value is None or (state and record.timestamp_ms < state.timestamp_ms):
                return
            state = self._begin(record, state)
        state.offset = max(state.offset, record.offset)
        yield from _told(state, record)
        if state.gone:
            self._groups.forget(record.group)
        else:
            self._follow(state)

    def _follow(self, state: State) -> None:
        """Where records tell of a group, what polls told of it does not count any more."""
        if state.known:
            self._polled.replace(state.group)
        self._groups.follow(state)

    def _begin(self, record: GroupRecord | EpochRecord, before: State | None) -> State:
        """The group's state from this record on; ``before`` is what it was as a group of another type."""
        name, now_ms, around = record.group, record.seen_ms, self._around
        state: State
        if isinstance(record, GroupRecord):
            state = ClassicState(name, around, now_ms, before)
        else:
            state = EpochState(name, record.group_type, record.partition, around, now_ms, before)
            # What a group becomes under our eyes is written as a whole.
            if record.partition in self._groups.backfilled or (before and before.known and record.live):
                state.complete(now_ms)
        self._groups.put(state)
        return state

    def complete(self, backfilled: Backfilled) -> Iterator[Event]:
        """All that these partitions hold was read: groups of many records are known now, what has none is gone."""
        self._groups.backfilled |= backfilled.partitions
        for name in self._groups.unread(backfilled.partitions) if backfilled.anew else ():
            yield from self._groups.catch_up(name, backfilled.at_ms)
            if (gone := self._groups.get(name)) and not gone.parting:
                self._groups.forget(name)  # without a word, as there was none to be read
        for state in self._groups:
            if isinstance(state, EpochState) and state.partition in backfilled.partitions:
                yield from self._groups.catch_up(state.group, backfilled.at_ms)
                yield from self._complete_one(state, backfilled.at_ms)

    def _complete_one(self, state: EpochState, now_ms: int) -> Iterator[Event]:
        """All that a group had was read; what it did meanwhile, if it was created meanwhile, is told now."""
        early = state.early
        if early:
            state = EpochState(state.group, state.group_type, state.partition, self._around, now_ms, state)
            self._groups.put(state)
        state.complete(now_ms)
        for record in early:
            yield from self.record(record)
        self._follow(state)


def _goes_on(parting: GroupParting, state: State, record: GroupRecord | EpochRecord) -> bool:
    """Whether a group that was deleted as one type is written as another with the same stroke."""
    return record.timestamp_ms == parting.timestamp_ms and record.group_type is not state.group_type


def _told(state: State, record: GroupRecord | EpochRecord) -> Iterable[Event]:
    if isinstance(state, ClassicState):
        return state.record(record) if isinstance(record, GroupRecord) else ()
    return state.record(record) if isinstance(record, EpochRecord) else ()
