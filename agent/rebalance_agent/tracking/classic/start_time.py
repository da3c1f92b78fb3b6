"""When a rebalance of a classic group began, and when its members had joined, in the coordinator's time.

The record that ends it tells when they had joined; of its beginning only polls tell, and an earlier record of the group
if one showed it.
"""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.tracking.classic.in_progress import InProgress
from rebalance_agent.tracking.completed_generation import Generation, TimeBounds
from rebalance_agent.tracking.rebalance.episodes import REVISE_MAX_MS
from rebalance_agent.tracking.tracker_context import TrackerContext

__all__ = ["CLOCKS_APART_MS", "joined_ms", "start"]

CLOCKS_APART_MS = 1_000
"""Brokers' clocks differ by less from each other."""


def joined_ms(before: Generation | None, generation: Generation) -> int | None:
    """The end of the join phase, if the record's word for it can be true."""
    said_ms = generation.value.current_state_timestamp_ms
    if said_ms < 0 or not generation.members or (before is not None and said_ms < before.timestamp_ms):
        return None
    return min(said_ms, generation.timestamp_ms)


def start(
    before: Generation | None, generation: Generation, running: InProgress, around: TrackerContext
) -> TimeBounds | None:
    """When members were asked to rejoin: not before ``before``, not after the join phase. None: no poll tells."""
    offset_ms = around.offset.ms or 0
    until_ms = generation.timestamp_ms if generation.joined_ms is None else generation.joined_ms
    window = None if running.is_another(generation, offset_ms) else running.window(offset_ms, until_ms)
    if window is not None and window.earliest_ms > until_ms + CLOCKS_APART_MS:
        window = None  # our clock was set forth: polls seem to have seen later what they saw before
    if window is None and not generation.replayed:
        window = around.polls.unlisted_start(until_ms, offset_ms)
        lost_ms = running.lost_ms(offset_ms, generation.seen_ms - REVISE_MAX_MS)
        window = window and replace(window, earliest_ms=min(window.earliest_ms, lost_ms))
    if window is None:
        return None
    earliest_ms = max(window.earliest_ms, before.timestamp_ms) if before else window.earliest_ms
    latest_ms = min(max(window.latest_ms, earliest_ms), until_ms)
    return TimeBounds(min(earliest_ms, latest_ms), latest_ms, window.evidence)
