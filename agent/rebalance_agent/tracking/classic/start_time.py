"""Finds the start and the join time of a classic rebalance, by the coordinator's clock.

The record that ends a rebalance holds the end of its join phase. The start of the rebalance is known only from polls,
or from an earlier record of the group that implies a start.
"""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.tracking.classic.in_progress import UNKNOWN_MS, InProgress
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.evidence.known_times import TimeBounds
from rebalance_agent.tracking.rebalance.episodes.group_episodes import REVISE_MAX_MS
from rebalance_agent.tracking.tracker_context import TrackerContext

__all__ = ["CLOCKS_APART_MS", "SYNC_MAX_MS", "joined_ms", "start"]

CLOCKS_APART_MS = 1_000
"""Largest difference (ms) assumed between brokers' clocks."""

SYNC_MAX_MS = 86_400_000
"""Longest plausible time (ms) from a join phase to the generation's record: rebalance timeouts are shorter."""


def joined_ms(before: Generation | None, generation: Generation) -> int | None:
    """Return the end of the join phase (epoch ms) from the record; None if the recorded value is implausible."""
    said_ms = generation.value.current_state_timestamp_ms
    since_ms = before.timestamp_ms if before else generation.timestamp_ms - SYNC_MAX_MS
    if said_ms < 0 or said_ms < since_ms or not generation.members:
        return None
    return min(said_ms, generation.timestamp_ms)


def start(
    before: Generation | None, generation: Generation, in_progress: InProgress, context: TrackerContext
) -> TimeBounds | None:
    """Bound the time when members were asked to rejoin: after ``before``, before the end of the join phase.

    The result is None if neither a poll nor a record shows this time, or if the observer's first poll found the group
    rebalancing.
    """
    offset_ms = context.offset.ms or 0
    until_ms = generation.timestamp_ms if generation.joined_ms is None else generation.joined_ms
    window = None if in_progress.is_another(generation, offset_ms) else in_progress.window(offset_ms, until_ms)
    if window is not None and window.earliest_ms > until_ms + CLOCKS_APART_MS:
        window = None  # the observer's clock was set forward: the polls' times are too late
    if window is None and not generation.replayed:
        window = context.polls.unlisted_start(until_ms, offset_ms)
        lost_ms = in_progress.lost_ms(offset_ms, generation.seen_ms - REVISE_MAX_MS)
        window = window and replace(window, earliest_ms=min(window.earliest_ms, lost_ms))
    if window is None or window.earliest_ms == UNKNOWN_MS:
        return None
    earliest_ms = max(window.earliest_ms, before.timestamp_ms) if before else window.earliest_ms
    latest_ms = min(max(window.latest_ms, earliest_ms), until_ms)
    return TimeBounds(min(earliest_ms, latest_ms), latest_ms, window.evidence)
