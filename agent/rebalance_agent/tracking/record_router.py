"""Passes records of the offsets topic to their groups' states, for all types of groups and in any reading order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from rebalance_agent.model.epoch_groups import GroupEpoch
from rebalance_agent.model.events import Event
from rebalance_agent.tracking.classic.state import ClassicState
from rebalance_agent.tracking.described.described_state import DescribedState
from rebalance_agent.tracking.described.polled_group import PolledGroup
from rebalance_agent.tracking.epoch.state import EpochState
from rebalance_agent.tracking.groups import GroupStates, State
from rebalance_agent.tracking.memory.state_budget import state_bytes
from rebalance_agent.tracking.observations import Backfilled, EpochRecord, GroupRecord
from rebalance_agent.tracking.tracked_group import PendingDeletion
from rebalance_agent.tracking.tracker_context import TrackerContext

__all__ = ["RecordRouter"]


class RecordRouter:
    """Finds or creates the state of a record's group and passes the record to it."""

    def __init__(
        self,
        groups: GroupStates,
        polled: dict[str, PolledGroup],
        context: TrackerContext,
        drop_polled: Callable[[str], None],
    ) -> None:
        """``groups``: the states. ``polled``: groups that only polls show. ``drop_polled``: removes one of these."""
        self._groups, self._polled, self._context, self._drop_polled = groups, polled, context, drop_polled

    def record(self, record: GroupRecord | EpochRecord) -> Iterator[Event]:
        """Process one record; yield the resulting events."""
        self._groups.mark_read(record.group, record.partition)
        if record.live and not record.replayed:
            self._learn_offset(record)
        state = self._state_of(record.group)
        if record.value is None and _is_deletion(record):
            self._context.state_budget.forgive(record.group)
        if state and record.live and record.replayed and 0 <= record.offset <= state.history.offset:
            return  # the tail was restarted: this record was observed before
        if state and state.deletion and record.value is not None and not _migrates(state.deletion, state, record):
            if record.timestamp_ms < state.deletion.timestamp_ms:
                return
            yield from self._groups.delete(state, record.seen_ms)
            state = None
        if state is None or state.group_type is not record.group_type:
            # The last records of the old type may be read after those of the new type: the newer type counts.
            if state and record.timestamp_ms < state.timestamp_ms:
                return
            if record.value is None or (state is None and not self._admits(record)):
                return
            state = self._begin(record, state)
        if self._grows(state, record):
            self._groups.forget(record.group)  # its view would show an older generation
        else:
            yield from self._take(state, record)

    def _state_of(self, group: str) -> State | None:
        """Return the group's state; drop a state from descriptions, since the topic can be read now."""
        state = self._groups.get(group)
        if not isinstance(state, DescribedState):
            return state
        self._groups.forget(group)
        return None

    def _take(self, state: State, record: GroupRecord | EpochRecord) -> Iterator[Event]:
        """Pass a record to the state of its group."""
        yield from _events(state, self._within_budget(state, record))
        state.history.offset, state.history.read_ms = max(state.history.offset, record.offset), record.seen_ms
        if state.gone:
            self._groups.forget(record.group)
            return
        self._refresh(state)
        if isinstance(record, EpochRecord):
            self._remove(self._context.state_budget.outgrown(record.seen_ms))

    def _learn_offset(self, record: GroupRecord | EpochRecord) -> None:
        """Measure, from a live record, the difference between the coordinators' clock and the observer's clock."""
        outage = self._context.outages.running
        self._context.offset.learn(record.timestamp_ms, record.seen_ms, outage=outage)
        if self._context.offset.ms is not None:
            self._context.outages.take_record(record.timestamp_ms + self._context.offset.ms, record.seen_ms)

    def _admits(self, record: GroupRecord | EpochRecord) -> bool:
        """Whether a group without a state gets one (`StateBudget`)."""
        self._remove(self._context.state_budget.displaced(record.seen_ms))
        whole = isinstance(record, GroupRecord)
        return self._context.state_budget.admits(
            record.group, record.seen_ms, lambda: _bytes(record), live=record.live, whole=whole
        )

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            if self._groups.get(name):
                self._groups.forget(name)
            else:
                self._drop_polled(name)

    def _grows(self, state: State, record: GroupRecord | EpochRecord) -> bool:
        """Whether a live generation of a classic group is refused since it is larger than the last (`StateBudget`)."""
        if not (isinstance(record, GroupRecord) and record.live and record.value is not None):
            return False
        last = state.last
        return self._context.state_budget.refuses(
            record.group, record.seen_ms, lambda: state_bytes(last.value) if last else 0, lambda: _bytes(record)
        )

    def _within_budget(self, state: State, record: GroupRecord | EpochRecord) -> GroupRecord | EpochRecord:
        """Return a classic group's record, marked as one from before the start if its rebalance is not to be reported.

        The next record after it may not follow it directly.
        """
        if not (isinstance(record, GroupRecord) and record.live and record.value is not None):
            return record
        history = state.history
        if not self._context.state_budget.reports(record.group, record.seen_ms, lambda: _bytes(record)):
            history.unreported += 1
            return replace(record, live=False)
        missing, history.unreported = history.unreported, 0
        return replace(record, skipped=record.skipped + missing) if missing else record

    def _refresh(self, state: State) -> None:
        """Record that a state changed. Once a group is known from records, its polled view is dropped."""
        if state.known:
            self._polled.pop(state.group, None)
        self._groups.refresh(state)

    def _begin(self, record: GroupRecord | EpochRecord, before: State | None) -> State:
        """Create the group's state for this record; ``before`` is its state as a group of another type, if any."""
        name, now_ms, context = record.group, record.seen_ms, self._context
        state: State
        if isinstance(record, GroupRecord):
            state = ClassicState(name, context, now_ms, before)
        else:
            state = EpochState(name, record.group_type, record.partition, context, now_ms, before)
            # A group that migrates while it is observed is written completely, in one batch.
            if record.partition in self._groups.backfilled or (before and before.known and record.live):
                state.complete(now_ms)
        self._groups.put(state)
        return state

    def complete(self, backfilled: Backfilled) -> Iterator[Event]:
        """Complete epoch groups and drop groups without a record, after partitions were read to their end."""
        self._groups.backfilled |= backfilled.partitions
        for name in self._groups.unread(backfilled.partitions) if backfilled.anew else ():
            yield from self._groups.catch_up(name, backfilled.at_ms)
            if (gone := self._groups.get(name)) and not gone.deletion:
                self._groups.forget(name)  # without an event: no tombstone was read
        for state in self._groups:
            if isinstance(state, EpochState) and state.partition in backfilled.partitions:
                yield from self._groups.catch_up(state.group, backfilled.at_ms)
                yield from self._complete_one(state, backfilled.at_ms)

    def _complete_one(self, state: EpochState, now_ms: int) -> Iterator[Event]:
        """Complete a group whose records were all read; if it was created meanwhile, replay buffered ones as live."""
        buffered = state.buffered
        if buffered:
            state = EpochState(state.group, state.group_type, state.partition, self._context, now_ms, state)
            self._groups.put(state)
        state.complete(now_ms)
        for record in buffered:
            yield from self.record(record)
        self._refresh(state)


def _bytes(record: GroupRecord | EpochRecord) -> int:
    """Return the memory of a record's generation; 0 if the record has only a part of its group."""
    return state_bytes(record.value) if isinstance(record, GroupRecord) and record.value else 0


def _migrates(deletion: PendingDeletion, state: State, record: GroupRecord | EpochRecord) -> bool:
    """Whether the record belongs to the batch that deleted the group, and writes the group as another type."""
    return record.timestamp_ms == deletion.timestamp_ms and record.group_type is not state.group_type


def _is_deletion(record: GroupRecord | EpochRecord) -> bool:
    """Whether a tombstone is that of the whole group."""
    return isinstance(record, GroupRecord) or record.kind is GroupEpoch


def _events(state: State, record: GroupRecord | EpochRecord) -> Iterable[Event]:
    if isinstance(state, ClassicState):
        return state.record(record) if isinstance(record, GroupRecord) else ()
    return state.record(record) if isinstance(state, EpochState) and isinstance(record, EpochRecord) else ()
