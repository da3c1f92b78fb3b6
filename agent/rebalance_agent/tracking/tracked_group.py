"""The base of all group states: deadlines, deletion, and the view built from the current generation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from rebalance_agent.model.episode import Source
from rebalance_agent.model.events import Event, GroupGoneEvent, MemberEvent
from rebalance_agent.model.group import GroupSnapshot, GroupState, GroupType
from rebalance_agent.model.group_event import event_id
from rebalance_agent.model.reported.seat_event import SeatEvent
from rebalance_agent.tracking.build_view import build_view
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.members.measured_quality import MeasuredQuality, measure_quality
from rebalance_agent.tracking.members.shown_members import ShownMembers
from rebalance_agent.tracking.memory.state_budget import AWAITED_BYTES, GROUP_BYTES, state_bytes
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord
from rebalance_agent.tracking.patterns.empty_groups import UnownedPartitions, UnownedReason
from rebalance_agent.tracking.rebalance.episodes.group_episodes import REVISE_MAX_MS
from rebalance_agent.tracking.rebalance.group_history import GroupHistory
from rebalance_agent.tracking.rebalance.topic_names import with_topic_names
from rebalance_agent.tracking.tracker_context import TrackerContext
from rebalance_agent.tracking.views import GroupView, MemberLoad

__all__ = ["MIGRATION_WAIT_MS", "PendingDeletion", "TrackedGroup"]

MIGRATION_WAIT_MS = 1_000
"""How long (ms) after its tombstone a group may continue as another type. Both are in one batch of records, which may
be delivered in two parts."""


@dataclass(frozen=True, slots=True)
class PendingDeletion:
    """The coordinator deleted the group at ``timestamp_ms``; it is gone unless it migrates before ``due_ms``."""

    timestamp_ms: int
    due_ms: int


class TrackedGroup:
    """The state of one group. Times passed in are by the observer's clock.

    ``history``: the part of the state that is kept when the group's type changes. ``last``: the last completed
    generation. ``number``: its generation id or group epoch. ``gone``: the group was deleted.
    """

    group_type = GroupType.CLASSIC

    def __init__(
        self, group: str, context: TrackerContext, now_ms: int, predecessor: TrackedGroup | None = None
    ) -> None:
        """Start without records, with the history of ``predecessor``: the state of the group as another type."""
        self.group = group
        self.history: GroupHistory = predecessor.history if predecessor else GroupHistory(group, context, now_ms)
        self.number = 0
        self.timestamp_ms = -1
        self.last: Generation | None = None
        self.deletion: PendingDeletion | None = None
        self.gone = False
        self._context = context
        self._cleaned_ms = now_ms
        self._sized: tuple[GroupSnapshot | None, tuple[int, ...]] = None, ()
        self._base_view: GroupView | None = None
        self._quality: MeasuredQuality | None = None
        self._measured = False
        self._host_rule = context.host_names.of(group)
        self._hosts: dict[str, str] = {}
        self._reports, self._totals = self.history.reports, self.history.totals
        self._episodes = self.history.episodes

    @property
    def known(self) -> bool:
        """Whether the group has a view."""
        return self.last is not None

    @property
    def due_ms(self) -> int:
        """The next deadline of `pass_time`."""
        deletion_ms = self.deletion.due_ms if self.deletion else None
        times = (deletion_ms, self._episodes.due_ms, self._cleaned_ms + REVISE_MAX_MS)
        return min(due_ms for due_ms in times if due_ms is not None)

    @property
    def size_bytes(self) -> int:
        """The approximate memory that the state uses, in bytes."""
        own = GROUP_BYTES + len(self.group) + AWAITED_BYTES * self._context.commits.awaited(self.group)
        own += self.history.topology_bytes
        if self.last is None:
            return own
        if self._sized[0] is not self.last.value:
            size = state_bytes(self.last.value) + len(self.group)
            self._sized = self.last.value, (size, *self._sized[1])[: 1 + self._generations_before]
        # Generations from before the observer's start have no size here.
        sizes = self._sized[1][: 1 + self._generations_before]
        return own + sum(sizes)

    @property
    def _generations_before(self) -> int:
        """The number of generations kept besides the last: those of all episodes, at least one."""
        shown = self._episodes.shown
        kept = sum(len(episode.generations) for episode in self._episodes.all())
        return max(kept, shown is not None and shown.closing.previous_generation is not None)

    def _may_miss_records(self, record: GroupRecord | EpochRecord) -> bool:
        """Whether records of the group between its last one and this ``record`` may have been removed unread.

        A tail that keeps up reads each record before compaction can remove it; offsets missing there are transaction
        markers. Records can be removed unread if they were written before the tail began, or while a broker was away:
        they become readable only when the other replicas have them, and compaction may remove them at once. Records are
        also skipped if the group caused too much work. Frames show only the generations of some leaders.
        """
        if record.skipped or (isinstance(record, GroupRecord) and record.source is Source.FRAMES):
            return True
        if record.gap_offset <= self.history.offset:
            return False
        outages = self._context.outages.spans(record.seen_ms, 0)
        return record.replayed or any(outage.until_ms > self.history.read_ms for outage in outages)

    def report(self, event: MemberEvent, now_ms: int) -> None:
        """Process a member's report."""
        if self.keep_report(event, now_ms):
            self._episodes.report(now_ms, event.member_id)
            begins = self.history.totals.expect_reports()
            self.history.own_doubly(self.history.doubly_owned.report(event))
            self._take_report(event, now_ms, begins=begins)

    def keep_report(self, event: MemberEvent, now_ms: int) -> bool:
        """Keep a member's report (if it is an old one, only its workload); return whether it is new and valid."""
        members = self.last.members if self.last else ()
        stranger = all(member.member_id != event.member_id for member in members)
        return self.history.add_report(event, now_ms, stranger=stranger)

    def report_seat(self, event: SeatEvent, now_ms: int) -> bool:
        """Process a gateway's report about a seat; return whether the occupant changed."""
        changed = self.history.add_seat_report(event, now_ms)
        if changed:
            self._episodes.report(now_ms, event.member_id)
        return changed

    def _take_report(self, event: MemberEvent, now_ms: int, *, begins: bool) -> None:
        """Process a new report; ``begins``: it is the first report of any of the group's members."""
        raise NotImplementedError

    def delete(self, now_ms: int) -> Iterator[Event]:
        """End a group that was deleted and did not migrate: settle its episodes and report that it is gone."""
        self.gone = True
        if self.deletion:
            yield from self.settle(now_ms)
            cluster_id, kind, at_ms = self._context.cluster_id, self.group_type, self.deletion.timestamp_ms
            identity = event_id(GroupGoneEvent.KIND, cluster_id, self.group, kind, self.number, at_ms)
            yield GroupGoneEvent(identity, cluster_id, self.group, at_ms, Source.RECORDS, kind)

    def settle(self, now_ms: int) -> Iterator[Event]:
        """Settle all episodes now, before the group is dropped."""
        yield from self._episodes.flush(now_ms)

    def restart(self, latest_ms: int, now_ms: int) -> Iterator[Event]:
        """Handle an observer's clock that was set back from ``latest_ms`` to ``now_ms``: episodes settle now."""
        yield from self.history.restart(latest_ms, now_ms)
        if self.last:
            # Otherwise polls would seem older than the last record until the clock has reached that time again.
            self.last = replace(self.last, seen_ms=min(self.last.seen_ms, now_ms))
        self._cleaned_ms = now_ms

    def close(self) -> None:
        """Drop the group's reports and commits, since the group is no longer tracked."""
        self._reports.clear()
        self.history.deliveries.clear()
        self._context.commits.forget(self.group)

    def _clean_up(self, member_ids: Iterable[str], now_ms: int) -> bool:
        """Drop reports that no episode can need any more, if that is due; return whether it was."""
        due = now_ms >= self._cleaned_ms + REVISE_MAX_MS
        if due:
            self._cleaned_ms = now_ms
            self._totals.advance(now_ms)
            self._reports.keep(member_ids, now_ms - REVISE_MAX_MS)
            self.history.doubly_owned.pass_time(now_ms)
        return due

    @property
    def _unnamed(self) -> bool:
        """Whether the last generation, or an episode that can be revised, has topic ids whose names are unknown."""
        return bool(self.last and self.last.unnamed) or self._episodes.unnamed

    def _name_topics(self, now_ms: int) -> None:
        """Replace topic ids by names that became known: in the last generation, in all episodes and awaited commits."""
        self._context.commits.name_topics(self.group, self._context.topics.name)
        self.last = self.last and self._with_topic_names(self.last)
        self._episodes.name_topics(self._with_topic_names, now_ms)

    def _with_topic_names(self, generation: Generation) -> Generation:
        return with_topic_names(generation, self._context.topics)

    def _tombstone(self, timestamp_ms: int, seen_ms: int, *, live: bool) -> None:
        """Process the tombstone of the group's main record; a tombstone from before the start leads to no event."""
        if live:
            self.deletion = PendingDeletion(timestamp_ms, seen_ms + MIGRATION_WAIT_MS)
        else:
            self.gone = True

    def _current_view(self, build: Callable[[], GroupView], *, judged: bool) -> GroupView:
        """Return the last view; rebuild it if the version has changed or the view's quality was not measured."""
        history = self.history
        if history.view is None or history.view.version != history.version or (judged and not history.view_measured):
            history.view, history.view_measured = self._with_unowned(build()), judged
        return history.view

    def _with_unowned(self, view: GroupView) -> GroupView:
        """Return ``view`` with the partitions that have no owner, and count for how long they have had none.

        While a rebalance runs they count as stalled instead.
        """
        empty = self.history.empty_time.now
        if empty and not view.members and not self._context.may_be_empty(self.group):
            # Without members the group subscribes to nothing: use the partitions that its last members left.
            partitions = empty.partitions if view.consumes else None
            explained = self.history.empty_time.explained(view.last_episode)
            view = replace(view, empty=explained, partitions=partitions, unassigned=partitions)
        now = None
        if view.unassigned and not view.running:
            now = UnownedPartitions(UnownedReason.EMPTY if view.empty else UnownedReason.UNASSIGNED, view.unassigned)
        self.history.unowned = unowned = self.history.unowned.advance(view.counted_until_ms, now)
        return replace(view, unowned=unowned)

    def _change_base_view(self) -> None:
        """Handle a change of the members, of their assignment, or of the topics that they subscribe to."""
        self._base_view, self._measured = None, False

    def _build_base_view(
        self,
        generation: Callable[[], Generation],
        members: Callable[[], ShownMembers],
        state: GroupState,
        *,
        judged: bool,
    ) -> GroupView:
        """Return the part of the view that depends only on the generation and the hosts; cached until they change.

        If ``judged`` is False, the view's quality may be that of an earlier generation.
        """
        # Other rules need only the generation, except for seats that gateways handed over.
        reported = self._host_rule.attribute is not None or len(self._reports.seats) > 0
        if self._base_view and self._measured and judged and reported:
            self._measured = self._hosts_of(self._base_view.members) == self._hosts
        if self._base_view is None or (judged and not self._measured):
            now, shown = generation(), members()
            if judged and not self._measured:
                hosts = self._hosts_of(shown.loads)
                self._hosts, self._measured = hosts if reported else {}, True
                self._quality = measure_quality(now, hosts, self.history.version)
            self._base_view = build_view(now, shown, self._quality, state, self._context)
        return self._base_view

    def _hosts_of(self, members: Iterable[MemberLoad]) -> dict[str, str]:
        """Return the host of each member by its id; for a seat, the host of the consumer that occupies it."""
        return {member.member_id: self._host_of(member) for member in members}

    def _host_of(self, member: MemberLoad) -> str:
        reported = self._reports.reported_by(member.member_id)
        served = reported.occupant or member
        return self._host_rule.name(served.client_id or member.client_id, served.host or member.host, reported.where)
