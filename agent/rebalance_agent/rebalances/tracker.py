"""The pure tracker: every group of one cluster, told everything through one door.

Equal observations in equal order give equal events, byte for byte.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator

from rebalance_agent.model.events import AssignEvent, Event, MemberEvent
from rebalance_agent.model.group import GroupState
from rebalance_agent.rebalances.classic import ClassicState
from rebalance_agent.rebalances.episodes import REVISE_MAX_MS
from rebalance_agent.rebalances.epochs import EpochState
from rebalance_agent.rebalances.observations import (
    Backfilled,
    DescribedGroup,
    EpochRecord,
    GroupDescribed,
    GroupRecord,
    GroupsListed,
    MemberReported,
    Observation,
    Tick,
    TopicsSeen,
)
from rebalance_agent.rebalances.polled import PolledGroup
from rebalance_agent.rebalances.starts import ClockOffset, PollLog
from rebalance_agent.rebalances.surroundings import Surroundings
from rebalance_agent.rebalances.topics import TopicCatalogue
from rebalance_agent.rebalances.views import GroupView

__all__ = ["REBALANCING", "UNKNOWN_GROUPS_MAX", "Tracker"]

REBALANCING = frozenset({GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE})
"""The states in which a classic group rebalances."""

UNKNOWN_GROUPS_MAX = 10_000
"""Groups heard of without a record of theirs yet; beyond it they are not remembered until there is one."""


class Tracker:
    """Follows the groups of one cluster. Not thread-safe: one thread observes; its frozen views may be handed on."""

    def __init__(self, cluster_id: str, *, settle_ms: int = 5_000, list_period_ms: int = 250) -> None:
        """``settle_ms``: how long members' reports are waited for. ``list_period_ms``: how often GroupsListed comes."""
        self._around = Surroundings(cluster_id, settle_ms, PollLog(list_period_ms), ClockOffset(), TopicCatalogue())
        self._groups: dict[str, ClassicState | EpochState] = {}
        self._epoch_groups: dict[int, set[str]] = {}
        self._backfilled: frozenset[int] = frozenset()
        self._polled: dict[str, PolledGroup] = {}
        self._rebalancing: set[str] = set()
        self._unknown: set[str] = set()
        self._due: list[tuple[int, str]] = []
        self._scheduled: dict[str, int] = {}
        self._versions: dict[str, int] = {}
        self._changed: set[str] = set()

    def observe(self, observation: Observation) -> tuple[Event, ...]:
        """Take one observation; returns the events that follow, in the order in which they became certain."""
        now_ms = _time_of(observation)
        events = [*self._pass_time(now_ms)]
        match observation:
            case GroupRecord():
                events += self._record(observation)
            case EpochRecord():
                events += self._fact(observation)
            case Backfilled():
                self._complete(observation)
            case GroupsListed():
                self._list(observation)
            case GroupDescribed():
                self._describe(observation)
            case TopicsSeen():
                self._resize(observation)
            case MemberReported():
                self._report(observation.event, now_ms)
            case Tick():
                pass
        return tuple(events)

    def view(self, group: str) -> GroupView | None:
        """The group as it is known now; None for one that is not, or no longer."""
        if (state := self._groups.get(group)) and state.known:
            return state.view()
        polled = self._polled.get(group)
        return polled.view() if polled else None

    def groups(self) -> Collection[str]:
        """The names of all groups that have a view, sorted."""
        return sorted(self._polled.keys() | (self._groups.keys() - self._unknown))

    def changed(self) -> set[str]:
        """The groups whose view changed, appeared or went since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    # One group at a time

    def _record(self, record: GroupRecord) -> Iterator[Event]:
        state = self._groups.get(record.group)
        if isinstance(state, EpochState):
            if record.value is None or not state.gone:
                return
            state = None
        if record.value is None:
            if state and state.known and not state.outlives(record):
                yield from state.tombstone(record) if record.live else ()
                self._forget(record.group)
            return
        if record.live:
            self._around.offset.learn(record.timestamp_ms, record.seen_ms)
        if state is None:
            state = self._groups[record.group] = ClassicState(record.group, self._around, record.seen_ms)
        yield from state.record(record, record.value)
        self._polled.pop(record.group, None)
        self._unknown.discard(record.group)
        self._follow(state)

    def _fact(self, record: EpochRecord) -> Iterator[Event]:
        if record.live:
            self._around.offset.learn(record.timestamp_ms, record.seen_ms)
        state = self._groups.get(record.group)
        if not isinstance(state, EpochState) or state.group_type is not record.group_type:
            if record.value is None:
                return
            if state is not None:
                yield from state.flush(record.seen_ms)
                self._forget(record.group)
            state = EpochState(record.group, record.group_type, self._around, record.seen_ms)
            self._groups[record.group] = state
            self._epoch_groups.setdefault(record.partition, set()).add(record.group)
            if record.partition in self._backfilled:
                state.complete(record.seen_ms)
        yield from state.record(record)
        if state.gone:
            self._epoch_groups[record.partition].discard(record.group)
            self._forget(record.group)
            return
        if state.known:
            self._polled.pop(record.group, None)
            self._unknown.discard(record.group)
        self._follow(state)

    def _complete(self, backfilled: Backfilled) -> None:
        self._backfilled |= backfilled.partitions
        for partition in backfilled.partitions:
            for name in sorted(self._epoch_groups.get(partition, ())):
                state = self._groups.get(name)
                if isinstance(state, EpochState):
                    state.complete(backfilled.at_ms)
                    self._polled.pop(name, None)
                    self._follow(state)

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

    def _report(self, event: MemberEvent | AssignEvent, now_ms: int) -> None:
        if event.cluster_id in ("", self._around.cluster_id) and (state := self._state(event.group, now_ms)):
            if isinstance(event, AssignEvent):
                state.report_assign(event)
            else:
                state.report(event, now_ms)
            self._follow(state)

    def _state(self, group: str, now_ms: int) -> ClassicState | EpochState | None:
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
            yield from state.pass_time(now_ms)
            if not state.known and now_ms - state.first_seen_ms >= REVISE_MAX_MS:
                self._forget(name)
            else:
                self._follow(state)

    def _follow(self, state: ClassicState | EpochState) -> None:
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
        del self._groups[name]
        self._scheduled.pop(name, None)
        self._rebalancing.discard(name)
        self._unknown.discard(name)
        if self._versions.pop(name, None) is not None:
            self._changed.add(name)


def _time_of(observation: Observation) -> int:
    match observation:
        case GroupRecord() | EpochRecord():
            return observation.seen_ms
        case GroupsListed():
            return observation.answered_ms
        case _:
            return observation.at_ms
