"""Detects storms: more rebalances of a group in a quarter of an hour than a rolling restart explains. Pure.

The thresholds are those of the alert on storms (``alerts/values.yaml``), which a successful deployment inhibits.
"""

from __future__ import annotations

from rebalance_agent.api.shapes import GroupSummary
from rebalance_agent.model.episode import Trigger
from rebalance_agent.tracking.patterns.recent_rebalances import RECENT_MS

__all__ = ["STORM_MIN", "STORM_PER_MEMBER", "STORM_SECONDS", "is_return", "is_storm", "rebalances_lately"]

STORM_SECONDS = RECENT_MS / 1000
"""The period (seconds) for which rebalances are counted, and failures of members are shown."""

STORM_PER_MEMBER = 2
"""Rebalances per member in `STORM_SECONDS` that a rolling restart explains."""

STORM_MIN = 6
"""Rebalances in `STORM_SECONDS` up to which there is no storm even in the smallest group."""


def is_return(trigger: Trigger | None) -> bool:
    """Return whether a rebalance was only the return of a static member, which does not affect other members."""
    return trigger is Trigger.MEMBER_REPLACED


def is_storm(group: GroupSummary, rebalances: int) -> bool:
    """Return whether this number of ``rebalances`` of the group in the last `STORM_SECONDS` is a storm."""
    return rebalances > max(STORM_PER_MEMBER * group.members, STORM_MIN) and not group.rollout_in_progress


def rebalances_lately(group: GroupSummary, now_ms: int) -> int:
    """Return the number of rebalances that completed in the `STORM_SECONDS` before ``now_ms`` (epoch ms)."""
    return sum(at_ms >= now_ms - STORM_SECONDS * 1000 for at_ms in group.recent_ms)
