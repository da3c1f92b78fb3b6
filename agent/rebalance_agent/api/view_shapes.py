"""Builds the API's answers from the tracker's views and the published events. Pure.

A shape's field has the value of the attribute with the same name, unless this module sets the field. So a field that is
added to a view or an event appears in the API once ``shapes`` describes the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar, cast

from rebalance_agent.api.parts.counter_parts import GroupCounters
from rebalance_agent.api.parts.rebalance_parts import GenerationStep, LastRebalance, SlowestMember
from rebalance_agent.api.shapes import (
    GroupDetail,
    GroupMember,
    GroupStall,
    GroupSummary,
    HostSpreadSummary,
    LagSummary,
    Rebalance,
    RebalanceKind,
)
from rebalance_agent.model.events import AbortedEvent, Callback, GenerationEvent
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.tracking.lag.group_lag import GroupLag
from rebalance_agent.tracking.views import GroupView, MemberLoad

__all__ = ["build_aborted", "build_detail", "build_rebalance", "build_summary", "reports_about"]

NEAR_MS = 60_000
"""Longest time (ms) between a rebalance and a report about it: members have their own clocks, and callbacks take
time."""

_Shape = TypeVar("_Shape")


class _Reported(Protocol):
    """The fields of a report that determine to which rebalance it belongs."""

    @property
    def event_id(self) -> str: ...
    @property
    def timestamp_ms(self) -> int: ...
    @property
    def generation(self) -> int: ...
    @property
    def callback(self) -> Callback: ...


_Report = TypeVar("_Report", bound=_Reported)


def build_summary(view: GroupView, lag: GroupLag | None = None) -> GroupSummary:
    """Return the group's entry in the list; ``lag``: None if the lag is not measured."""
    return _shaped(
        GroupSummary,
        view,
        members=len(view.members),
        flapping=tuple(member.name for member in view.flapping),
        rebalances=sum(view.counters.completed.values()) + view.unsettled,
        aborted=view.counters.aborted,
        host_spread=view.host_spread and _shaped(HostSpreadSummary, view.host_spread),
        stalled=_stall_now(view),
        lag=lag and _shaped(LagSummary, lag),
        last=view.last_episode and _shaped(LastRebalance, view.last_episode),
    )


def build_detail(view: GroupView, now_ms: int, lag: GroupLag | None = None) -> GroupDetail:
    """Return all data of the group at ``now_ms``; ``lag``: None if the lag is not measured."""
    completed = {str(trigger): count for trigger, count in sorted(view.counters.completed.items())}
    return _shaped(
        GroupDetail,
        view,
        now_ms=now_ms,
        summary=build_summary(view, lag),
        members=tuple(map(_member, view.members)),
        topic_lags=lag.topics if lag else None,
        topic_spread=dict(view.topic_spread),
        slowest=_slowest_of([view.last_episode]) if view.last_episode else None,
        counters=_shaped(GroupCounters, view.counters, completed=completed),
    )


def build_rebalance(events: Sequence[GenerationEvent]) -> Rebalance:
    """Return one rebalance, built from the events of its generations, in order; the last event has the totals."""
    closing = events[-1]
    return _shaped(
        Rebalance,
        closing,
        id=closing.event_id,
        kind=RebalanceKind.COMPLETED,
        previous_generation=events[0].previous_generation,
        started_ms=events[0].phases.started_ms,
        members=len(closing.members),
        slowest=_slowest_of(events),
        generations=tuple(_shaped(GenerationStep, event) for event in events),
    )


def build_aborted(event: AbortedEvent) -> Rebalance:
    """Return a rebalance that never completed: only its generations and its time are known."""
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
        leader_member_id=None,
        members=0,
        moved=None,
        needed=None,
        revoked=None,
        assigned=0,
        lost=None,
        lost_min=None,
        unassigned=0,
        noop=False,
        slowest=None,
        revision=event.revision,
        generations=(),
    )


def reports_about(rebalance: Rebalance, reports: Iterable[_Report]) -> tuple[_Report, ...]:
    """Return the members' reports about this rebalance, oldest first.

    A member revokes partitions in the previous generation, and is assigned partitions in the new generation. Reports of
    clients that do not know their generation (-1) are selected by time alone.
    """
    earliest_ms = (rebalance.started_ms or rebalance.timestamp_ms) - NEAR_MS
    latest_ms = rebalance.timestamp_ms + NEAR_MS
    before = -1 if rebalance.previous_generation is None else rebalance.previous_generation

    def belongs(report: _Report) -> bool:
        if not earliest_ms <= report.timestamp_ms <= latest_ms:
            return False
        if report.generation < 0:
            return True
        if report.callback is Callback.ASSIGNED:
            return before < report.generation <= rebalance.generation
        return before <= report.generation < rebalance.generation

    return tuple(sorted(filter(belongs, reports), key=lambda report: (report.timestamp_ms, report.event_id)))


def _shaped(shape: type[_Shape], source: object, /, **others: object) -> _Shape:
    """Return a ``shape`` with the fields ``others``; all other fields are attributes of ``source``."""
    names = (name for name in cast("Any", shape).__dataclass_fields__ if name not in others)
    return shape(**{name: getattr(source, name) for name in names}, **others)


def _member(member: MemberLoad) -> GroupMember:
    partitions = None if member.assigned is None else count_partitions(member.assigned)
    return _shaped(GroupMember, member, host=member.host.removeprefix("/"), partitions=partitions)


def _stall_now(view: GroupView) -> GroupStall | None:
    stalled = view.stalled_time
    if view.running is None or stalled.since_ms is None:
        return None
    return GroupStall(stalled.since_ms, stalled.limits.warning_seconds, stalled.limits.critical_seconds)


def _slowest_of(events: Sequence[GenerationEvent]) -> SlowestMember | None:
    closing = events[-1]
    client_id, host, member_id = closing.slowest_client_id, closing.slowest_host, closing.slowest_member_id
    if client_id is None:
        # Events of earlier releases name only a member of the group.
        members = (member for event in events for member in event.members)
        member = next((member for member in members if member.member_id == member_id), None)
        if member is None:
            return None
        client_id, host = member.client_id, member.host
    bounds = closing.slowest_seconds, closing.slowest_lower_seconds
    return SlowestMember(client_id, (host or "").removeprefix("/"), member_id, *bounds)
