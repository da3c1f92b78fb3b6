"""The data that a group keeps when its type changes: reports, totals, episodes, loads and last view.

A group may change its type while it runs (KIP-848): the coordinator deletes the group as one type and writes it as the
other type, in one batch of records. For users it is still the same group, so the state of the new type gets the history
of the old state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rebalance_agent.model.epoch_groups import StreamsTopology
from rebalance_agent.model.events import AssignEvent, Event, MemberEvent
from rebalance_agent.model.group import DeadLetterQueue, GroupState, GroupType
from rebalance_agent.model.reported.deliveries_event import DeliveriesEvent
from rebalance_agent.model.reported.seat_event import SeatEvent
from rebalance_agent.tracking.evidence.doubly_owned import DoublyOwned
from rebalance_agent.tracking.evidence.member_reports import MemberReports
from rebalance_agent.tracking.lag.kept_deliveries import KeptDeliveries
from rebalance_agent.tracking.memory.state_budget import NAME_BYTES
from rebalance_agent.tracking.patterns.empty_groups import EmptyTime, UnownedTime
from rebalance_agent.tracking.patterns.loads import GroupLoads, LoadHistory
from rebalance_agent.tracking.rebalance.counters import CounterTotals
from rebalance_agent.tracking.rebalance.episodes.group_episodes import Episodes
from rebalance_agent.tracking.tracker_context import TrackerContext
from rebalance_agent.tracking.views import GroupView, MemberLoad, RunningRebalance

__all__ = ["ASSIGNS_MAX", "GroupHistory"]

ASSIGNS_MAX = 64
"""Maximum number of hashes of ``assign()`` report ids kept to recognise duplicates. There is one report per generation,
and a retry comes within a minute."""


class GroupHistory:
    """The part of a group's state that does not depend on its type. Times are by the observer's clock.

    ``version`` increases with every change of the view. ``offset``: the offset of the last record, which was read at
    ``read_ms``. ``unreported``: the number of later records whose rebalances were not reported (`StateBudget`).
    ``topology_bytes``: the approximate memory of a streams group's topology.
    ``view``: the last view that was built; ``view_measured``: whether its quality is that of its assignment, not of an
    earlier one.
    """

    def __init__(self, group: str, context: TrackerContext, now_ms: int) -> None:
        """Start the history of a group that was first seen at ``now_ms``."""
        self.first_seen_ms = now_ms
        self.offset = self.read_ms = -1
        self.version = self.unreported = 0
        self.view: GroupView | None = None
        self.view_measured = False
        self.reports = MemberReports(context.report_budget)
        self.deliveries = KeptDeliveries(context.deliveries_budget)
        self.doubly_owned = DoublyOwned(self.reports)
        self.totals = CounterTotals(now_ms, context.stall_limits.of(group))
        self.episodes = Episodes(context, self.reports, self.totals)
        self.empty_time = EmptyTime()
        self.unowned = UnownedTime(now_ms)
        self._settle_ms = context.settle_ms
        self._dead_letter_queue: DeadLetterQueue | None = None
        self._topology: StreamsTopology | None = None
        self.topology_bytes = 0
        self._loads = LoadHistory()
        self._assign_ids: list[int] = []

    def load(self, loads: GroupLoads) -> None:
        """Store new loads of the group's partitions."""
        self.version += self._loads.take(loads)

    def set_dead_letter_queue(self, queue: DeadLetterQueue | None) -> bool:
        """Store the dead letter queue of a share group; None if it is unknown. Return whether it has changed."""
        changed = queue != self._dead_letter_queue
        self.version += changed
        self._dead_letter_queue = queue
        return changed

    def set_topology(self, topology: StreamsTopology | None) -> bool:
        """Store the topology of a streams group; None if it is unknown. Return whether it has changed."""
        # Nearly always the same object: a comparison of all names of many groups would delay the reading of records.
        if topology is self._topology or topology == self._topology:
            return False
        self.version += 1
        self._topology = topology
        self.topology_bytes = sum(map(len, topology.names)) + NAME_BYTES * len(topology.names) if topology else 0
        return True

    def add_report(self, event: MemberEvent, now_ms: int, *, stranger: bool) -> bool:
        """Add a member's report, as in `MemberReports.add`."""
        before = self.reports.reported_by(event.member_id)
        added = self.reports.add(event, now_ms, stranger=stranger)
        self.version += self.reports.reported_by(event.member_id) != before
        return added

    def add_seat_report(self, event: SeatEvent, now_ms: int) -> bool:
        """Process a gateway's report about a seat; return whether the occupant changed."""
        changed = self.reports.seats.take(event, now_ms)
        self.version += changed
        return changed

    def add_other_report(self, event: AssignEvent | DeliveriesEvent, *, past: bool) -> None:
        """Process a gateway's sums of deliveries, or, unless it is ``past``, the leader's report of an assignment."""
        if isinstance(event, DeliveriesEvent):
            self.version += self.deliveries.add(event)
        elif not past:
            self._add_assign_report(event)

    def _add_assign_report(self, event: AssignEvent) -> None:
        """Process the leader's report of an ``assign()`` call; duplicates are ignored."""
        identity = hash(event.event_id)  # the sender chose the id, so it may be long
        if identity in self._assign_ids:
            return
        self._assign_ids.append(identity)
        del self._assign_ids[:-ASSIGNS_MAX]
        begins = self.totals.expect_reports()
        if event.error is not None and event.timestamp_ms >= self.first_seen_ms - self._settle_ms:
            self.totals.fail_assign()
        self.version += begins or event.error is not None

    def own_doubly(self, partition_seconds: float) -> None:
        """Count partition-seconds in which partitions had two owners, if there were any."""
        if partition_seconds:
            self.totals.own_doubly(partition_seconds)
            self.version += 1

    def restart(self, latest_ms: int, now_ms: int) -> Iterator[Event]:
        """Settle all episodes, since the observer's clock was set back from ``latest_ms`` to ``now_ms``."""
        self.totals.advance(latest_ms)
        self.episodes.set_back(latest_ms - now_ms)
        yield from self.episodes.flush(now_ms)
        self.totals.restart(now_ms)
        self.first_seen_ms = min(self.first_seen_ms, now_ms)
        self.version += 1

    def complete_view(self, base_view: GroupView, state: GroupState, running: RunningRebalance | None) -> GroupView:
        """Return ``base_view`` plus the parts that change without the members: rebalances, loads and totals."""
        shown, skews = self.episodes.shown, self._loads.skews(base_view.members)
        return replace(
            base_view,
            members=self._with_reports(base_view.members),
            state=state,
            version=self.version,
            first_seen_ms=self.first_seen_ms,
            running=running,
            unsettled_ms=self.episodes.unsettled_ms,
            unsettled=sum(bool(each.last.members) and not each.last.replayed for each in self.episodes.waiting()),
            lag_skew_ratio=skews.lag,
            rate_skew_ratio=skews.rate,
            dead_letter_queue=self._dead_letter_queue if base_view.group_type is GroupType.SHARE else None,
            deliveries=self.deliveries.total if base_view.group_type is GroupType.SHARE else None,
            topology=self._topology if base_view.group_type is GroupType.STREAMS else None,
            last_episode=shown.closing if shown else None,
            rollout=self.episodes.rollouts.shown,
            rollout_in_progress=self.episodes.rollouts.going_well,
            flapping=self.episodes.flapping.shown,
            former_owner=self.doubly_owned.last,
            last_join_seconds=shown.longest("join_seconds") if shown else None,
            last_sync_seconds=shown.longest("sync_seconds") if shown else None,
            last_assignor_wait_seconds=shown.longest("assignor_wait_seconds") if shown else None,
            last_reconcile_seconds=shown.longest("reconcile_seconds") if shown else None,
            awaited=self.episodes.awaited.shown,
            departed=self.episodes.departed.shown,
            recent_ms=self.episodes.recent_ms,
            counters=self.totals.counters,
            stalled_time=self.totals.group_stalls,
            counted_until_ms=self.totals.counted_until_ms,
        )

    def _with_reports(self, members: tuple[MemberLoad, ...]) -> tuple[MemberLoad, ...]:
        if not (self.reports or self.reports.seats):
            return members
        reported = [self.reports.reported_by(member.member_id) for member in members]
        return tuple(
            replace(member, where=report.where, occupant=report.occupant, software=report.software)
            for member, report in zip(members, reported, strict=True)
        )
