"""Sentences on rebalances that cannot be explained yet: one that has not settled, and one that is running. Pure."""

from __future__ import annotations

from rebalance_agent.api.shapes import GroupSummary
from rebalance_agent.ui.words import duration, moment, stalled_partitions_text

__all__ = ["running_text", "unsettled_text"]


def unsettled_text(group: GroupSummary) -> str:
    """Return a sentence on the group's last completed rebalance if that has not settled; otherwise an empty string."""
    if group.unsettled_ms is None:
        return ""
    return (
        f"A rebalance completed at {moment(group.unsettled_ms)}. It will be explained when it has settled, usually "
        "5 to 15 s later."
    )


def running_text(group: GroupSummary, now_ms: int) -> str:
    """Return a sentence on the rebalance that is running as of ``now_ms`` (epoch ms); empty if there is none."""
    if group.running is None:
        return ""
    seconds = max(0, now_ms - group.running.started_ms) / 1000
    return f"A rebalance has been running for {duration(seconds)}: {stalled_partitions_text(group.running)}."
