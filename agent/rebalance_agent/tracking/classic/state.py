"""The state machine of one classic group: it takes records, polls and reports, and returns events and a view.

A rebalance lasts from its first evidence (a poll that lists the group, or the first record of a new group) until its
record is read and passed to `Episodes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from rebalance_agent.model.episode import Evidence, Source
from rebalance_agent.model.events import AbortedEvent, Event, MemberEvent
from rebalance_agent.model.group import GroupSnapshot, GroupState
from rebalance_agent.model.member_changes import identity, member_changes
from rebalance_agent.tracking.classic.aborted import aborted_events, cannot_follow, missing_between
from rebalance_agent.tracking.classic.duplicates import RecordDeduplicator
from rebalance_agent.tracking.classic.in_progress import UNKNOWN_MS, InProgress
from rebalance_agent.tracking.classic.led_group import LedGroup
from rebalance_agent.tracking.classic.protocol import infer_protocol
from rebalance_agent.tracking.classic.start_time import joined_ms, start
from rebalance_agent.tracking.classic.streams_tasks import classic_tasks
from rebalance_agent.tracking.completed_generation import Episode, Generation, subscribed_topics
from rebalance_agent.tracking.evidence.departures import departures
from rebalance_agent.tracking.evidence.known_times import TimeBounds
from rebalance_agent.tracking.evidence.last_seen import ClassicLastSeen
from rebalance_agent.tracking.evidence.owned_at_join import given_and_unowned
from rebalance_agent.tracking.members.shown_members import ShownMembers
from rebalance_agent.tracking.observations import DescribedGroup, GroupRecord, GroupsListed
from rebalance_agent.tracking.tracked_group import TrackedGroup
from rebalance_agent.tracking.tracker_context import TrackerContext
from rebalance_agent.tracking.views import GroupView, RunningRebalance

__all__ = ["ClassicState"]


class ClassicState(TrackedGroup):
    """The state of one classic group, by the observer's clock. ``led``: what descriptions show of the group."""

    def __init__(
        self, group: str, context: TrackerContext, now_ms: int, predecessor: TrackedGroup | None = None
    ) -> None:
        """Start without records; ``predecessor``: the state of the group as another type, if the group migrated."""
        super().__init__(group, context, now_ms, predecessor)
        self._origin = predecessor.last if predecessor else None
        self._migration_number = predecessor.number if predecessor else None
        self._last_live = False
        self.led = LedGroup()
        self._deduplicator = RecordDeduplicator()
        self._sizes: Mapping[str, int] = {}
        self._in_progress = InProgress()
        self._last_seen = ClassicLastSeen()

    @property
    def rebalancing(self) -> bool:
        """Whether a rebalance is in progress, without a record yet."""
        return bool(self._in_progress)

    @property
    def unsettled(self) -> bool:
        """Whether records of the group may still lead to events."""
        return self._episodes.unsettled or self.rebalancing or self.deletion is not None

    @property
    def due_ms(self) -> int:
        """The next deadline of `pass_time`."""
        gone_due_ms = self._in_progress.gone_due_ms
        return super().due_ms if gone_due_ms is None else min(gone_due_ms, super().due_ms)

    def wants(self, topics: set[str]) -> bool:
        """Whether a change of ``topics`` affects the group: it subscribes to one of them or has an unnamed topic id."""
        if self._unnamed or (self._origin and self._origin.unnamed):
            return True
        return self.last is not None and not topics.isdisjoint(subscribed_topics(self.last.value))

    def record(self, observation: GroupRecord) -> Iterator[Event]:
        """Process a record of this group; ignore duplicates and outdated records."""
        value = observation.value
        if value is None:
            exists = self.deletion is None and self.last is not None
            if exists and not self._deduplicator.is_older(observation):
                self._tombstone(observation.timestamp_ms, observation.seen_ms, live=observation.live)
        elif not self._deduplicator.is_stale(observation, value):
            yield from self._take(observation, value)

    def _take(self, observation: GroupRecord, value: GroupSnapshot) -> Iterator[Event]:
        last = self.last
        recreated = last is not None and value.generation < last.number
        if last is not None and (recreated or cannot_follow(last, observation.timestamp_ms, value)):
            if observation.live:
                yield from self._episodes.flush(observation.seen_ms)
            last = self._origin = None
        before = self._origin or last
        generation = self._generation(before, observation, value)
        after_gap = self._may_miss_records(observation)
        if observation.live and not after_gap:
            yield from self._aborted(last, generation, observation)
        converted = last is None and bool(value.members) and value.generation == self._migration_number
        converted = converted and not generation.returned
        self._set_last(before, generation, observation.live or observation.replayed)
        if not observation.live:
            self.history.doubly_owned.start_before(generation)
            return
        self._watch_owners(before, generation, continuous=not (after_gap or observation.replayed))
        if converted:
            self._begin_migrated(generation)
        elif not value.members and value.generation == 0:
            self._begin(generation.timestamp_ms, None)
        elif before is None or self._origin or generation.number != before.number or generation.returned:
            missing = after_gap and last is not None and missing_between(last, generation) > 0
            predecessor_known = (before is not None and not missing) or recreated or value.generation <= 1
            self._origin = None
            yield from self._episodes.add(generation, Episode(before, predecessor_known))
        self._count_stalled(observation.seen_ms)

    def _watch_owners(self, before: Generation | None, generation: Generation, *, continuous: bool) -> None:
        """Look for partitions with two owners, unless records are missing or another observer counted them."""
        doubly_owned = self.history.doubly_owned
        if continuous:
            self.history.own_doubly(doubly_owned.complete(before, generation))
        else:
            doubly_owned.forget()

    def _begin(self, timestamp_ms: int, last: Generation | None) -> None:
        """Start a rebalance whose beginning a record shows."""
        window = TimeBounds(timestamp_ms, timestamp_ms, Evidence.RECORD)
        self._in_progress.begin(GroupState.PREPARING_REBALANCE, window, last, self._reports, None, self._episodes.all())

    def _begin_migrated(self, generation: Generation) -> None:
        """Process the record of a migration to classic, which repeats the last epoch without the departed members.

        If members departed, the coordinator asks the others to rejoin; that rebalance starts from the last epoch.
        """
        if self._origin and {member.member_id for member in self._origin.members} != _member_ids(generation.value):
            self._begin(generation.timestamp_ms, generation)

    def list_rebalancing(self, state: GroupState, poll: GroupsListed) -> None:
        """Process a poll that shows the group rebalancing; ignore it if it was sent before the last record was read."""
        if self.last is not None and poll.asked_ms <= self.last.seen_ms:
            return
        earliest_ms = self._context.polls.previous_ms(poll.asked_ms) or UNKNOWN_MS
        window = TimeBounds(earliest_ms, poll.answered_ms, Evidence.LIST)
        self._in_progress.confirm(state, poll.asked_ms, clock_jumped=self._context.polls.clock_jumped(poll.asked_ms))
        offset_ms = self._context.offset.ms
        if self._in_progress.begin(state, window, self.last, self._reports, offset_ms, self._episodes.all()):
            self._count_stalled(poll.answered_ms)

    def list_settled(self, poll: GroupsListed) -> None:
        """Process a complete poll that does not show the group rebalancing: the record should arrive soon."""
        if self.last is None or poll.asked_ms > self.last.seen_ms:
            self._in_progress.unlisted(poll.answered_ms + self._context.settle_ms)

    def is_outdated(self, described: DescribedGroup, asked_ms: int) -> bool:
        """Whether descriptions show that the group, known from leaders' frames, has changed without a frame."""
        return self.last is not None and self.led.is_outdated(self.last, described, asked_ms)

    def resize(self, now_ms: int) -> None:
        """Process a change of the cluster's topics: partition counts, or names of topic ids."""
        self._name_topics(now_ms)
        self._origin = self._origin and self._with_topic_names(self._origin)
        if self.last is not None:
            topics, subscribed = self._context.topics, subscribed_topics(self.last.value)
            newer = now_ms > self.last.seen_ms
            self._sizes = topics.sizes(subscribed) if newer else topics.sizes_in(subscribed, self.last.value)
            self._change_base_view()
            self._totals.set_partitions(sum(self._sizes.values()), now_ms)
            self._count_stalled(now_ms)

    def pass_time(self, now_ms: int) -> Iterator[Event]:
        """Do the work that is due by ``now_ms``."""
        gone_due_ms = self._in_progress.gone_due_ms
        if gone_due_ms is not None and now_ms >= gone_due_ms:
            # The rebalance was aborted, or its record is late or lost: no event reports it.
            self._in_progress.give_up()
            self._count_stalled(now_ms)
            if self._episodes.open is None:
                self._totals.take_advance()
        had_open, showing = self._episodes.open, self._episodes.showing
        yield from self._episodes.pass_time(now_ms)
        if had_open is not self._episodes.open or showing != self._episodes.showing:
            self._count_stalled(now_ms)
        self._clean_up((member.member_id for member in (self.last.members if self.last else ())), now_ms)

    def restart(self, latest_ms: int, now_ms: int) -> Iterator[Event]:
        """Handle a clock that was set back (see `TrackedGroup`); a rebalance in progress continues."""
        self._in_progress.set_back(latest_ms - now_ms)
        yield from super().restart(latest_ms, now_ms)

    def view(self, *, judged: bool = True) -> GroupView | None:
        """Return the current view; None before the first record. ``judged`` as in `Tracker.view`."""
        if self.last is None:
            return None
        return self._current_view(partial(self._build_view, self.last, judged=judged), judged=judged)

    def _take_report(self, event: MemberEvent, now_ms: int, *, begins: bool) -> None:
        if self._in_progress.add_report(event.member_id, self.last, self._reports, self._episodes.all()) or begins:
            self._count_stalled(now_ms)

    def _generation(self, before: Generation | None, observation: GroupRecord, value: GroupSnapshot) -> Generation:
        tasks = classic_tasks(value, before)
        generation = Generation(
            value=value,
            timestamp_ms=observation.timestamp_ms,
            seen_ms=observation.seen_ms,
            protocol=infer_protocol(before, value),
            topics=self._context.topics.sizes_in(subscribed_topics(value), value),
            replayed=observation.replayed or not observation.live,
            source=observation.source,
            coordinator_changes=self.led.coordinator_changes(before, observation, self._context),
            outages=self._context.outages_until(observation.seen_ms),
            subtopologies=tasks.subtopologies,
            standby_hosts=tasks.standby_hosts,
        )
        if before is not None:
            gone = member_changes(before.members, value.members).departed if observation.live else ()
            last_seen = self._last_seen.members(before, self._context.commits, observation.timestamp_ms, gone)
            generation = replace(generation, last_seen=last_seen)
        if before is not None and value.generation == (before.number if self.last else self._migration_number):
            generation = replace(generation, returned=_returned(before.value, value))
        else:
            generation = replace(generation, joined_ms=joined_ms(before, generation))
            if observation.live:
                generation = replace(generation, start=start(before, generation, self._in_progress, self._context))
            if before is not None:
                how = departures(before, generation, self._context.commits)
                generation = replace(generation, departures=how)
        if observation.live:
            given, unowned = given_and_unowned(before, generation)
            self._context.commits.release(self.group, unowned, generation.timestamp_ms)
            # A generation from frames is used only if the offsets topic, with its commits, cannot be read.
            if observation.source is not Source.FRAMES:
                self._context.commits.expect(self.group, given, generation.timestamp_ms, generation.first_commits)
        return generation

    def _aborted(
        self, before: Generation | None, generation: Generation, observation: GroupRecord
    ) -> Iterator[AbortedEvent]:
        if before is None or not self._last_live:
            return
        missing = missing_between(before, generation)
        self._totals.abort(0 if observation.replayed else missing)
        if missing:
            self._episodes.rollouts.abort(generation.timestamp_ms, observation.seen_ms)
        yield from aborted_events(self._context.cluster_id, generation, missing)

    def _set_last(self, before: Generation | None, generation: Generation, live: bool) -> None:
        rebalanced = self.last is None or generation.number != self.last.number
        if generation.returned and before:
            self._last_seen.return_members(before, generation)
        elif rebalanced:
            self._last_seen.join(generation)
        self.history.empty_time.see(generation)
        self._deduplicator.take(generation)
        if rebalanced and not self._in_progress.is_another(generation, self._context.offset.ms or 0):
            self._in_progress.end()
        self.last, self._last_live, self._sizes = generation, live, generation.topics
        self.number, self.timestamp_ms = generation.number, generation.timestamp_ms
        self._change_base_view()
        self._totals.set_partitions(sum(generation.topics.values()), generation.seen_ms)
        self.history.version += 1

    def _count_stalled(self, now_ms: int) -> None:
        """Update the count of stalled partitions and the view's version."""
        self._totals.set_stalled(self._stalled, now_ms)
        self.history.version += 1

    @property
    def _stalled(self) -> int:
        return min(self._in_progress.stalled, sum(self._sizes.values()))

    @property
    def _unsure(self) -> int:
        """The number of partitions that may be stalled; owners revoke withheld partitions when they poll."""
        withheld = self._episodes.open.withheld if self._episodes.open else 0
        return self._in_progress.unsure + max(0, withheld - self._in_progress.withheld)

    def _build_view(self, last: Generation, *, judged: bool) -> GroupView:
        state = self._in_progress.state or (GroupState.STABLE if last.members else GroupState.EMPTY)
        base_view = self._build_base_view(
            lambda: replace(last, topics=self._sizes), lambda: ShownMembers(last.members), state, judged=judged
        )
        return self.history.complete_view(base_view, state, self._running_rebalance())

    def _running_rebalance(self) -> RunningRebalance | None:
        started_ms = self._in_progress.started_ms
        if self._episodes.open:
            first = self._episodes.open.generations[0]
            started_ms = first.start.earliest_ms if first.start else first.timestamp_ms
        return None if started_ms is None else RunningRebalance(started_ms, self._stalled, self._unsure)


def _returned(before: GroupSnapshot, value: GroupSnapshot) -> bool:
    """Whether the members are the same, some of them under new ids: static members returned."""
    same = {identity(member) for member in before.members} == {identity(member) for member in value.members}
    return same and _member_ids(before) != _member_ids(value)


def _member_ids(value: GroupSnapshot) -> set[str]:
    return {member.member_id for member in value.members}
