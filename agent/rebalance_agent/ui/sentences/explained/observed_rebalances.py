"""Reads the last rebalances of a group from an agent's answers. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_agent.api.shapes import RebalanceDetail, RebalanceKind
from rebalance_agent.model.events import Event, GenerationEvent, MemberEvent
from rebalance_agent.ui.sentences.explained.observed_rebalance import ObservedRebalance
from rebalance_agent.ui.sentences.named_members import member_names

__all__ = ["every_event", "observed_rebalances"]

ABORTED_MAX = 1_000
"""Maximum consecutive aborted generations kept; a malformed record may claim any number."""


def every_event(details: Sequence[RebalanceDetail]) -> Iterator[Event]:
    """Yield the events and the members' reports of ``details`` (newest first), from the oldest rebalance on."""
    return (event for detail in reversed(details) for event in (*detail.events, *detail.reports))


def observed_rebalances(details: Sequence[RebalanceDetail], last: int) -> list[ObservedRebalance]:
    """Return the ``last`` completed rebalances in ``details`` (newest first), oldest first."""
    completed = [each for each in details if each.rebalance.kind is RebalanceKind.COMPLETED]
    aborted = [each.rebalance for each in details if each.rebalance.kind is RebalanceKind.ABORTED]
    result = []
    for index, detail in enumerate(completed[:last]):
        generations = _generations(detail.events)
        if not generations:
            continue
        first = generations[0].previous_generation
        earlier = _generations(completed[index + 1].events) if index + 1 < len(completed) else ()
        earlier = earlier or _generations(detail.before)
        before = earlier[-1] if earlier and earlier[-1].generation == first else None
        lost = tuple(
            sorted(
                number
                for rebalance in aborted
                if (first or 0) < rebalance.generation < generations[-1].generation
                for number in range((rebalance.previous_generation or 0) + 1, rebalance.generation + 1)[-ABORTED_MAX:]
            )
        )
        reports = tuple(report for report in detail.reports if isinstance(report, MemberEvent))
        events = (before, *generations) if before else generations
        names = member_names(member for event in events for member in event.members)
        result.append(ObservedRebalance(generations, before, reports, names, lost))
    return result[::-1]


def _generations(events: Sequence[Event]) -> tuple[GenerationEvent, ...]:
    return tuple(event for event in events if isinstance(event, GenerationEvent))
