"""A group before, during and after its change to the consumer protocol, from its recorded generations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.model.group import GroupType

__all__ = ["MigrationReport", "Period", "report_of"]


@dataclass(frozen=True, slots=True)
class Period:
    """Sums over some rebalances. Stalled times are partition-seconds.

    ``stalled_max``: None if a rebalance has no upper bound. ``skew_ratio`` and ``assignor``: the values of the last
    rebalance that has them; None if no rebalance has them.
    """

    rebalances: int
    moved: int
    stalled_min: float
    stalled_max: float | None
    skew_ratio: float | None
    assignor: str | None
    since_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """``before``: the period as a classic group; ``since``: with the consumer protocol, from the first epoch on.

    ``back``: the group is classic again; ``returned``: the period since then.
    """

    before: Period | None
    since: Period | None
    back: bool
    returned: Period | None = None


def report_of(events: Iterable[Event]) -> MigrationReport | None:
    """Return the report of the last change of protocol in one group's ``events``, in order; None if there is none."""
    closing = [event for event in events if isinstance(event, GenerationEvent) and event.closes_episode]
    changed = [index for index, event in enumerate(closing) if event.group_type is GroupType.CONSUMER]
    if not changed:
        return None
    first = changed[0]
    for index in changed:
        if index and closing[index - 1].group_type is GroupType.CLASSIC:
            first = index
    return MigrationReport(
        _period([event for event in closing[:first] if event.group_type is GroupType.CLASSIC]),
        _period([event for event in closing[first:] if event.group_type is GroupType.CONSUMER]),
        back=closing[-1].group_type is GroupType.CLASSIC,
        returned=_period([event for event in closing[first:] if event.group_type is GroupType.CLASSIC]),
    )


def _period(events: Sequence[GenerationEvent]) -> Period | None:
    if not events:
        return None
    uppers = [event.stall.upper_partition_seconds if event.stall else None for event in events]
    known = [upper for upper in uppers if upper is not None]
    return Period(
        rebalances=len(events),
        moved=sum(event.moved or 0 for event in events),
        stalled_min=sum(event.stall.partition_seconds for event in events if event.stall),
        stalled_max=sum(known) if len(known) == len(uppers) else None,
        skew_ratio=next((event.skew_ratio for event in reversed(events) if event.skew_ratio is not None), None),
        assignor=next((event.assignor for event in reversed(events) if event.assignor is not None), None),
        since_ms=events[0].timestamp_ms,
        until_ms=events[-1].timestamp_ms,
    )
