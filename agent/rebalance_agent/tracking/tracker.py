"""The pure tracker of one cluster's groups: `Tracker.observe` processes observations and returns events.

The same observations in the same order give the same events, byte for byte. Due work is done as of the moment when it
was due, and before the tracker takes a later observation that could change its result. So neither the number of ticks
nor the amount of work per tick changes the events of a group.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator

from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from rebalance_agent.model.events import Event, GenerationEvent, MemberEvent
from rebalance_agent.model.group import GroupState
from rebalance_agent.model.reported.seat_event import SeatEvent
from rebalance_agent.tracking.classic.state import ClassicState
from rebalance_agent.tracking.cluster_topics import ClusterTopics
from rebalance_agent.tracking.described.polled_group import PolledGroup
from rebalance_agent.tracking.description_router import DescriptionRouter
from rebalance_agent.tracking.evidence.commits.read_times import ReadQuestion
from rebalance_agent.tracking.evidence.poll_evidence import OVERTAKEN_MAX_MS, ClockOffset, PollEvidence
from rebalance_agent.tracking.groups import GroupStates, ObservationError
from rebalance_agent.tracking.memory.state_budget import UNBOUNDED, StateBudget
from rebalance_agent.tracking.observations import (
    Backfilled,
    CommitsSeen,
    DeadLetterQueuesSeen,
    EpochRecord,
    GroupDescribed,
    GroupRecord,
    GroupsListed,
    GroupVanished,
    LoadsSeen,
    MemberReported,
    Observation,
    PartitionsOwned,
    ReadsAppended,
    Tick,
    TopicsSeen,
    TopologiesSeen,
)
from rebalance_agent.tracking.patterns.copartition import Copartitioned
from rebalance_agent.tracking.patterns.group_stalls import GroupStallLimits
from rebalance_agent.tracking.patterns.loads import GroupLoads
from rebalance_agent.tracking.record_router import RecordRouter
from rebalance_agent.tracking.tracker_context import TrackerContext, no_group
from rebalance_agent.tracking.views import GroupView

__all__ = ["DUE_BYTES", "DUE_MAX", "REBALANCING", "Tracker"]

REBALANCING = frozenset({GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE})
"""The states of a classic group that is rebalancing."""

DUE_MAX = 25
"""Maximum number of groups whose due work one `Tick` does, in about 20 ms, so that records are read in between."""
DUE_BYTES = 2_000_000
"""The group with which the sizes of these groups' states exceed this is the last one of a `Tick`."""


