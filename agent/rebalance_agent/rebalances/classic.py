"""The state machine of one classic group: records, polls and reports in, events and a view out.

A rebalance runs from the first sign of it (a poll that lists the group, the record of a new group) to its record;
`Episodes` takes it from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from rebalance_agent.model.episode import Evidence, FailureReason, Source
from rebalance_agent.model.events import AbortedEvent, Event, MemberEvent, event_id
from rebalance_agent.model.group import ClassicGroup, GroupState, GroupType
from rebalance_agent.rebalances.episodes import REVISE_MAX_MS
from rebalance_agent.rebalances.following import Following
from rebalance_agent.rebalances.generations import Episode, Generation, Window, infer_protocol, subscribed_topics
from rebalance_agent.rebalances.observations import GroupRecord, GroupsListed
from rebalance_agent.rebalances.portrait import draw
from rebalance_agent.rebalances.running import Running
from rebalance_agent.rebalances.surroundings import Surroundings
from rebalance_agent.rebalances.views import GroupView, RunningRebalance

__all__ = ["ABORTED_MAX", "ClassicState"]

ABORTED_MAX = 100
"""Missing generations reported for one record: beyond that the record is more likely wrong than the group that bad."""


class ClassicState(Following):
    """One group. Times handed in are the observer's."""

    def __init__(self, group: str, around: Surroundings, now_ms: int) -> None:
        """Begin without any record; until there is one, there is no view."""
        super().__init__(group, around, now_ms)
        self._last: Generation | None = None
        self._last_live = False
        self._at_last: tuple[ClassicGroup, ...] = ()
        self._sizes: Mapping[str, int] = {}
        self._running = Running()
        self._view: GroupView | None = None

    @property
    def known(self) -> bool:
        """Whether there has been a record."""
        return self._last is not None

    @property
    def rebalancing(self) -> bool:
        """Whether a rebalance has begun and has no record yet."""
        return bool(self._running)

    @property
    def due_ms(self) -> int:
        """When `pass_time` has something to do, at the latest."""
        times = (self._running.gone_due_ms, self._episodes.due_ms, self.forget_ms)
        return min(each for each in times if each is not None)

    def wants(self, topics: set[str]) -> bool:
        """Whether a member subscribes to one of these topics."""
        return self._last is not None and not topics.isdisjoint(subscribed_topics(self._last.value))

    def record(self, observation: GroupRecord, value: ClassicGroup) -> Iterator[Event]:
        """A record that is not a tombstone. One that is known already changes nothing."""
        if self._is_stale(observation.timestamp_ms, value):
            return
        before = self._last
        recreated = before is not None and value.generation < before.number
        if recreated and observation.live:
            yield from self._episodes.flush(observation.seen_ms)
        if recreated:
            before = None
        generation = self._generation(before, observation, value)
        if observation.live:
            yield from self._aborted(before, generation)
        self._become(generation, observation.live)
        if not observation.live:
            return
        if not value.members and value.generation == 0:
            window = Window(observation.timestamp_ms, observation.timestamp_ms, Evidence.RECORD)
            self._running.begin(GroupState.PREPARING_REBALANCE, window, None, self._log)
        elif before is None or generation.number != before.number or generation.returned:
            known = before is not None or recreated or value.generation <= 1
            yield from self._episodes.add(generation, Episode(before, known))
        self._count_stalled(observation.seen_ms)

    def tombstone(self, observation: GroupRecord) -> Iterator[Event]:
        """The group was deleted: what is not settled settles now. Nothing if it was created again since."""
        number = self._last.number if self._last else 0
        yield from self._deleted(observation.timestamp_ms, observation.seen_ms, number)

    def outlives(self, observation: GroupRecord) -> bool:
        """Whether a tombstone is older than what is known: a replay."""
        return self._last is not None and observation.timestamp_ms < self._last.timestamp_ms

    def list_rebalancing(self, state: GroupState, poll: GroupsListed) -> None:
        """A poll shows it in a rebalancing state, unless it speaks of the time before the last record."""
        if self._last is not None and poll.asked_ms <= self._last.seen_ms:
            return
        window = Window(self._around.polls.previous_ms(poll.asked_ms), poll.answered_ms, Evidence.LIST)
        if self._running.begin(state, window, self._last, self._log):
            self._count_stalled(poll.answered_ms)

    def list_settled(self, poll: GroupsListed) -> None:
        """A complete poll does not show it in a rebalancing state; its record should be on the way."""
        if self._last is None or poll.asked_ms > self._last.seen_ms:
            self._running.miss(poll.answered_ms + self._around.settle_ms)

    def report(self, event: MemberEvent, now_ms: int) -> None:
        """A member said something of itself."""
        if self._log.add(event, now_ms):
            self._episodes.report(now_ms)
            begins = self._ledger.expect_reports()
            if self._running.hear(event.member_id, self._last, self._log) or begins:
                self._count_stalled(now_ms)

    def resize(self, now_ms: int) -> None:
        """Topics that it subscribes to came, went or grew."""
        if self._last is not None:
            topics, wanted = self._around.topics, subscribed_topics(self._last.value)
            newer = now_ms > self._last.seen_ms
            self._sizes = topics.sizes(wanted) if newer else topics.sizes_in(wanted, self._last.value)
            self._portrait = None
            self._ledger.set_partitions(sum(self._sizes.values()), now_ms)
            self._count_stalled(now_ms)

    def pass_time(self, now_ms: int) -> Iterator[Event]:
        """Do what is due."""
        gone_due_ms = self._running.gone_due_ms
        if gone_due_ms is not None and now_ms >= gone_due_ms:
            # It came to nothing, or its record is lost to us: nothing is claimed of it.
            self._running.end()
            self._count_stalled(now_ms)
            if self._episodes.open is None:
                self._ledger.take_advance()
        had_open, shown = self._episodes.open, self._episodes.shown
        yield from self._episodes.pass_time(now_ms)
        if had_open is not self._episodes.open or shown is not self._episodes.shown:
            self._count_stalled(now_ms)
        if now_ms >= self.forget_ms:
            self._ledger.advance(now_ms)
            self._log.keep(
                (member.member_id for member in (self._last.members if self._last else ())), now_ms - REVISE_MAX_MS
            )

    def view(self) -> GroupView | None:
        """The group now; None before the first record."""
        if self._last is None:
            return None
        if self._view is None or self._view.version != self.version:
            self._view = self._draw(self._last)
        return self._view

    def _is_stale(self, timestamp_ms: int, value: ClassicGroup) -> bool:
        last = self._last
        if last is None or value.generation > last.number:
            return False
        if timestamp_ms == last.timestamp_ms and value.generation == last.number:
            return value in self._at_last
        return timestamp_ms <= last.timestamp_ms

    def _generation(self, before: Generation | None, observation: GroupRecord, value: ClassicGroup) -> Generation:
        generation = Generation(
            value=value,
            timestamp_ms=observation.timestamp_ms,
            seen_ms=observation.seen_ms,
            protocol=infer_protocol(before, value),
            topics=self._around.topics.sizes_in(subscribed_topics(value), value),
        )
        if before is not None and value.generation == before.number:
            return replace(generation, returned=_member_ids(before.value) != _member_ids(value))
        generation = replace(generation, joined_ms=_joined_ms(before, observation.timestamp_ms, value))
        return replace(generation, start=self._start(before, generation)) if observation.live else generation

    def _start(self, before: Generation | None, generation: Generation) -> Window | None:
        offset_ms = self._around.offset.ms
        until_ms = generation.timestamp_ms if generation.joined_ms is None else generation.joined_ms
        window = self._running.window(offset_ms) or self._around.polls.unlisted_start(until_ms, offset_ms)
        if window is None:
            return None
        earliest_ms = max(window.earliest_ms, before.timestamp_ms) if before else window.earliest_ms
        latest_ms = min(max(window.latest_ms, earliest_ms), until_ms)
        return Window(min(earliest_ms, latest_ms), latest_ms, window.evidence)

    def _aborted(self, before: Generation | None, generation: Generation) -> Iterator[AbortedEvent]:
        missing = generation.number - before.number - 1 if before and self._last_live else 0
        numbers = range(generation.number - max(0, min(missing, ABORTED_MAX)), generation.number)
        self._ledger.abort(len(numbers))
        cluster_id, at_ms = self._around.cluster_id, generation.timestamp_ms
        for number in numbers:
            identity = event_id(AbortedEvent.KIND, cluster_id, self.group, GroupType.CLASSIC, number, at_ms)
            yield AbortedEvent(
                identity,
                cluster_id,
                self.group,
                at_ms,
                Source.RECORDS,
                GroupType.CLASSIC,
                number,
                FailureReason.ABORTED,
            )

    def _become(self, generation: Generation, live: bool) -> None:
        last = self._last
        same_moment = last is not None and generation.timestamp_ms == last.timestamp_ms
        self._at_last = (*(self._at_last if same_moment else ()), generation.value)
        if last is None or generation.number != last.number:
            self._running.end()
        self._last, self._last_live, self._sizes = generation, live, generation.topics
        self._portrait = None
        self._ledger.set_partitions(sum(generation.topics.values()), generation.seen_ms)
        self.version += 1

    def _count_stalled(self, now_ms: int) -> None:
        """What stands still has changed, and so has the view."""
        self._ledger.set_stalled(self._stalled, now_ms)
        self.version += 1

    @property
    def _stalled(self) -> int:
        withheld = self._episodes.open.withheld if self._episodes.open else 0
        return min(self._running.stalled + withheld, sum(self._sizes.values()))

    def _draw(self, last: Generation) -> GroupView:
        state = self._running.state or (GroupState.STABLE if last.members else GroupState.EMPTY)
        if self._portrait is None:
            self._portrait = draw(
                replace(last, topics=self._sizes),
                state,
                self.version,
                self.first_seen_ms,
                sizes_known=self._around.topics.known,
            )
        return self._finish(self._portrait, state, self._running_rebalance())

    def _running_rebalance(self) -> RunningRebalance | None:
        started_ms = self._running.started_ms
        if self._episodes.open:
            first = self._episodes.open.generations[0]
            started_ms = first.start.earliest_ms if first.start else first.timestamp_ms
        return None if started_ms is None else RunningRebalance(started_ms, self._stalled)


def _joined_ms(before: Generation | None, timestamp_ms: int, value: ClassicGroup) -> int | None:
    """The end of the join phase, if the record's word for it can be true."""
    joined_ms = value.current_state_timestamp_ms
    if joined_ms < 0 or not value.members or (before is not None and joined_ms < before.timestamp_ms):
        return None
    return min(joined_ms, timestamp_ms)


def _member_ids(value: ClassicGroup) -> set[str]:
    return {member.member_id for member in value.members}
