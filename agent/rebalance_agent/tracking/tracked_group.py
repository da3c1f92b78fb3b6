"""What following a group takes, whatever its type: members' reports, episodes, totals, and the view made of them.

A group may change its type while it runs (KIP-848): the coordinator deletes it as the one and writes it as the other in
one batch of records. To its users it is still the same group, so the new state inherits all of that from the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from rebalance_agent.model.episode import Source
from rebalance_agent.model.events import AssignEvent, Event, GroupGoneEvent, MemberEvent, event_id
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.tracking.build_view import add_quality, build_view
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.member_reports import MemberReports
from rebalance_agent.tracking.patterns.loads import GroupLoads, LoadHistory
from rebalance_agent.tracking.rebalance.counters import CounterTotals
from rebalance_agent.tracking.rebalance.episodes import REVISE_MAX_MS, Episodes
from rebalance_agent.tracking.rebalance.last_seen import LastCommits
from rebalance_agent.tracking.rebalance.topic_names import with_topic_names
from rebalance_agent.tracking.tracker_context import TrackerContext
from rebalance_agent.tracking.views import GroupView, MemberLoad, RunningRebalance

__all__ = ["ASSIGNS_MAX", "MIGRATION_WAIT_MS", "PendingDeletion", "TrackedGroup"]

ASSIGNS_MAX = 64
"""Reports of ``assign()`` whose ids are remembered: a retry comes within a minute, and there is one a generation."""

MIGRATION_WAIT_MS = 1_000
"""How long after a tombstone the group may still go on as one of another type. Both are in one batch of records, which
is read at once, but perhaps not in one go."""


_INHERITED = (
    "version",
    "offset",
    "first_seen_ms",
    "_reports",
    "_totals",
    "_assigns",
    "_episodes",
    "_view",
    "_loads",
    "_commits",
)
"""What is the group's own, whatever its type."""


@dataclass(frozen=True, slots=True)
class PendingDeletion:
    """The coordinator deleted the group at ``timestamp_ms``; it is gone if it does not go on before ``due_ms``."""

    timestamp_ms: int
    due_ms: int


