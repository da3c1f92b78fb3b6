"""Assembles spans from members' events: a member learns the new generation only during the rebalance."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from rebalance_agent.model.events import AssignEvent, Callback, MemberEvent
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.traces.span import (
    ROOT,
    Attributes,
    Span,
    group_attributes,
    known_attributes,
    representable,
    span_id,
    trace_id,
)

__all__ = ["MEMBERS_MAX", "STEPS_MAX", "MemberSpans", "assign_spans"]

MEMBERS_MAX = 10_000
"""Maximum number of members whose events wait for a generation; beyond it, the oldest member's events are dropped."""

STEPS_MAX = 32
"""Maximum number of waiting steps of one member; the newest are kept. A rebalance has one or two revoked callbacks,
with at most four steps each."""

SECONDS_MAX = 10**8
"""Longest duration to accept, in seconds (three years): members may report any number."""


class _Step(NamedTuple):
    """A part of a member's rebalance; ``event``: the id of the event that reported the part."""

    name: str
    start_ms: int
    end_ms: int
    event: str
    attributes: Attributes
    error: str | None = None


class MemberSpans:
    """Holds the steps of members until their generation is known. Not thread-safe.

    A revoked callback may run in the previous generation; the member's next ``assigned`` event has the new generation.
    ``lost`` and ``left`` belong to the generation after the member's last one, which its departure causes.
    """

    def __init__(self) -> None:
        """Start without events."""
        self._waiting: OrderedDict[tuple[str, str, str], tuple[_Step, ...]] = OrderedDict()

    def spans(self, event: MemberEvent) -> tuple[Span, ...]:
        """Return the spans that an event completes: the member's span, and the parts of its rebalance as children.

        There are none for an event that only explains an earlier one, while the generation is awaited, or if the client
        does not know the generation.
        """
        if event.revision:
            return ()
        key = (event.group, event.process, event.client_id)
        shown = (step for step in _steps(event) if representable(step.start_ms, step.end_ms))
        steps = (*self._waiting.pop(key, ()), *shown)[-STEPS_MAX:]
        if event.callback is Callback.REVOKED:
            self._waiting[key] = steps
            if len(self._waiting) > MEMBERS_MAX:
                self._waiting.popitem(last=False)
            return ()
        if event.generation < 0:
            return ()
        departed = event.callback in (Callback.LOST, Callback.LEFT)
        return tuple(_member_spans(event, event.generation + departed, steps)) if steps else ()


def assign_spans(event: AssignEvent) -> tuple[Span, ...]:
    """Return the span of the leader's assignor; none if the leader's client does not report the generation."""
    if event.revision or event.generation < 0:
        return ()
    trace = trace_id(event.cluster_id, event.group, event.generation)
    attributes = {
        **group_attributes(event.cluster_id, event.group, event.generation, event.where),
        "messaging.client.id": event.client_id,
        "kafka.rebalance.assignor": event.assignor,
        "kafka.rebalance.members": event.members,
        "kafka.rebalance.partitions": event.partitions,
    }
    span = Span(
        trace,
        span_id(trace, "assignor", event.event_id),
        span_id(trace, ROOT),
        "assignor",
        event.timestamp_ms - _ms(event.duration_seconds),
        event.timestamp_ms,
        attributes,
        error=event.error,
    )
    return (span,) if representable(span.start_ms, span.end_ms) else ()


def _member_spans(event: MemberEvent, generation: int, steps: tuple[_Step, ...]) -> Iterator[Span]:
    trace = trace_id(event.cluster_id, event.group, generation)
    place = group_attributes(event.cluster_id, event.group, generation, event.where)
    names = {
        "kafka.member.id": event.member_id,
        "kafka.member.instance_id": event.instance_id,
        "messaging.client.id": event.client_id,
        "client.address": event.host,
    }
    attributes = {**place, **{name: text for name, text in names.items() if text}}
    member = span_id(trace, "member", event.event_id)
    yield Span(
        trace,
        member,
        span_id(trace, ROOT),
        "member",
        min(step.start_ms for step in steps),
        max(step.end_ms for step in steps),
        attributes,
        error=next((step.error for step in steps if step.error), None),
    )
    for step in steps:
        yield Span(
            trace,
            span_id(trace, step.name, step.event),
            member,
            step.name,
            step.start_ms,
            step.end_ms,
            {**attributes, **step.attributes},
            error=step.error,
        )


def _steps(event: MemberEvent) -> Iterator[_Step]:
    """Yield the parts that one event reports, in order of time: the member's waits, and the callback."""
    at_ms = event.started_ms
    sync_ms = at_ms - _ms(event.sync_seconds)
    if event.join_seconds is not None:
        yield _Step("join", sync_ms - _ms(event.join_seconds), sync_ms, event.event_id, {})
    if event.sync_seconds is not None:
        yield _Step("sync", sync_ms, at_ms, event.event_id, {})
    if event.stop_seconds is not None:
        yield _Step("stop", at_ms - _ms(event.stop_seconds), at_ms, event.event_id, {})
    facts: dict[str, str | int | None] = {
        "kafka.rebalance.partitions": count_partitions(event.partitions),
        "kafka.rebalance.reason": event.reason,
        "kafka.rebalance.reprocessed_records": event.reprocessed_records,
        "kafka.rebalance.rejected_commits": event.rejected_commits,
        "kafka.rebalance.evidence": event.evidence and event.evidence.value,
    }
    error = event.error or ("the member lost its partitions" if event.callback is Callback.LOST else None)
    yield _Step(event.callback.value, at_ms, event.timestamp_ms, event.event_id, known_attributes(facts), error)


def _ms(seconds: float | None) -> int:
    return round(max(0.0, min(seconds or 0.0, SECONDS_MAX)) * 1000)
