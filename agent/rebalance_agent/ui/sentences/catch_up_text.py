"""Describes, in one sentence, moved partitions that catch up or have caught up. Pure."""

from __future__ import annotations

from rebalance_agent.tracking.lag.catch_up import CatchUp
from rebalance_agent.ui.words import UNKNOWN, bounds_text, plural

__all__ = ["catch_up_text"]


def catch_up_text(catch_up: CatchUp | None) -> str:
    """Return ``3 of 6 moved partitions are catching up, the slowest for 45.0 s or more``, or a past duration.

    The text is empty if no partition is catching up and the duration of the last catch-up is unknown.
    """
    if catch_up is None:
        return ""
    time = bounds_text(catch_up.seconds or 0.0, None)
    which = "" if catch_up.moved == 1 else "the slowest "
    if catch_up.partitions:
        verb = "is" if catch_up.partitions == 1 else "are"
        so_far = "" if time == UNKNOWN else f", {which}for {time}"
        return f"{catch_up.partitions:,} of {plural(catch_up.moved, 'moved partition')} {verb} catching up{so_far}"
    if time == UNKNOWN:
        return ""
    behind = "partition was behind" if catch_up.moved == 1 else "partitions were behind,"
    return f"In the last catch-up, {catch_up.moved:,} moved {behind} {which}for {time}"
