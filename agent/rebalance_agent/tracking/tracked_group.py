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
from rebalance_agent.tracking.build_view import draw, judge
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.member_reports import MemberReports
from rebalance_agent.tracking.patterns.loads import GroupLoads, LoadHistory
from rebalance_agent.tracking.rebalance.counters import CounterTotals
from rebalance_agent.tracking.rebalance.episodes import REVISE_MAX_MS, Episodes
from rebalance_agent.tracking.rebalance.last_seen import LastCommits
from rebalance_agent.tracking.rebalance.topic_names import named
from rebalance_agent.tracking.tracker_context import TrackerContext
from rebalance_agent.tracking.views import GroupView, MemberLoad, RunningRebalance

__all__ = ["ASSIGNS_MAX", "MIGRATION_WAIT_MS", "GroupParting", "TrackedGroup"]

ASSIGNS_MAX = 64
"""Reports of ``assign()`` whose ids are remembered: a retry comes within a minute, and there is one a generation."""

MIGRATION_WAIT_MS = 1_000
"""How long after a tombstone the group may still go on as one of another type. Both are in one batch of records, which
is read at once, but perhaps not in one go."""


_INHERITED = (
    "version",
    "offset",
    "first_seen_ms",
    "_log",
    "_ledger",
    "_assigns",
    "_episodes",
    "_view",
    "_loads",
    "_commits",
)
"""What is the group's own, whatever its type."""


@dataclass(frozen=True, slots=True)
class GroupParting:
    """The coordinator deleted the group at ``timestamp_ms``; it is gone if it does not go on before ``due_ms``."""

    timestamp_ms: int
    due_ms: int