class TrackedGroup:
    """One group. Times handed in are the observer's."""

    group_type = GroupType.CLASSIC

    def __init__(
        self, group: str, context: TrackerContext, now_ms: int, predecessor: TrackedGroup | None = None
    ) -> None:
        """Begin without any record; until there is one, the view is that of the ``predecessor``."""
        self.group = group
        self.version = 0
        self.first_seen_ms = now_ms
        self.number = 0
        self.offset = -1
        self.timestamp_ms = -1
        self.last: Generation | None = None
        self.deletion: PendingDeletion | None = None
        self.gone = False
        self._context = context
        self._reports = MemberReports(context.report_budget)
        self._cleaned_ms = now_ms
        self._totals = CounterTotals(now_ms)
        self._assigns: list[str] = []
        self._episodes = Episodes(context, self._reports, self._totals)
        self._base_view: GroupView | None = None
        self._view: GroupView | None = None
        self._loads = LoadHistory()
        self._commits = LastCommits()
        for name in _INHERITED if predecessor else ():
            setattr(self, name, getattr(predecessor, name))

    @property
    def known(self) -> bool:
        """Whether there is a view of it."""
        return self.last is not None

    @property
    def due_ms(self) -> int:
        """When `pass_time` has something to do, at the latest."""
        deletion_ms = self.deletion.due_ms if self.deletion else None
        times = (deletion_ms, self._episodes.due_ms, self._totals.due_ms, self.cleanup_due_ms)
        return min(each for each in times if each is not None)

    @property
    def cleanup_due_ms(self) -> int:
        """When what nobody needs any more is to be let go."""
        return self._cleaned_ms + REVISE_MAX_MS

    def report_assign(self, event: AssignEvent, now_ms: int) -> None:
        """The leader said how its ``assign()`` went; the same report twice counts once."""
        if event.event_id in self._assigns:
            return
        self._assigns.append(event.event_id)
        del self._assigns[:-ASSIGNS_MAX]
        begins = self._expect_reports(now_ms)
        if event.error is not None and event.timestamp_ms >= self.first_seen_ms - self._context.settle_ms:
            self._totals.fail_assign(now_ms)
        if begins or event.error is not None:
            self.version += 1

    def _expect_reports(self, now_ms: int) -> bool:
        """Members report of themselves; what only they can tell begins to count. True if that is new."""
        return self._totals.expect_reports(now_ms + self._context.settle_ms)

    def _release(self, now_ms: int) -> None:
        """Show what their first reports said, after zero was shown."""
        self.version += self._totals.release(now_ms)

    def load(self, loads: GroupLoads) -> None:
        """What its partitions carry was measured anew."""
        if self._loads.take(loads):
            self.version += 1

    def commit(self, at_ms: Mapping[Partition, int]) -> None:
        """It committed offsets of these partitions last then; heard before any record that was written after it."""
        self._commits.update(at_ms)

    @property
    def _unnamed(self) -> bool:
        """Whether there are topics in its last generation, or in what can still be told, that had no name yet."""
        return bool(self.last and self.last.unnamed) or self._episodes.unnamed

    def _name_topics(self, now_ms: int) -> None:
        """Topics got their names: what is known of it has them from now on."""
        self.last = self.last and self._with_topic_names(self.last)
        self._episodes.name_topics(self._with_topic_names, now_ms)

    def _with_topic_names(self, generation: Generation) -> Generation:
        return with_topic_names(generation, self._context.topics)

    def add_past_report(self, event: MemberEvent | AssignEvent, now_ms: int) -> None:
        """A member said this before anybody watched: only where it is can be learned from it."""
        if isinstance(event, MemberEvent):
            self._add_report(event, now_ms)

    def _add_report(self, event: MemberEvent, now_ms: int) -> bool:
        """Remember what a member said; False if it was known or cannot be true."""
        before = self._reports.reported_by(event.member_id)
        news = self._reports.add(event, now_ms)
        if self._reports.reported_by(event.member_id) != before:
            self.version += 1
        return news

    def _with_workloads(self, members: tuple[MemberLoad, ...]) -> tuple[MemberLoad, ...]:
        """Members with where they run, as they said last."""
        if not self._reports:
            return members
        return tuple(replace(each, where=self._reports.reported_by(each.member_id).where) for each in members)

    def delete(self, now_ms: int) -> Iterator[Event]:
        """It did not go on as a group of another type, so it was deleted: what is not settled settles now."""
        self.gone = True
        if self.deletion:
            yield from self._episodes.flush(now_ms)
            cluster_id, kind, at_ms = self._context.cluster_id, self.group_type, self.deletion.timestamp_ms
            identity = event_id(GroupGoneEvent.KIND, cluster_id, self.group, kind, self.number, at_ms)
            yield GroupGoneEvent(identity, cluster_id, self.group, at_ms, Source.RECORDS, kind)

    def restart(self, latest_ms: int, now_ms: int) -> Iterator[Event]:
        """The observer's clock was set back from ``latest_ms``: what waits for a time that was near settles now."""
        self._totals.advance(latest_ms)
        self._episodes.set_back(latest_ms - now_ms)
        yield from self._episodes.flush(now_ms)
        self._totals.restart(now_ms)
        if self.last:
            # Else polls would seem to be from before its record until the clock is again as late as it was.
            self.last = replace(self.last, seen_ms=min(self.last.seen_ms, now_ms))
        self.first_seen_ms = min(self.first_seen_ms, now_ms)
        self._cleaned_ms = now_ms
        self.version += 1

    def close(self) -> None:
        """Nobody follows it any more."""
        self._reports.clear()

    def _tombstone(self, timestamp_ms: int, seen_ms: int, *, live: bool) -> None:
        """Its main record was deleted; of what was over before anybody watched nothing is said."""
        if live:
            self.deletion = PendingDeletion(timestamp_ms, seen_ms + MIGRATION_WAIT_MS)
        else:
            self.gone = True

    def _build_base_view(
        self,
        generation: Callable[[], Generation],
        state: GroupState,
        *,
        judged: bool,
        standby_hosts: Collection[str] = (),
    ) -> GroupView:
        """What the generation decides of the view, drawn and judged once for as long as it stays the same."""
        if self._base_view is None or (judged and not self._base_view.judged):
            now = generation()
            base_view = self._base_view or build_view(now, state, self.version, self.first_seen_ms, self._context)
            self._base_view = add_quality(base_view, now, standby_hosts) if judged else base_view
        return self._base_view

    def _complete_view(self, base_view: GroupView, state: GroupState, running: RunningRebalance | None) -> GroupView:
        """Return ``base_view`` with what changes without the members: rebalances, loads, and totals."""
        shown, skews = self._episodes.shown, self._loads.skews(base_view.members)
        return replace(
            base_view,
            members=self._with_workloads(base_view.members),
            state=state,
            version=self.version,
            running=running,
            lag_skew_ratio=skews.lag,
            rate_skew_ratio=skews.rate,
            last_episode=shown.closing if shown else None,
            rollout=self._episodes.rollouts.shown,
            flapping=self._episodes.flapping.shown,
            last_join_seconds=shown.join_seconds if shown else None,
            last_sync_seconds=shown.sync_seconds if shown else None,
            last_reconcile_seconds=shown.reconcile_seconds if shown else None,
            slowest_client_id=shown.slowest.client_id if shown and shown.slowest else None,
            slowest_host=shown.slowest.host if shown and shown.slowest else None,
            slowest_seconds=shown.slowness.seconds if shown and shown.slowest else None,
            counters=self._totals.counters,
            counted_until_ms=self._totals.counted_until_ms,
        )
