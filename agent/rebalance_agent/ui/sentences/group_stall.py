"""Rates the stall of a group against the limits of its alerts, and describes it in one sentence. Pure."""

from __future__ import annotations

from rebalance_agent.api.shapes import GroupSummary
from rebalance_agent.tracking.patterns.group_stalls import Limit
from rebalance_agent.tracking.views import COUNTED_LATE_MS
from rebalance_agent.ui.words import duration, rounded_duration

__all__ = ["group_stall_text", "long_stall_text", "stall_limit"]


def stall_limit(group: GroupSummary, now_ms: int) -> Limit | None:
    """Return the highest limit that the group's running stall has reached as of ``now_ms`` (epoch ms), if any.

    A limit is reached when the alert's counter begins to increase; the limits are the group's own (``stall_limits``).
    """
    if group.stalled is None:
        return None
    seconds = _seconds(group.stalled.since_ms, now_ms)
    if seconds >= group.stalled.critical_seconds:
        return Limit.CRITICAL
    return Limit.WARNING if seconds >= group.stalled.warning_seconds else None


def group_stall_text(group: GroupSummary, now_ms: int) -> str:
    """Return ``group stalled for 41.0 s``; an empty string if the group is not stalled."""
    return f"group stalled for {duration(_seconds(group.stalled.since_ms, now_ms))}" if group.stalled else ""


def long_stall_text(group: GroupSummary, now_ms: int) -> str:
    """Return ``group stalled for more than 30 s``, with the highest limit reached; empty before the first limit.

    This is for pages, which would change with every refresh if they showed the number of seconds.
    """
    limit = stall_limit(group, now_ms)
    if group.stalled is None or limit is None:
        return ""
    seconds = group.stalled.critical_seconds if limit is Limit.CRITICAL else group.stalled.warning_seconds
    return f"group stalled for more than {rounded_duration(seconds)}"


def _seconds(since_ms: int, now_ms: int) -> float:
    """Return the length of a stall in seconds, as in the counters."""
    return max(0, now_ms - COUNTED_LATE_MS - since_ms) / 1000
