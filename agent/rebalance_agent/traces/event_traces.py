"""Converts any event to spans: the entry point of this package."""

from __future__ import annotations

from rebalance_agent.model.events import AbortedEvent, AssignEvent, Event, GenerationEvent, MemberEvent
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.traces.group_spans import aborted_spans, generation_spans
from rebalance_agent.traces.member_spans import MemberSpans, assign_spans
from rebalance_agent.traces.rollout_spans import RolloutSpans
from rebalance_agent.traces.span import Span

__all__ = ["EventTraces"]


class EventTraces:
    """Converts the events of one process to spans, in order. Not thread-safe."""

    def __init__(self) -> None:
        """Start without events."""
        self._members, self._rollouts = MemberSpans(), RolloutSpans()

    def spans(self, event: Event) -> tuple[Span, ...]:
        """Return the spans that ``event`` completes; none if the event does not belong to a rebalance."""
        if isinstance(event, GenerationEvent):
            return generation_spans(event, self._rollouts.links(event))
        if isinstance(event, MemberEvent):
            return self._members.spans(event)
        if isinstance(event, AssignEvent):
            return assign_spans(event)
        if isinstance(event, AbortedEvent):
            return aborted_spans(event)
        return self._rollouts.spans(event) if isinstance(event, RolloutEvent) else ()
