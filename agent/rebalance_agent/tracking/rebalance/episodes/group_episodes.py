"""The episodes of one group: open, closed (waiting for reports), or settled (still revisable)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from rebalance_agent.model.events import Event
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.tracking.completed_generation import Episode, Generation
from rebalance_agent.tracking.evidence.commits.awaited_commits import COMMITS_WAIT_MAX_MS, LOOK_AGAIN_MS, AwaitedCommits
from rebalance_agent.tracking.evidence.member_reports import MemberReports
from rebalance_agent.tracking.patterns.costly_members import AwaitedMembers, DepartedMembers
from rebalance_agent.tracking.patterns.flapping import Flapping
from rebalance_agent.tracking.patterns.recent_rebalances import with_rebalance
from rebalance_agent.tracking.patterns.rollouts import Rollouts
from rebalance_agent.tracking.rebalance.counters import CounterTotals
from rebalance_agent.tracking.rebalance.episodes.episode_stages import ClosedEpisode, SettledEpisode
from rebalance_agent.tracking.rebalance.episodes.followups import awaits_followup, followup_wait_ms, is_followup
from rebalance_agent.tracking.rebalance.open_stall import OpenStall, with_names
from rebalance_agent.tracking.rebalance.settle import Settlement, revise, settle
from rebalance_agent.tracking.tracker_context import TrackerContext

__all__ = ["PENDING_MAX", "REVISABLE_MAX", "REVISE_MAX_MS", "Episodes"]

PENDING_MAX = 8
"""Maximum number of closed episodes per group that wait to settle; beyond it, the oldest episode settles early."""

_COMMITS_PERIOD_MS = 1_000

REVISABLE_MAX = 2
"""Maximum number of settled episodes per group that late reports can still revise."""

REVISE_MAX_MS = 600_000
"""How long (ms) a settled episode can be revised: reports come through a topic that may be read with a delay."""


class Episodes:
    """Groups completed generations into episodes and returns their events. Times are by the observer's clock.

    ``shown``: the settlement of the last settled episode, for views. ``recent_ms``: see `with_rebalance`.
    """

    def __init__(self, context: TrackerContext, reports: MemberReports, totals: CounterTotals) -> None:
        """``reports``: the members' reports. ``totals``: counts settled episodes."""
        self.open: Episode | None = None
        self.shown: Settlement | None = None
        self.rollouts = Rollouts()
        self.flapping = Flapping()
        self.awaited = AwaitedMembers()
        self.departed = DepartedMembers()
        self.recent_ms: tuple[int, ...] = ()
        self._context = context
        self._reports = reports
        self._totals = totals
        self._followup_due_ms = 0
        # These are lists since they are short and mostly empty, and an empty deque takes 760 bytes.
        self._closed: list[ClosedEpisode] = []
        self._settled: list[SettledEpisode] = []
        self._revise_due_ms: int | None = None
        self._open_stalls: Mapping[Partition, OpenStall] = {}
        self._commits = AwaitedCommits(reports.measures)
        self._look_due_ms: int | None = None

    @property
    def unsettled(self) -> bool:
        """Whether there is an episode without published events."""
        return self.unsettled_ms is not None

    @property
    def unsettled_ms(self) -> int | None:
        """When the last generation of an unsettled episode completed (epoch ms); None if all have settled."""
        waiting = self.waiting()
        return waiting[-1].last.timestamp_ms if waiting else None

    @property
    def unnamed(self) -> bool:
        """Whether any episode has topic ids whose names are unknown."""
        return any(episode.unnamed for episode in self.all())

    @property
    def showing(self) -> tuple[object, ...]:
        """The parts that views show. These parts change with events, and sometimes with time."""
        patterns = self.rollouts.shown, self.rollouts.going_well, self.flapping.shown, self.awaited.shown
        return self.shown, *patterns, self.departed.shown, self._totals.group_stalls

    @property
    def due_ms(self) -> int | None:
        """The next deadline of `pass_time`; None if there is none."""
        times = (
            self._followup_due_ms if self.open else None,
            self._closed[0].settles_ms if self._closed else None,
            self._revise_due_ms,
            self._look_due_ms,
            self._settled[0].forget_ms if self._settled else None,
            self.rollouts.due_ms,
            self.flapping.due_ms,
        )
        return min((due_ms for due_ms in times if due_ms is not None), default=None)

    def add(self, generation: Generation, own: Episode) -> Iterator[Event]:
        """Add a completed generation to the open episode, and close it unless a follow-up is announced.

        ``own``: the episode that starts with this generation if it is not a follow-up.
        """
        if self.open and not is_followup(generation, self.open):
            yield from self._close(self.open, generation.seen_ms)
        episode = self.open or self._closed_early(generation) or own
        episode.generations.append(generation)
        if awaits_followup(episode):
            self.open = episode
            self._followup_due_ms = generation.seen_ms + followup_wait_ms(generation)
        else:
            yield from self._close(episode, generation.seen_ms)

    def _closed_early(self, generation: Generation) -> Episode | None:
        """Return the closed episode to which ``generation`` belongs: its record was read after the wait for it."""
        if not self._closed or not is_followup(generation, self._closed[-1].episode):
            return None
        closed = self._closed.pop()
        self._totals.give_back(closed.advanced)
        return closed.episode

    def name_topics(self, rename: Callable[[Generation], Generation], now_ms: int) -> None:
        """Apply ``rename`` to all generations after topic names became known; published episodes will be revised."""
        for episode in self.all():
            episode.name_topics(rename)
        topic_name = self._context.topics.name
        self._open_stalls = with_names(self._open_stalls, topic_name)
        for settled in self._settled:
            settled.carried = with_names(settled.carried, topic_name)
        if any(settled.unnamed != settled.episode.unnamed for settled in self._settled):
            self.report(now_ms)

    def report(self, now_ms: int, member_id: str | None = None) -> None:
        """Schedule a revision after a new report, unless the member is unknown; it waits for further reports."""
        known = member_id is None or any(each.episode.has(member_id) for each in self._settled)
        if known and self._settled and self._revise_due_ms is None:
            self._revise_due_ms = now_ms + self._context.settle_ms

    def pass_time(self, now_ms: int) -> Iterator[Event]:
        """Do the work that is due by ``now_ms``."""
        if self.open and now_ms >= self._followup_due_ms:
            yield from self._close(self.open, now_ms)
        while self._closed and now_ms >= self._closed[0].settles_ms:
            if self._commits.wait(self._closed[0].episode, late=now_ms >= self._closed[0].latest_ms):
                self._closed[0].due_ms = now_ms + _COMMITS_PERIOD_MS
            else:
                yield from self._settle_next(now_ms)
        if self._revise_due_ms is not None and now_ms >= self._revise_due_ms:
            self._revise_due_ms = None
            for settled in self._settled:
                yield from self._revise(settled)
        if self._look_due_ms is not None and now_ms >= self._look_due_ms:
            yield from self._look_for_commits(now_ms)
        if self._settled and now_ms >= self._settled[0].forget_ms:
            del self._settled[0]
        self.flapping.pass_time(now_ms)
        if rollout := self.rollouts.pass_time(now_ms):
            yield rollout

    def set_back(self, by_ms: int) -> None:
        """Shift the deadlines of settled episodes: the observer's clock was set back by ``by_ms``."""
        self.flapping.set_back(by_ms)
        self.rollouts.set_back(by_ms)
        if self._revise_due_ms is not None:
            self._revise_due_ms -= by_ms
        if self._look_due_ms is not None:
            self._look_due_ms -= by_ms
        for settled in self._settled:
            settled.forget_ms -= by_ms

    def flush(self, now_ms: int) -> Iterator[Event]:
        """Close and settle all episodes now, since the group is gone."""
        if self.open:
            yield from self._close(self.open, now_ms)
        while self._closed:
            yield from self._settle_next(now_ms)
        if rollout := self.rollouts.end():
            yield rollout

    def waiting(self) -> list[Episode]:
        """Return the episodes that have not settled, the newest at the end."""
        return [*(closed.episode for closed in self._closed), *([self.open] if self.open else [])]

    def all(self) -> Iterator[Episode]:
        """Yield the open episode, those that wait to settle and those that may be revised."""
        yield from self.waiting()
        yield from (settled.episode for settled in self._settled)

    def _close(self, episode: Episode, now_ms: int) -> Iterator[Event]:
        self.open = None
        self._totals.advance(now_ms)
        due_ms = now_ms + self._context.settle_ms
        self._closed.append(ClosedEpisode(episode, due_ms, due_ms + COMMITS_WAIT_MAX_MS, self._totals.take_advance()))
        if len(self._closed) > PENDING_MAX:
            yield from self._settle_next(now_ms)

    def _settle_next(self, now_ms: int) -> Iterator[Event]:
        closed = self._closed.pop(0)
        closed.episode.add_outages(self._context.outages_until(now_ms))
        carried = self._open_stalls
        settlement = self._settlement(closed.episode, carried)
        self._open_stalls = settlement.open_stalls
        advanced, counted = closed.advanced, closed.advanced.group_stalls
        if not closed.episode.last.replayed:
            unseen_seconds = closed.episode.unseen_partition_seconds
            self._totals.settle(settlement.closing, advanced.partition_seconds, unseen_seconds)
            counted = self._totals.add_group_stalls(settlement.group_spans, counted)
        generations = [(each.timestamp_ms, each.members) for each in closed.episode.generations if closed.episode.known]
        flapping = self.flapping.add_episode(closed.episode.members_before, generations, now_ms)
        settlement = settlement.with_flapping(flapping)
        awaits, unnamed = self._commits.missing(closed.episode), closed.episode.unnamed
        settled = SettledEpisode(closed.episode, settlement, carried, now_ms + REVISE_MAX_MS, unnamed, counted, awaits)
        if awaits:
            self._look_due_ms = now_ms + LOOK_AGAIN_MS
        self._take_members(settled)
        self._settled.append(settled)
        while len(self._settled) > REVISABLE_MAX:
            oldest = self._settled.pop(0)
            if self._revise_due_ms is not None or (oldest.awaits and not self._commits.missing(oldest.episode)):
                yield from self._revise(oldest)  # its scheduled revision would come too late
        if self.shown is None and closed.episode.known and (before := closed.episode.before):
            older = Episode(None, known=False, generations=[before])  # from before the start: no event reports it
            self._context.generations_before.append(self._settlement(older, {}).closing)
        self.shown = settlement
        if settlement.closing.members and not closed.episode.last.returned:
            self.recent_ms = with_rebalance(self.recent_ms, settlement.closing.timestamp_ms)
        yield from settlement.events
        if closed.episode.known and (
            rollout := self.rollouts.add_episode(
                closed.episode.members_before, settlement.events, self._reports.reported_by, now_ms
            )
        ):
            yield rollout

    def _look_for_commits(self, now_ms: int) -> Iterator[Event]:
        """Publish settled episodes again if commits have ended their stalls in the meantime."""
        self._look_due_ms = None
        for settled in self._settled:
            if settled.awaits:
                settled.awaits = self._commits.missing(settled.episode)
                if settled.awaits:
                    self._look_due_ms = now_ms + LOOK_AGAIN_MS
                else:
                    yield from self._revise(settled)

    def _revise(self, settled: SettledEpisode) -> Iterator[Event]:
        later = self._settlement(settled.episode, settled.carried)
        later = later.with_flapping(settled.settlement.closing.flapping or ())
        before, unnamed_before, settled.unnamed = settled.settlement, settled.unnamed, settled.episode.unnamed
        if revised := revise(before, later, renamed=unnamed_before != settled.unnamed):
            settled.settlement, changed = revised
            self.shown = settled.settlement if self.shown is before else self.shown
            self._take_members(settled)
            if not settled.episode.last.replayed:
                settled.counted = self._totals.add_group_stalls(later.group_spans, settled.counted)
            yield from changed

    def _take_members(self, settled: SettledEpisode) -> None:
        """Keep the slowest and the departed members, and count the expelled ones; also after a late report."""
        settlement = settled.settlement
        self.awaited.add(settlement.closing)
        self.departed.add(settlement.gone)
        if not settled.episode.last.replayed and (more := len(settlement.slowness.expelled) - settled.expelled) > 0:
            settled.expelled += more
            self._totals.expel(more)

    def _settlement(self, episode: Episode, carried: Mapping[Partition, OpenStall]) -> Settlement:
        context, limits = self._context, self._totals.group_stalls.limits
        return settle(context.cluster_id, episode, self._reports, context.topics, carried, limits)
