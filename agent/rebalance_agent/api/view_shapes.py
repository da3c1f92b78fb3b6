"""From what the tracker knows and has said to what the API answers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rebalance_agent.api.shapes import (
    GenerationStep,
    GroupCounters,
    GroupDetail,
    GroupMember,
    GroupSummary,
    LastRebalance,
    Rebalance,
    RebalanceKind,
    SlowestMember,
)
from rebalance_agent.model.events import AbortedEvent, Callback, GenerationEvent, MemberEvent
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.tracking.views import GroupView

__all__ = ["draw_aborted", "draw_detail", "draw_rebalance", "draw_summary", "reports_about"]

NEAR_MS = 60_000
"""How far from a rebalance a report of it may be dated: members have clocks of their own, and callbacks may be slow."""


def draw_summary(view: GroupView) -> GroupSummary:
    """The group's line of the list."""
    episode = view.last_episode
    return GroupSummary(
        group=view.group,
        group_type=view.group_type,
        state=view.state,
        source=view.source,
        generation=view.generation,
        assignor=view.assignor,
        protocol=view.protocol,
        members=len(view.members),
        partitions=view.partitions,
        unassigned=view.unassigned,
        skew_ratio=view.skew_ratio,
        idle_members=view.idle_members,
        flapping=tuple(each.name for each in view.flapping),
        running=view.running,
        rebalances=sum(view.counters.completed.values()),
        aborted=view.counters.aborted,
        last=None
        if episode is None
        else LastRebalance(episode.timestamp_ms, episode.trigger, episode.stall, episode.moved),
    )


def draw_detail(view: GroupView, now_ms: int) -> GroupDetail:
    """Everything of the group."""
    return GroupDetail(
        now_ms=now_ms,
        summary=draw_summary(view),
        first_seen_ms=view.first_seen_ms,
        members=tuple(
            GroupMember(
                member_id=each.member_id,
                instance_id=each.instance_id,
                client_id=each.client_id,
                host=each.host.removeprefix("/"),
                assigned=each.assigned,
                partitions=None if each.assigned is None else count_partitions(each.assigned),
                target=each.target,
                where=each.where,
            )
            for each in view.members
        ),
        static_members=view.static_members,
        imbalance=view.imbalance,
        lag_skew_ratio=view.lag_skew_ratio,
        rate_skew_ratio=view.rate_skew_ratio,
        copartition_breaks=view.copartition_breaks,
        topic_spread=dict(view.topic_spread),
        rebalance_timeout_seconds=view.rebalance_timeout_seconds,
        metadata_bytes=view.metadata_bytes,
        last_join_seconds=view.last_join_seconds,
        last_sync_seconds=view.last_sync_seconds,
        last_reconcile_seconds=view.last_reconcile_seconds,
        slowest=_slowest_now(view),
        counters=_counters(view),
        counted_until_ms=view.counted_until_ms,
    )


def draw_rebalance(events: Sequence[GenerationEvent]) -> Rebalance:
    """One rebalance from the events of its generations, in order; the last one speaks for the whole."""
    closing = events[-1]
    return Rebalance(
        id=closing.event_id,
        kind=RebalanceKind.COMPLETED,
        timestamp_ms=closing.timestamp_ms,
        generation=closing.generation,
        previous_generation=events[0].previous_generation,
        started_ms=events[0].phases.started_ms,
        trigger=closing.trigger,
        causes=closing.causes,
        stall=closing.stall,
        assignor=closing.assignor,
        protocol=closing.protocol,
        members=len(closing.members),
        moved=closing.moved,
        needed=closing.needed,
        revoked=closing.revoked,
        assigned=closing.assigned,
        lost=closing.lost,
        unassigned=closing.unassigned,
        noop=closing.noop,
        slowest=_slowest_of(events),
        revision=closing.revision,
        generations=tuple(_step(event) for event in events),
    )


def draw_aborted(event: AbortedEvent) -> Rebalance:
    """A generation that never came: nobody knows more of it than its number."""
    return Rebalance(
        id=event.event_id,
        kind=RebalanceKind.ABORTED,
        timestamp_ms=event.timestamp_ms,
        generation=event.generation,
        previous_generation=event.generation - event.generations,
        started_ms=None,
        trigger=None,
        causes=(),
        stall=None,
        assignor=None,
        protocol=None,
        members=0,
        moved=0,
        needed=None,
        revoked=0,
        assigned=0,
        lost=0,
        unassigned=0,
        noop=False,
        slowest=None,
        revision=event.revision,
        generations=(),
    )


def reports_about(rebalance: Rebalance, reports: Iterable[MemberEvent]) -> tuple[MemberEvent, ...]:
    """What members said of themselves in this rebalance, oldest first.

    A member stops in the generation that it was in before, and resumes in the new one. Clients that do not tell their
    generation (-1) are taken by time alone.
    """
    earliest_ms = (rebalance.started_ms or rebalance.timestamp_ms) - NEAR_MS
    latest_ms = rebalance.timestamp_ms + NEAR_MS
    before = -1 if rebalance.previous_generation is None else rebalance.previous_generation

    def belongs(report: MemberEvent) -> bool:
        if not earliest_ms <= report.timestamp_ms <= latest_ms:
            return False
        if report.generation < 0:
            return True
        if report.callback is Callback.ASSIGNED:
            return before < report.generation <= rebalance.generation
        return before <= report.generation < rebalance.generation

    return tuple(sorted(filter(belongs, reports), key=lambda report: (report.timestamp_ms, report.event_id)))


def _step(event: GenerationEvent) -> GenerationStep:
    return GenerationStep(
        event_id=event.event_id,
        generation=event.generation,
        timestamp_ms=event.timestamp_ms,
        trigger=event.trigger,
        moved=event.moved,
        join_seconds=event.join_seconds,
        sync_seconds=event.sync_seconds,
        reconcile_seconds=event.reconcile_seconds,
    )


def _slowest_of(events: Sequence[GenerationEvent]) -> SlowestMember | None:
    wanted = events[-1].slowest_member_id
    member = next((each for event in events for each in event.members if each.member_id == wanted), None)
    if member is None:
        return None
    return SlowestMember(member.client_id, member.host.removeprefix("/"), member.member_id, events[-1].slowest_seconds)


def _slowest_now(view: GroupView) -> SlowestMember | None:
    if view.slowest_client_id is None:
        return None
    host = (view.slowest_host or "").removeprefix("/")
    member_id = view.last_episode.slowest_member_id if view.last_episode else None
    return SlowestMember(view.slowest_client_id, host, member_id, view.slowest_seconds)


def _counters(view: GroupView) -> GroupCounters:
    counters = view.counters
    return GroupCounters(
        completed={str(trigger): count for trigger, count in sorted(counters.completed.items())},
        followups=counters.followups,
        aborted=counters.aborted,
        assign_errors=counters.assign_errors,
        noop=counters.noop,
        revoked=counters.revoked,
        assigned=counters.assigned,
        lost=counters.lost,
        moved=counters.moved,
        moved_excess=counters.moved_excess,
        polled_changes=counters.polled_changes,
        stalled_partition_seconds=counters.stalled_partition_seconds,
        partition_seconds=counters.partition_seconds,
    )
