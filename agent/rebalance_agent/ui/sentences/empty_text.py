"""Describes groups without members, and gaps in the assignments of others, in one sentence each; rates their urgency.

Pure. Gaps are partitions without an owner, and broken co-partitioning.
"""

from __future__ import annotations

from enum import IntEnum

from rebalance_agent.api.shapes import GroupSummary, LagSummary
from rebalance_agent.model.episode import Trigger
from rebalance_agent.ui.words import moment_to_second, plural, time_of_day, unowned

__all__ = [
    "EMPTY_SECONDS_MAX",
    "EMPTY_SECONDS_MIN",
    "GROWTH_MIN",
    "Urgency",
    "copartition_text",
    "empty_text",
    "gaps_text",
    "urgency",
]

EMPTY_SECONDS_MIN = 300.0
"""Seconds after which an Empty group is critical: restarting a group takes less."""

EMPTY_SECONDS_MAX = 86_400.0
"""Seconds after which an Empty group counts as abandoned: brokers keep its offsets for at least a week."""

GROWTH_MIN = 0.01
"""Records per second from which a lag counts as growing. The rate is smoothed, so it is rarely exactly 0."""

_WENT = {
    Trigger.MEMBER_LEFT: ("left", "left"),
    Trigger.MEMBER_FAILED: ("was expelled", "were expelled"),
    None: ("is gone", "are gone"),
}


class Urgency(IntEnum):
    """The urgency of a group without members: none (or no longer), perhaps soon, or now."""

    NONE = 0
    SOON = 1
    NOW = 2


def urgency(group: GroupSummary, now_ms: int) -> Urgency:
    """Return the urgency of ``group`` as of ``now_ms`` (epoch ms); `Urgency.NONE` if it has members.

    If its lag is measured, a group whose lag does not grow is not urgent now; without a lag it is not urgent at all.
    """
    if group.empty is None:
        return Urgency.NONE
    seconds = (now_ms - group.empty.since_ms) / 1000
    growing = group.lag is not None and (group.lag.appended_per_second or 0) >= GROWTH_MIN
    if growing and seconds > EMPTY_SECONDS_MIN:
        return Urgency.NOW
    if seconds >= EMPTY_SECONDS_MAX or (group.lag and not growing and not group.lag.offsets):
        return Urgency.NONE
    return Urgency.NOW if seconds > EMPTY_SECONDS_MIN and not group.lag else Urgency.SOON


def empty_text(group: GroupSummary, now_ms: int) -> str:
    """``Empty since 12:03:07 UTC; its last 3 members were expelled; 12 partitions have no owner``, as far as known."""
    empty = group.empty
    if empty is None:
        return "Empty: no active consumers"
    today = now_ms - empty.since_ms < EMPTY_SECONDS_MAX * 1000
    since = f"{time_of_day(empty.since_ms)} UTC" if today else moment_to_second(empty.since_ms)
    parts = [f"Empty since {since}"]
    if empty.members:
        one, several = _WENT[empty.cause]
        members = plural(empty.members, "member")
        parts.append(f"its last member {one}" if empty.members == 1 else f"its last {members} {several}")
    if group.unassigned:
        parts.append(unowned(group.unassigned))
    if lag := group.lag:
        parts.append(_lag_text(lag))
    return "; ".join(parts)


def _lag_text(lag: LagSummary) -> str:
    """``lag is 5,000 offsets and grows by 1,200/s``: nothing is committed, so it grows by the appended records."""
    if not lag.offsets:
        return "no lag"
    grows = round(lag.appended_per_second or 0)
    return f"lag is {lag.offsets:,} offsets" + (f" and grows by {grows:,}/s" if grows else "")


def _unowned_text(group: GroupSummary) -> str:
    """Return ``3 partitions have no owner``; empty if all have one, or if the group rebalances or has no members."""
    if not group.unassigned or not group.members or group.running:
        return ""
    return unowned(group.unassigned)


def copartition_text(group: GroupSummary) -> str:
    """Return ``co-partitioning is broken: ...``; empty if it is not, or if the group is not in ``copartitioned``."""
    if not group.copartition_breaks:
        return ""
    number = plural(group.copartition_breaks, "partition number")
    return f"co-partitioning is broken: {number} with different owners in different topics"


def gaps_text(group: GroupSummary) -> str:
    """Return all gaps of the group's assignment in one line; empty if there is none."""
    return "; ".join(filter(None, (_unowned_text(group), copartition_text(group))))
