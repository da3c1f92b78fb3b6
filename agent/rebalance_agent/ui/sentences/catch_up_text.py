"""Describes, in one sentence each, a group's lag, and moved partitions that catch up or have caught up. Pure."""

from __future__ import annotations

from rebalance_agent.api.shapes import GroupSummary
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.lag.catch_up import CatchUp
from rebalance_agent.ui.words import UNKNOWN, bounds_text, duration, plural

__all__ = ["catch_up_text", "lag_number", "lag_text"]


def lag_number(group: GroupSummary) -> str:
    """Return ``5,000 offsets``, or ``5,000 records`` in a share group; an empty string if no lag is measured.

    Share groups commit no offsets: their coordinator counts the records that are neither acknowledged nor archived
    (KIP-1226).
    """
    if group.lag is None:
        return ""
    noun = "record" if group.group_type is GroupType.SHARE else "offset"
    return plural(group.lag.offsets, noun, ",")


def lag_text(group: GroupSummary) -> str:
    """Return ``lag is 5,000 offsets; the oldest unread record is 45.0 s old``; an empty string without a measured lag.

    Members of a share group may have read a record that they have not acknowledged.
    """
    lag = group.lag
    if lag is None or not lag.offsets:
        return "no lag" if lag else ""
    shares = group.group_type is GroupType.SHARE
    meaning = " (neither acknowledged nor archived)" if shares else ""
    oldest = "of these records" if shares else "unread record"
    age = "" if lag.seconds is None else f"; the oldest {oldest} is {duration(lag.seconds)} old"
    return f"lag is {lag_number(group)}{meaning}{age}"


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
