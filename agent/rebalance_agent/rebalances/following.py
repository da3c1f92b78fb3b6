"""What following a group takes, whatever its type: members' reports, episodes, totals, and the view made of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from rebalance_agent.model.episode import Source
from rebalance_agent.model.events import AssignEvent, Event, GroupGoneEvent, event_id
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.rebalances.episodes import REVISE_MAX_MS, Episodes
from rebalance_agent.rebalances.ledger import Ledger
from rebalance_agent.rebalances.memberlog import MemberLog
from rebalance_agent.rebalances.surroundings import Surroundings
from rebalance_agent.rebalances.views import GroupView, RunningRebalance

__all__ = ["ASSIGNS_MAX", "Following"]

ASSIGNS_MAX = 64
"""Reports of ``assign()`` whose ids are remembered: a retry comes within a minute, and there is one a generation."""


class Following:
    """One group. Times handed in are the observer's."""

    group_type = GroupType.CLASSIC

    def __init__(self, group: str, around: Surroundings, now_ms: int) -> None:
        """Begin without any record; until there is one, there is no view."""
        self.group = group
        self.version = 0
        self.first_seen_ms = now_ms
        self._around = around
        self._log = MemberLog()
        self._ledger = Ledger(now_ms)
        self._assigns: deque[str] = deque(maxlen=ASSIGNS_MAX)
        self._episodes = Episodes(around, self._log, self._ledger)
        self._portrait: GroupView | None = None

    @property
    def forget_ms(self) -> int:
        """When what nobody needs any more is to be let go."""
        return self._ledger.counted_until_ms + REVISE_MAX_MS

    def report_assign(self, event: AssignEvent) -> None:
        """The leader said how its ``assign()`` went; the same report twice counts once."""
        if event.event_id in self._assigns:
            return
        self._assigns.append(event.event_id)
        begins = self._ledger.expect_reports()
        if event.error is not None:
            self._ledger.fail_assign()
        if begins or event.error is not None:
            self.version += 1

    def flush(self, now_ms: int) -> Iterator[Event]:
        """Settle at once what is not settled: the group changes its type, and its next records are of another kind."""
        yield from self._episodes.flush(now_ms)

    def _deleted(self, at_ms: int, seen_ms: int, number: int) -> Iterator[Event]:
        """The group was deleted: what is not settled settles now."""
        yield from self._episodes.flush(seen_ms)
        cluster_id, kind = self._around.cluster_id, self.group_type
        identity = event_id(GroupGoneEvent.KIND, cluster_id, self.group, kind, number, at_ms)
        yield GroupGoneEvent(identity, cluster_id, self.group, at_ms, Source.RECORDS, kind)

    def _finish(self, portrait: GroupView, state: GroupState, running: RunningRebalance | None) -> GroupView:
        """``portrait`` with what changes without the members: the running and the last rebalance, and the totals."""
        shown = self._episodes.shown
        return replace(
            portrait,
            state=state,
            version=self.version,
            running=running,
            last_episode=shown.closing if shown else None,
            last_join_seconds=shown.join_seconds if shown else None,
            last_sync_seconds=shown.sync_seconds if shown else None,
            slowest_client_id=shown.slowest.client_id if shown and shown.slowest else None,
            slowest_host=shown.slowest.host if shown and shown.slowest else None,
            slowest_seconds=shown.slowness.seconds if shown and shown.slowest else None,
            counters=self._ledger.counters,
            counted_until_ms=self._ledger.counted_until_ms,
        )
