"""Times that are known only between two bounds."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.model.episode import Evidence
from rebalance_agent.tracking.completed_generation import Generation, PartitionHandover
from rebalance_agent.tracking.evidence.known_times import FOREVER_MS, TimeBounds

__all__ = ["Moment", "UnknownMomentError", "first_shown", "interim_resumed", "interim_stopped", "interruption"]


class UnknownMomentError(Exception):
    """A partition stopped at an unknown time: no poll and no record shows the start of the rebalance."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time between two bounds (epoch ms); ``exact`` if a member reported it."""

    earliest_ms: int
    latest_ms: int
    exact: bool = False

    @property
    def endless(self) -> bool:
        """Whether there is no evidence that this has happened."""
        return self.latest_ms >= FOREVER_MS

    def until(self, latest_ms: int) -> Moment:
        """Return the moment with the upper bound ``latest_ms``, if it has no upper bound yet."""
        return Moment(self.earliest_ms, latest_ms) if self.endless else self

    def not_after(self, earliest_ms: int) -> Moment:
        """Return the moment with a lower bound of at most ``earliest_ms``."""
        return self if earliest_ms >= self.earliest_ms else Moment(earliest_ms, self.latest_ms)

    def not_before(self, latest_ms: int) -> Moment:
        """Return the moment with an upper bound of at least ``latest_ms``."""
        return self if latest_ms <= self.latest_ms else Moment(self.earliest_ms, latest_ms)


def interim_resumed(handover: PartitionHandover, following: PartitionHandover) -> Moment:
    """Return when the owner that got a partition in ``handover`` and lost it in ``following`` could consume it.

    If it did not commit the partition, it may have learned of the assignment at any time before the loss, or never.
    """
    given_ms, consumed_ms = handover.given_ms or 0, handover.consumed_ms
    return Moment(given_ms, max(given_ms, (following.released_ms or 0) if consumed_ms is None else consumed_ms))


def interim_stopped(handover: PartitionHandover, following: PartitionHandover) -> Moment:
    """Return when this owner stopped: at any time while it owned the partition, if no request was recorded."""
    asked_ms, released_ms = following.asked_ms, following.released_ms or 0
    return Moment((handover.given_ms or 0) if asked_ms is None else asked_ms, released_ms)


def interruption(stopped: TimeBounds, resumed: TimeBounds, given_ms: int, joined_ms: int) -> tuple[Moment, Moment]:
    """Return when a member stopped and resumed consuming a partition, from its reports of one generation.

    This was between ``given_ms``, when the generation assigned the partition, and ``joined_ms``, when the member had
    rejoined. A gateway cannot detect whether the client had the partition at all in between: it may have joined twice
    for one assignment.
    """
    if Evidence.GATEWAY in (stopped.evidence, resumed.evidence):
        until_ms = min(resumed.latest_ms, joined_ms)
        return Moment(max(stopped.earliest_ms, given_ms), until_ms), Moment(until_ms, until_ms)
    since_ms, until_ms = stopped.latest_ms, resumed.latest_ms
    return Moment(since_ms, since_ms, exact=True), Moment(until_ms, until_ms, exact=True)


def first_shown(generation: Generation, handover: PartitionHandover) -> Moment:
    """Return when a record first showed a new partition, as a member's target or as its assignment.

    If newer epochs replaced epochs that not all members had reached, the target of any of these epochs may have been
    the first.
    """
    first_ms = last_ms = generation.timestamp_ms
    if generation.targeted_ms is not None and generation.joined_ms is not None:
        first_ms, last_ms = generation.targeted_ms, generation.joined_ms
    if handover.given_ms is not None:
        first_ms, last_ms = min(first_ms, handover.given_ms), min(last_ms, handover.given_ms)
    return Moment(first_ms, last_ms, exact=first_ms == last_ms)