class TrackedGroup:
    """One group. Times handed in are the observer's."""

    group_type = GroupType.CLASSIC

    def __init__(self, group: str, around: TrackerContext, now_ms: int, heir_of: TrackedGroup | None = None) -> None:
        """Begin without any record; until there is one, there is no view but that of the group it is ``heir_of``."""
        self.group = group
        self.version = 0
        self.first_seen_ms = now_ms
        self.number = 0
        self.offset = -1
        self.timestamp_ms = -1
        self.last: Generation | None = None
        self.parting: GroupParting | None = None
        self.gone = False
        self._around = around
        self._log = MemberReports(around.reports)
        self._kept_ms = now_ms
        self._ledger = CounterTotals(now_ms)
        self._assigns: list[str] = []
        self._episodes = Episodes(around, self._log, self._ledger)
        self._portrait: GroupView | None = None
        self._view: GroupView | None = None
        self._loads = LoadHistory()
        self._commits = LastCommits()
        for name in _INHERITED if heir_of else ():
            setattr(self, name, getattr(heir_of, name))

    @property
    def known(self) -> bool:
        """Whether there is a view of it."""
        return self.last is not None

    @property
    def due_ms(self) -> int:
        """When `pass_time` has something to do, at the latest."""
        parting_ms = self.parting.due_ms if self.parting else None
        times = (parting_ms, self._episodes.due_ms, self._ledger.due_ms, self.forget_ms)
        return min(each for each in times if each is not None)

    @property
    def forget_ms(self) -> int:
        """When what nobody needs any more is to be let go."""
        return self._kept_ms + REVISE_MAX_MS

    def report_assign(self, event: AssignEvent, now_ms: int) -> None:
        """The leader said how its ``assign()`` went; the same report twice counts once."""
        if event.event_id in self._assigns:
            return
        self._assigns.append(event.event_id)
        del self._assigns[:-ASSIGNS_MAX]
        begins = self._expect_reports(now_ms)
        if event.error is not None and event.timestamp_ms >= self.first_seen_ms - self._around.settle_ms:
            self._ledger.fail_assign(now_ms)
        if begins or event.error is not None:
            self.version += 1

    def _expect_reports(self, now_ms: int) -> bool:
        """Members report of themselves; what only they can tell begins to count. True if that is new."""
        return self._ledger.expect_reports(now_ms + self._around.settle_ms)

    def _release(self, now_ms: int) -> None:
        """Show what their first reports said, after zero was shown."""
        self.version += self._ledger.release(now_ms)

    def load(self, loads: GroupLoads) -> None:
        """What its partitions carry was measured anew."""
        if self._loads.take(loads):
            self.version += 1

    def commit(self, at_ms: Mapping[Partition, int]) -> None:
        """It committed offsets of these partitions last then; heard before any record that was written after it."""
        self._commits.hear(at_ms)

    @property
    def _unnamed(self) -> bool:
        """Whether there are topics in its last generation, or in what can still be told, that had no name yet."""
        return bool(self.last and self.last.unnamed) or self._episodes.unnamed

    def _name(self, now_ms: int) -> None:
        """Topics got their names: what is known of it has them from now on."""
        self.last = self.last and self._named(self.last)
        self._episodes.name(self._named, now_ms)

    def _named(self, generation: Generation) -> Generation:
        return named(generation, self._around.topics)

    def place(self, event: MemberEvent | AssignEvent, now_ms: int) -> None:
        """A member said this before anybody watched: only where it is can be learned from it."""
        if isinstance(event, MemberEvent):
            self._heard(event, now_ms)

    def _heard(self, event: MemberEvent, now_ms: int) -> bool:
        """Remember what a member said; False if it was known or cannot be true."""
        before = self._log.told(event.member_id)
        news = self._log.add(event, now_ms)
        if self._log.told(event.member_id) != before:
            self.version += 1
        return news

    def _placed(self, members: tuple[MemberLoad, ...]) -> tuple[MemberLoad, ...]:
        """Members with where they run, as they said last."""
        if not self._log:
            return members
        return tuple(replace(each, where=self._log.told(each.member_id).where) for each in members)

    def part(self, now_ms: int) -> Iterator[Event]:
        """It did not go on as a group of another type, so it was deleted: what is not settled settles now."""
        self.gone = True
        if self.parting:
            yield from self._episodes.flush(now_ms)
            cluster_id, kind, at_ms = self._around.cluster_id, self.group_type, self.parting.timestamp_ms
            identity = event_id(GroupGoneEvent.KIND, cluster_id, self.group, kind, self.number, at_ms)
            yield GroupGoneEvent(identity, cluster_id, self.group, at_ms, Source.RECORDS, kind)

    def restart(self, latest_ms: int, now_ms: int) -> Iterator[Event]:
        """The observer's clock was set back from ``latest_ms``: what waits for a time that was near settles now."""
        self._ledger.advance(latest_ms)
        self._episodes.set_back(latest_ms - now_ms)
        yield from self._episodes.flush(now_ms)
        self._ledger.restart(now_ms)
        if self.last:
            # Else polls would seem to be from before its record until the clock is again as late as it was.
            self.last = replace(self.last, seen_ms=min(self.last.seen_ms, now_ms))
        self.first_seen_ms = min(self.first_seen_ms, now_ms)
        self._kept_ms = now_ms
        self.version += 1

    def let_go(self) -> None:
        """Nobody follows it any more."""
        self._log.clear()

    def _tombstone(self, timestamp_ms: int, seen_ms: int, *, live: bool) -> None:
        """Its main record was deleted; of what was over before anybody watched nothing is said."""
        if live:
            self.parting = GroupParting(timestamp_ms, seen_ms + MIGRATION_WAIT_MS)
        else:
            self.gone = True

    def _painted(
        self,
        generation: Callable[[], Generation],
        state: GroupState,
        *,
        judged: bool,
        standing_by: Collection[str] = (),
    ) -> GroupView:
        """What the generation decides of the view, drawn and judged once for as long as it stays the same."""
        if self._portrait is None or (judged and not self._portrait.judged):
            now = generation()
            portrait = self._portrait or draw(now, state, self.version, self.first_seen_ms, self._around)
            self._portrait = judge(portrait, now, standing_by) if judged else portrait
        return self._portrait

    def _finish(self, portrait: GroupView, state: GroupState, running: RunningRebalance | None) -> GroupView:
        """``portrait`` with what changes without the members: the running and the last rebalance, loads, and totals."""
        shown, skews = self._episodes.shown, self._loads.skews(portrait.members)
        return replace(
            portrait,
            members=self._placed(portrait.members),
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
            counters=self._ledger.counters,
            counted_until_ms=self._ledger.counted_until_ms,
        )