class Tracker:
    """Tracks the groups of one cluster. Not thread-safe; its views are frozen and may be passed to other threads.

    `ReadsAppended` answers ``read_questions``; another thread may remove them (`popleft`). ``state_budget``: the memory
    of all groups' states, and the records that were refused to limit it. ``generations_before``: for each group, the
    generation before its first settled rebalance, which no event reports; the code that reads these generations removes
    them.
    """

    def __init__(
        self,
        cluster_id: str,
        *,
        settle_ms: int = 5_000,
        list_period_ms: int = 250,
        copartitioned: Copartitioned | None = None,
        may_be_empty: Callable[[str], bool] = no_group,
        stall_limits: GroupStallLimits | None = None,
        host_names: HostNames | None = None,
        state_bytes_max: int = UNBOUNDED,
    ) -> None:
        """Start without groups.

        ``settle_ms``: how long a closed episode waits for members' reports. ``list_period_ms``: period of the
        ListGroups polls (`GroupsListed`). ``copartitioned``: topics that are declared co-partitioned.
        ``may_be_empty``: the groups that may have no members on purpose. ``stall_limits``: when a group is
        stalled. ``host_names``: what counts as a member's host. ``state_bytes_max``: the `StateBudget`.
        """
        self._context = TrackerContext(
            cluster_id,
            settle_ms,
            PollEvidence(list_period_ms),
            ClockOffset(),
            ClusterTopics(),
            copartitioned or Copartitioned(),
            may_be_empty,
            stall_limits or GroupStallLimits(),
            host_names or HostNames(),
            state_bytes_max,
        )
        self.read_questions: deque[ReadQuestion] = self._context.commits.reads.unasked
        self.state_budget: StateBudget = self._context.state_budget
        self.generations_before: deque[GenerationEvent] = self._context.generations_before
        self._groups = GroupStates(self._context)
        self._polled: dict[str, PolledGroup] = {}
        self._descriptions = DescriptionRouter(self._groups, self._polled, self._context)
        self._router = RecordRouter(self._groups, self._polled, self._context, self._descriptions.drop_polled)
        self._latest_ms = 0
        self._loaded: set[str] = set()

    def observe(self, observation: Observation) -> tuple[Event, ...]:
        """Process one observation; return the resulting events, each group's in the order in which they became certain.

        A `Tick` does what is due, up to `DUE_MAX` groups or `DUE_BYTES` at a time: see `behind`.

        Raises:
            ObservationError: an error ended the processing; the exception contains the events until then.
        """
        events: list[Event] = []
        try:
            events.extend(self._observe(observation, _time_of(observation)))
        except Exception as error:
            raise ObservationError(tuple(events)) from error
        return tuple(events)

    @property
    def behind(self) -> bool:
        """Whether work that was due at the last `Tick` is left: the caller should send another `Tick` soon."""
        return self._groups.is_due(self._latest_ms)

    def view(self, group: str, *, judged: bool = True) -> GroupView | None:
        """Return the current view of a group; None if the group is unknown or gone.

        If ``judged`` is False, the view may lack its quality, which takes more than half of the time to build a view.
        """
        if (state := self._groups.get(group)) and state.known:
            return state.view(judged=judged)
        polled = self._polled.get(group)
        return polled.view() if polled else None

    def groups(self) -> Collection[str]:
        """Return the names of all groups that have a view, sorted."""
        return sorted({*self._polled, *self._groups.known()})

    def unsettled(self, group: str) -> bool:
        """Whether records of the group may still lead to events."""
        state = self._groups.get(group)
        return state is not None and state.unsettled

    def changed(self) -> set[str]:
        """Return the groups whose view changed, appeared or disappeared since the last call."""
        changed, self._groups.changed = self._groups.changed, set()
        return changed

    def _observe(self, observation: Observation, now_ms: int) -> Iterator[Event]:
        match observation:
            case GroupRecord() | EpochRecord():
                yield from self._groups.catch_up(observation.group, now_ms)
                self._context.coordinators.see(
                    observation.partition, observation.leader_epoch, observation.timestamp_ms
                )
                yield from self._router.record(observation)
            case Backfilled():
                yield from self._router.complete(observation)
            case PartitionsOwned():
                yield from self._groups.pass_time(now_ms)
                self._own(observation)
            case GroupsListed():
                yield from self._list(observation)
            case TopicsSeen():
                if self._context.topics.differs(observation.partitions, observation.ids):
                    yield from self._groups.pass_time(now_ms)
                self._resize(observation)
            case MemberReported():
                yield from self._groups.catch_up(observation.event.group, now_ms)
                self._report(observation, now_ms)
            case GroupDescribed() | GroupVanished():
                yield from self._descriptions.take(observation)
            case Tick():
                self._context.commits.pass_time(now_ms)
                yield from self._groups.pass_time(now_ms, DUE_MAX, DUE_BYTES)
                yield from self._check_clock(now_ms)
            case _:
                self._observe_eventless(observation)

    def _observe_eventless(self, observation: Observation) -> None:
        """Process an observation that never leads to events."""
        match observation:
            case LoadsSeen():
                self._load(observation)
            case DeadLetterQueuesSeen():
                self._groups.set_dead_letter_queues(observation.queues)
            case TopologiesSeen():
                self._groups.set_topologies(observation.topologies)
            case CommitsSeen():
                self._context.take_commits(observation.commits, observation.at_ms)
            case ReadsAppended():
                self._context.commits.reads.answer(observation.appended_ms)

    def _own(self, owned: PartitionsOwned) -> None:
        """Drop the groups of partitions that another observer owns now, without events."""
        self._groups.own(owned.partitions, owned.of)
        for name in list(self._polled):
            if offsets_partition(name, owned.of) not in owned.partitions:
                self._descriptions.drop_polled(name)
        self._groups.backfilled &= owned.partitions
        # Earlier polls did not ask for the groups of new partitions: a group's absence from them is not evidence.
        self._context.polls.forget()

    def _list(self, poll: GroupsListed) -> Iterator[Event]:
        self._context.outages.take(poll.asked_ms, poll.answered_ms, complete=poll.complete)
        offset_ms = self._context.offset.ms or 0
        self._context.commits.answers.take(poll.asked_ms - offset_ms, poll.answered_ms - offset_ms)
        rebalancing: set[str] = set()
        for listed in poll.groups:
            if listed.state in REBALANCING:
                rebalancing.add(listed.group)
            if polled := self._polled.get(listed.group):
                polled.list_state(listed.state, poll.answered_ms)
            elif listed.state in REBALANCING:
                yield from self._groups.catch_up(listed.group, poll.answered_ms)
                if isinstance(state := self._groups.get_or_create(listed.group, poll.answered_ms), ClassicState):
                    state.list_rebalancing(listed.state, poll)
                    self._groups.refresh(state)
        self._doubt_clock(poll)
        if poll.complete and (not poll.states or poll.states >= REBALANCING):
            yield from self._settle_unlisted(rebalancing, poll)
        if poll.complete and not poll.states:
            names = {listed.group for listed in poll.groups}
            for name in self._polled.keys() - names:
                self._descriptions.drop_polled(name)
            yield from self._groups.forget_unlisted(names, poll.answered_ms)

    def _doubt_clock(self, poll: GroupsListed) -> None:
        """Doubt the clock's offset if it jumped before the poll.

        Call it after the groups were processed, since the previous poll, before the jump, bounds the start of their
        rebalances.
        """
        if self._context.polls.clock_jumped(poll.asked_ms):
            self._context.offset.doubt()
        if not poll.complete:
            self._context.polls.fail(poll.answered_ms)

    def _settle_unlisted(self, rebalancing: set[str], poll: GroupsListed) -> Iterator[Event]:
        for name in sorted(self._groups.rebalancing - rebalancing):
            yield from self._groups.catch_up(name, poll.answered_ms)
            if isinstance(state := self._groups.get(name), ClassicState):
                state.list_settled(poll)
                self._groups.refresh(state)
        self._context.polls.add(poll.asked_ms, poll.answered_ms)

    def _resize(self, seen: TopicsSeen) -> None:
        if changed := self._context.topics.update(seen.at_ms, seen.partitions, seen.ids):
            for state in self._groups:
                if state.wants(changed):
                    state.resize(seen.at_ms)
                    self._groups.refresh(state)

    def _load(self, seen: LoadsSeen) -> None:
        for name in sorted(self._loaded | seen.groups.keys()):
            loads = seen.groups.get(name, GroupLoads())
            if state := self._groups.get(name):
                state.history.load(loads)
                self._groups.refresh(state)
            if polled := self._polled.get(name):
                polled.load(loads)
        self._loaded = set(seen.groups)

    def _report(self, report: MemberReported, now_ms: int) -> None:
        event = report.event
        if event.cluster_id not in ("", self._context.cluster_id):
            return
        if state := self._groups.get_or_create(event.group, now_ms):
            if isinstance(event, MemberEvent):
                (state.keep_report if report.past else state.report)(event, now_ms)
            elif isinstance(event, SeatEvent):
                (state.history.add_seat_report if report.past else state.report_seat)(event, now_ms)
            else:
                state.history.add_other_report(event, past=report.past)
            self._groups.refresh(state)

    def _check_clock(self, now_ms: int) -> Iterator[Event]:
        latest_ms, self._latest_ms = self._latest_ms, now_ms
        if now_ms < latest_ms - OVERTAKEN_MAX_MS:
            self._context.topics.set_back(now_ms)
            for polled in self._polled.values():
                polled.set_back(now_ms)
            yield from self._groups.restart(latest_ms, now_ms)


def _time_of(observation: Observation) -> int:
    match observation:
        case GroupRecord() | EpochRecord():
            return observation.seen_ms
        case GroupsListed():
            return observation.answered_ms
        case _:
            return observation.at_ms
