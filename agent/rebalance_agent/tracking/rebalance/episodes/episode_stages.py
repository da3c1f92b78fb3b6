"""An episode before and after its events are published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.tracking.completed_generation import Episode
from rebalance_agent.tracking.patterns.group_stalls import Limit
from rebalance_agent.tracking.rebalance.counters import Advance
from rebalance_agent.tracking.rebalance.open_stall import OpenStall
from rebalance_agent.tracking.rebalance.settle import Settlement

__all__ = ["NAMES_WAIT_MAX_MS", "ClosedEpisode", "SettledEpisode"]

NAMES_WAIT_MAX_MS = 15_000
"""Longest additional wait (ms) of a closed episode for topic names, requested at once: brokers may be restarting."""


@dataclass(slots=True)
class ClosedEpisode:
    """An episode whose events are not published yet.

    ``due_ms``: when the episode settles or is checked again; ``latest_ms``: the time until which it waits for commits.
    """

    episode: Episode
    due_ms: int
    latest_ms: int
    advanced: Advance

    @property
    def settles_ms(self) -> int:
        """The time when the episode settles, even if reports or names are missing."""
        return self.due_ms + NAMES_WAIT_MAX_MS * bool(self.episode.unnamed)


@dataclass(slots=True)
class SettledEpisode:
    """An episode with published events.

    ``carried``: the open stalls of the previous episode. ``unnamed``: topic ids without names when last published.

    ``counted``, ``expelled``: its stalls and members that are already in the totals. ``awaits``: commits are missing.
    """

    episode: Episode
    settlement: Settlement
    carried: Mapping[Partition, OpenStall]
    forget_ms: int
    unnamed: frozenset[str]
    counted: Mapping[Limit, float]
    awaits: bool
    expelled: int = 0
