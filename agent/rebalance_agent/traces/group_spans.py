"""Builds spans from a group's own events: generations and aborted rebalances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rebalance_agent.model.events import AbortedEvent, GenerationEvent, MemberSnapshot
from rebalance_agent.model.group import GroupType
from rebalance_agent.traces.span import (
    ROOT,
    Attributes,
    Link,
    Span,
    group_attributes,
    known_attributes,
    span_id,
    trace_id,
)

__all__ = ["MEMBER_SPANS_MAX", "RETURN", "aborted_spans", "generation_spans"]

MEMBER_SPANS_MAX = 100
"""Maximum number of members of a generation that get a span, longest stop first: a view of a trace shows no more."""

RETURN = "static member returned"
"""Name of the span of a static member that came back and got its partitions, without a rebalance."""

_PHASES = {GroupType.CLASSIC: ("join", "sync")}
_EPOCH_PHASES = ("target assignment", "reconcile")


def generation_spans(event: GenerationEvent, links: tuple[Link, ...] = ()) -> tuple[Span, ...]:
    """Return the root span of the generation's trace, and the known spans of its phases and of its members' stops.

    The return of a static member within the generation is a child of the root, since no rebalance took place. A
    revision has no spans: spans are sent once, when the episode is settled. ``links``: further links of the first span.
    """
    if event.revision or event.part:
        return ()
    trace = trace_id(event.cluster_id, event.group, event.generation)
    phases = event.phases
    known = [moment_ms for moment_ms in (phases.started_ms, phases.joined_ms) if moment_ms is not None]
    end_ms = max([*known, phases.completed_ms])
    start_ms = min([*known, end_ms])
    attributes = group_attributes(event.cluster_id, event.group, event.generation)
    facts, error = {**attributes, **_facts(event)}, _expelled(event)
    root = Span(trace, span_id(trace, ROOT), None, ROOT, start_ms, end_ms, facts, (*_followed(event), *links), error)
    if event.previous_generation == event.generation:
        return (replace(root, span_id=span_id(trace, RETURN, event.event_id), parent_id=root.span_id, name=RETURN),)
    return (root, *_phases(event, root, attributes), *_stops(event, root, attributes))


def aborted_spans(event: AbortedEvent) -> tuple[Span, ...]:
    """Return the root span of a generation that never completed, marked as failed; the start is unknown."""
    if event.revision:
        return ()
    trace = trace_id(event.cluster_id, event.group, event.generation)
    attributes = {
        **group_attributes(event.cluster_id, event.group, event.generation),
        "kafka.rebalance.event_id": event.event_id,
        "kafka.group.type": event.group_type.value,
        "kafka.rebalance.aborted_generations": event.generations,
    }
    at_ms, reason = event.timestamp_ms, event.reason.value
    return (Span(trace, span_id(trace, ROOT), None, ROOT, at_ms, at_ms, attributes, error=reason),)


def _facts(event: GenerationEvent) -> Attributes:
    stall = event.stall
    return known_attributes({
        "kafka.rebalance.event_id": event.event_id,
        "kafka.group.type": event.group_type.value,
        "kafka.rebalance.source": event.source.value,
        "kafka.rebalance.protocol": event.protocol.value,
        "kafka.rebalance.assignor": event.assignor,
        "kafka.rebalance.trigger": event.trigger.value,
        "kafka.rebalance.causes": tuple(cause.value for cause in event.causes),
        "kafka.rebalance.episode_generation": event.episode_generation,
        "kafka.rebalance.closes_episode": event.closes_episode,
        "kafka.rebalance.members": len(event.members),
        "kafka.rebalance.partitions": sum(event.topics.values()),
        "kafka.rebalance.partitions.moved": event.moved,
        "kafka.rebalance.partitions.needed": event.needed,
        "kafka.rebalance.partitions.revoked": event.revoked,
        "kafka.rebalance.partitions.assigned": event.assigned,
        "kafka.rebalance.partitions.lost": event.lost,
        "kafka.rebalance.partitions.unassigned": event.unassigned,
        "kafka.rebalance.skew_ratio": event.skew_ratio,
        "kafka.rebalance.slowest.client_id": event.slowest_client_id,
        "kafka.rebalance.slowest.seconds": event.slowest_seconds,
        "kafka.rebalance.stall.basis": stall.basis.value if stall else None,
        "kafka.rebalance.stall.lower_seconds": stall.lower_seconds if stall else None,
        "kafka.rebalance.stall.upper_seconds": stall.seconds if stall else None,
        "kafka.rebalance.stall.partition_seconds": stall.partition_seconds if stall else None,
    })  # fmt: skip


def _followed(event: GenerationEvent) -> tuple[Link, ...]:
    """Return a follow-up's link to the first generation of its episode."""
    if event.generation == event.episode_generation:
        return ()
    first = trace_id(event.cluster_id, event.group, event.episode_generation)
    return (Link(first, span_id(first, ROOT)),)


def _expelled(event: GenerationEvent) -> str | None:
    """Return why the rebalance failed for the slowest member, if that member was removed; otherwise None."""
    slowest = event.slowest_member_id
    if slowest is None or any(member.member_id == slowest for member in event.members):
        return None
    return f"member {slowest} was removed because it did not rejoin or revoke in time"


def _phases(event: GenerationEvent, root: Span, attributes: Attributes) -> Iterator[Span]:
    first, second = _PHASES.get(event.group_type, _EPOCH_PHASES)
    started_ms, joined_ms = event.phases.started_ms, event.phases.joined_ms
    for name, start_ms, end_ms in ((first, started_ms, joined_ms), (second, joined_ms, event.phases.completed_ms)):
        if start_ms is not None and end_ms is not None and start_ms <= end_ms:
            yield Span(root.trace_id, span_id(root.trace_id, name), root.span_id, name, start_ms, end_ms, attributes)


def _stops(event: GenerationEvent, root: Span, attributes: Attributes) -> Iterator[Span]:
    stops = [(member.stop_seconds, member) for member in event.members if member.stop_seconds is not None]
    for seconds, member in sorted(stops, key=lambda stop: -stop[0])[:MEMBER_SPANS_MAX]:
        yield Span(
            root.trace_id,
            span_id(root.trace_id, "stop", member.member_id),
            root.span_id,
            "stop",
            root.start_ms,
            root.start_ms + round(seconds * 1000),
            {**attributes, **_member(event, member)},
        )


def _member(event: GenerationEvent, member: MemberSnapshot) -> Attributes:
    return {
        **group_attributes(event.cluster_id, event.group, event.generation, member.where),
        "kafka.member.id": member.member_id,
        "messaging.client.id": member.client_id,
        "client.address": member.host,
    }
