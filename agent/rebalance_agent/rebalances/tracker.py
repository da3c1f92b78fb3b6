"""The pure tracker: every group of one cluster, told everything through one door.

Equal observations in equal order give equal events, byte for byte.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator

from rebalance_agent.groupprotocol.placement import offsets_partition
from rebalance_agent.model.events import AssignEvent, Event
from rebalance_agent.model.group import GroupState
from rebalance_agent.rebalances.classic import ClassicState
from rebalance_agent.rebalances.copartition import Copartitioned
from rebalance_agent.rebalances.episodes import REVISE_MAX_MS
from rebalance_agent.rebalances.epochs import EpochState
from rebalance_agent.rebalances.following import Parting
from rebalance_agent.rebalances.loads import GroupLoads
from rebalance_agent.rebalances.observations import (
    Backfilled,
    DescribedGroup,
    EpochRecord,
    GroupDescribed,
    GroupRecord,
    GroupsListed,
    LoadsSeen,
    MemberReported,
    Observation,
    PartitionsOwned,
    Tick,
    TopicsSeen,
)
from rebalance_agent.rebalances.polled import PolledGroup
from rebalance_agent.rebalances.starts import OVERTAKEN_MAX_MS, ClockOffset, PollLog
from rebalance_agent.rebalances.surroundings import Surroundings
from rebalance_agent.rebalances.topics import TopicCatalogue
from rebalance_agent.rebalances.views import GroupView

__all__ = ["REBALANCING", "UNKNOWN_GROUPS_MAX", "Tracker"]

REBALANCING = frozenset({GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE})
"""The states in which a classic group rebalances."""

UNKNOWN_GROUPS_MAX = 10_000
"""Groups heard of without a record of theirs yet; beyond it they are not remembered until there is one."""


_State = ClassicState | EpochState


class Tracker:
    """Follows the groups of one cluster. Not thread-safe: one thread observes; its frozen views may be handed on."""

    def __init__(
        self,
        cluster_id: str,
        *,
        settle_ms: int = 5_000,
        list_period_ms: int = 250,
        copartitioned: Copartitioned | None = None,
    ) -> None:
        """``settle_ms``: how long members' reports are waited for. ``list_period_ms``: how often GroupsListed comes."""
        self._around = Surroundings(
            cluster_id,
            settle_ms,
            PollLog(list_period_ms),
            ClockOffset(),
            TopicCatalogue(),
            copartitioned or Copartitioned(),
        )
        self._groups: dict[str, _State] = {}
        self._backfilled: frozenset[int] = frozenset()
        self._polled: dict[str, PolledGroup] = {}
        self._rebalancing: set[str] = set()
        self._unknown: set[str] = set()
        self._due: list[tuple[int, str]] = []
        self._scheduled: dict[str, int] = {}
        self._latest_ms = 0
        self._versions: dict[str, int] = {}
        self._loaded: set[str] = set()
        self._changed: set[str] = set()

    def observe(self, observation: Observation) -> tuple[Event, ...]:
        """Take one observation; returns the events that follow, in the order in which they became certain."""
        now_ms = _time_of(observation)
        events = [*self._pass_time(now_ms)]
        match observation:
            case GroupRecord() | EpochRecord():
                events += self._record(observation)
            case Backfilled():
                self._complete(observation)
            case PartitionsOwned():
                self._own(observation)
            case GroupsListed():
                self._list(observation)
            case GroupDescribed():
                self._describe(observation)
            case TopicsSeen():
                self._resize(observation)
            case LoadsSeen():
                self._load(observation)
            case MemberReported():
                self._report(observation, now_ms)
            case Tick():
                events += self._see_clock(now_ms)
        return tuple(events)

    def view(self, group: str) -> GroupView | None:
        """The group as it is known now; None for one that is not, or no longer."""
        if (state := self._groups.get(group)) and state.known:
            return state.view()
        polled = self._polled.get(group)
        return polled.view() if polled else None

    def groups(self) -> Collection[str]:
        """The names of all groups that have a view, sorted."""
        return sorted(self._polled.keys() | {name for name, state in self._groups.items() if state.known})

    def unsettled(self, group: str) -> bool:
        """Whether records of the group have not led to all that will be said of them."""
        state = self._groups.get(group)
        return state is not None and state.unsettled

    def changed(self) -> set[str]:
        """The groups whose view changed, appeared or went since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    # One group at a time

    def _record(self, record: GroupRecord | EpochRecord) -> Iterator[Event]:
        if record.live and not record.replayed:
            self._around.offset.learn(record.timestamp_ms, record.seen_ms)
        state = self._groups.get(record.group)
        if state and record.live and record.replayed and 0 <= record.offset <= state.offset:
            return  # the tail started over: this has been observed
        if state and state.parting and record.value is not None and not _goes_on(state.parting, state, record):
            if record.timestamp_ms < state.parting.timestamp_ms:
                return
            yield from self._part(state, record.seen_ms)
            state = None
        if state is None or state.group_type is not record.group_type:
            # A type's last records may be read late: what the group is since then counts.
            if record.value is None or (state and record.timestamp_ms < state.timestamp_ms):
                return
            state = self._begin(record, state)
        state.offset = max(state.offset, record.offset)
        yield from _told(state, record)
        if state.gone:
            self._forget(record.group)
        else:
            self._known(state)

    def _known(self, state: _State) -> None:
        """Records tell of the group: what else was heard of it does not count any more."""
        if state.known:
            self._polled.pop(state.group, None)
            self._unknown.discard(state.group)
        self._follow(state)

    def _begin(self, record: GroupRecord | EpochRecord, before: _State | None) -> _State:
        """The group's state from this record on; ``before`` is what it was as a group of another type."""
        name, now_ms, around = record.group, record.seen_ms, self._around
        state: _State
        if isinstance(record, GroupRecord):
            state = ClassicState(name, around, now_ms, before)
        else:
            state = EpochState(name, record.group_type, record.partition, around, now_ms, before)
            # What a group becomes under our eyes is written as a whole.
            if record.partition in self._backfilled or (before and before.known and record.live):
                state.complete(now_ms)
        self._groups[name] = state
        return state

    def _part(self, state: _State, now_ms: int) -> Iterator[Event]:
        yield from state.part(now_ms)
        self._forget(state.group)

    def _complete(self, backfilled: Backfilled) -> None:
        self._backfilled |= backfilled.partitions
        for state in self._groups.values():
            if isinstance(state, EpochState) and state.partition in backfilled.partitions:
                state.complete(backfilled.at_ms)
                self._known(state)

    def _own(self, owned: PartitionsOwned) -> None:
        """Groups of other partitions are somebody else's now: they go without a word."""
        for name in [name for name in self._groups if offsets_partition(name, owned.of) not in owned.partitions]:
            self._forget(name)
        for name in [name for name in self._polled if offsets_partition(name, owned.of) not in owned.partitions]:
            del self._polled[name]
            self._changed.add(name)
        self._backfilled &= owned.partitions
        # Earlier polls were not asked about the groups that came with this: their silence means nothing.
        self._around.polls.forget()

    def _list(self, poll: GroupsListed) -> None:
        listed = {each.group: each for each in poll.groups}
        for name, each in listed.items():
            if polled := self._polled.get(name):
                if polled.list_state(each.state, poll.answered_ms):
                    self._changed.add(name)
            elif each.state in REBALANCING and isinstance(state := self._state(name, poll.answered_ms), ClassicState):
                state.list_rebalancing(each.state, poll)
                self._follow(state)
        if poll.complete and (not poll.states or poll.states >= REBALANCING):
            self._settle_unlisted({name for name, each in listed.items() if each.state in REBALANCING}, poll)
        if poll.complete and not poll.states:
            for name in self._polled.keys() - listed.keys():
                del self._polled[name]
                self._changed.add(name)

    def _settle_unlisted(self, rebalancing: set[str], poll: GroupsListed) -> None:
        for name in sorted(self._rebalancing - rebalancing):
            state = self._groups[name]
            if isinstance(state, ClassicState):
                state.list_settled(poll)
            self._follow(state)
        self._around.polls.add(poll.asked_ms)

    def _describe(self, observation: GroupDescribed) -> None:
        value: DescribedGroup = observation.value
        state, polled = self._groups.get(value.group), self._polled.get(value.group)
        if state and state.known:
            return
        if value.state is GroupState.DEAD:
            if self._polled.pop(value.group, None):
                self._changed.add(value.group)
        elif polled is None:
            self._polled[value.group] = PolledGroup(value, observation.at_ms)
            self._changed.add(value.group)
        elif polled.describe(value, observation.at_ms):
            self._changed.add(value.group)

    def _resize(self, seen: TopicsSeen) -> None:
        changed = self._around.topics.update(seen.at_ms, seen.partitions, seen.ids)
        if changed:
            for state in self._groups.values():
                if state.wants(changed):
                    state.resize(seen.at_ms)
                    self._follow(state)

    def _load(self, seen: LoadsSeen) -> None:
        for name in sorted(self._loaded | seen.groups.keys()):
            loads = seen.groups.get(name, GroupLoads())
            if state := self._groups.get(name):
                state.load(loads)
                self._follow(state)
            if (polled := self._polled.get(name)) and polled.load(loads):
                self._changed.add(name)
        self._loaded = set(seen.groups)

    def _report(self, report: MemberReported, now_ms: int) -> None:
        event = report.event
        if event.cluster_id in ("", self._around.cluster_id) and (state := self._state(event.group, now_ms)):
            if report.past:
                state.place(event, now_ms)
            elif isinstance(event, AssignEvent):
                state.report_assign(event)
            else:
                state.report(event, now_ms)
            self._follow(state)

    def _state(self, group: str, now_ms: int) -> _State | None:
        """The group's state, made if there is room for one more group without a record."""
        state = self._groups.get(group)
        if state is None and len(self._unknown) < UNKNOWN_GROUPS_MAX:
            state = self._groups[group] = ClassicState(group, self._around, now_ms)
            self._unknown.add(group)
        return state

    # Time

    def _pass_time(self, now_ms: int) -> Iterator[Event]:
        while self._due and self._due[0][0] <= now_ms:
            due_ms, name = heapq.heappop(self._due)
            if self._scheduled.get(name) != due_ms:
                continue
            del self._scheduled[name]
            state = self._groups[name]
            if state.parting and now_ms >= state.parting.due_ms:
                yield from self._part(state, now_ms)
                continue
            yield from state.pass_time(now_ms)
            if self._is_hearsay(state) and now_ms - state.first_seen_ms >= REVISE_MAX_MS:
                self._forget(name)
            else:
                self._follow(state)

    def _is_hearsay(self, state: _State) -> bool:
        """Whether no record will tell of the group: it is not known, and not because all of it is yet to be read."""
        return not state.known and (isinstance(state, ClassicState) or state.partition in self._backfilled)

    def _see_clock(self, now_ms: int) -> Iterator[Event]:
        """If the observer's clock was set back, nothing may wait until it is again as late as it was."""
        latest_ms, self._latest_ms = self._latest_ms, now_ms
        if now_ms >= latest_ms - OVERTAKEN_MAX_MS:
            return
        self._due.clear()
        self._scheduled.clear()
        for state in list(self._groups.values()):
            if state.parting:
                yield from self._part(state, now_ms)
            else:
                yield from state.restart(latest_ms, now_ms)
                self._follow(state)

    def _follow(self, state: _State) -> None:
        """After anything that may have changed a group: note its view's change and its next deadline."""
        name, due_ms = state.group, state.due_ms
        if state.known and self._versions.get(name) != state.version:
            self._versions[name] = state.version
            self._changed.add(name)
        (self._rebalancing.add if state.rebalancing else self._rebalancing.discard)(name)
        scheduled_ms = self._scheduled.get(name)
        if scheduled_ms is None or due_ms < scheduled_ms:
            self._scheduled[name] = due_ms
            heapq.heappush(self._due, (due_ms, name))

    def _forget(self, name: str) -> None:
        self._groups.pop(name).let_go()
        self._scheduled.pop(name, None)
        self._rebalancing.discard(name)
        self._unknown.discard(name)
        if self._versions.pop(name, None) is not None:
            self._changed.add(name)


def _goes_on(parting: Parting, state: _State, record: GroupRecord | EpochRecord) -> bool:
    """Whether a group that was deleted as one type is written as another with the same stroke."""
    return record.timestamp_ms == parting.timestamp_ms and record.group_type is not state.group_type


def _told(state: _State, record: GroupRecord | EpochRecord) -> Iterable[Event]:
    if isinstance(state, ClassicState):
        return state.record(record) if isinstance(record, GroupRecord) else ()
    return state.record(record) if isinstance(record, EpochRecord) else ()


def _time_of(observation: Observation) -> int:
    match observation:
        case GroupRecord() | EpochRecord():
            return observation.seen_ms
        case GroupsListed():
            return observation.answered_ms
        case _:
            return observation.at_ms
