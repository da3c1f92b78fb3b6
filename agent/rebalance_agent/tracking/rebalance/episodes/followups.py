"""Decides which generations are follow-ups of the one before (KIP-429), by the times of their records.

So observers that read the records at other times, or again after a restart, form the same episodes.
"""

from __future__ import annotations

from rebalance_agent.tracking.completed_generation import GENERATIONS_MAX, Episode, Generation, announces_followup

__all__ = ["FOLLOWUP_WAIT_MAX_MS", "awaits_followup", "followup_wait_ms", "is_followup"]

FOLLOWUP_WAIT_MAX_MS = 300_000
"""Longest wait (ms) for an announced follow-up: Kafka's default of ``max.poll.interval.ms``."""


def awaits_followup(episode: Episode) -> bool:
    """Whether the last generation of ``episode`` announces another one, for which there is room."""
    return announces_followup(episode.last) and len(episode.generations) < GENERATIONS_MAX


def followup_wait_ms(generation: Generation) -> int:
    """Return how long (ms) to wait for the follow-up that ``generation`` announces."""
    said_ms = generation.rebalance_timeout_ms
    return min(said_ms, FOLLOWUP_WAIT_MAX_MS) if said_ms >= 0 else FOLLOWUP_WAIT_MAX_MS


def is_followup(generation: Generation, episode: Episode) -> bool:
    """Whether ``generation`` was written in time to be the follow-up that ``episode`` awaits."""
    last = episode.last
    return awaits_followup(episode) and generation.timestamp_ms - last.timestamp_ms <= followup_wait_ms(last)
