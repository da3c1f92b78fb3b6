"""Builds the spans of rollouts, and the links of rebalances to the rollout during which they took place."""

from __future__ import annotations

from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.traces.span import ROOT, Link, Span, group_attributes, known_attributes, span_id, trace_id

__all__ = ["LINKS_MAX", "NAME", "RolloutSpans"]

LINKS_MAX = 128
"""Maximum number of links of one span, OpenTelemetry's default limit."""

NAME = "rollout"
"""Name of the span of a rollout."""


class RolloutSpans:
    """The rollouts that run, at most one per group. Not thread-safe."""

    def __init__(self) -> None:
        """Start without rollouts."""
        self._running: dict[str, Link] = {}

    def spans(self, event: RolloutEvent) -> tuple[Span, ...]:
        """Return a trace of one span for a rollout that has ended, with links to its last `LINKS_MAX` rebalances.

        Generations that the group skipped between the first and the last one also have links, which lead to no span.
        """
        if event.closed:
            self._running.pop(event.group, None)
            return _spans(event)
        self._running[event.group] = Link(event.event_id, _span_id(event))
        return ()

    def links(self, event: GenerationEvent) -> tuple[Link, ...]:
        """Return the link to the rollout that runs in the event's group.

        Rebalances that settled before the rollout was recognised have none: their spans were sent earlier.
        """
        running = self._running.get(event.group)
        return (running,) if running else ()


def _span_id(event: RolloutEvent) -> str:
    return span_id(event.event_id, NAME)


def _spans(event: RolloutEvent) -> tuple[Span, ...]:
    first = max(event.first_generation, event.last_generation - LINKS_MAX + 1)
    traces = [
        trace_id(event.cluster_id, event.group, generation) for generation in range(first, event.last_generation + 1)
    ]
    facts: dict[str, str | int | float | tuple[str, ...] | None] = {
        "kafka.rollout.event_id": event.event_id,
        "kafka.rollout.rebalances": event.rebalances,
        "kafka.rollout.members": event.members,
        "kafka.rollout.members_replaced": event.members_replaced,
        "kafka.rollout.stalled_partition_seconds": event.stalled_partition_seconds,
        "kafka.rollout.stall_seconds": event.stall_seconds,
        "kafka.rollout.workload": event.workload,
        "kafka.rollout.from_images": event.from_images or None,
        "kafka.rollout.to_images": event.to_images or None,
    }
    return (
        Span(
            event.event_id,
            _span_id(event),
            None,
            NAME,
            min(event.started_ms, event.timestamp_ms),
            event.timestamp_ms,
            {**group_attributes(event.cluster_id, event.group, event.last_generation), **known_attributes(facts)},
            tuple(Link(trace, span_id(trace, ROOT)) for trace in traces),
        ),
    )
