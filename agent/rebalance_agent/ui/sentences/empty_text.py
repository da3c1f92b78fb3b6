"""Describes a group without members, or gaps in a group's assignment, in one sentence; rates the urgency.

Pure. Gaps are partitions without an owner, and broken co-partitioning.
"""

from __future__ import annotations

from enum import IntEnum

from rebalance_agent.api.shapes import GroupSummary, LagSummary
from rebalance_agent.model.episode import Trigger
from rebalance_agent.ui.sentences.catch_up_text import lag_number, lag_text
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
"""Seconds after which an Empty group is critical: a group restarts in less time."""

EMPTY_SECONDS_MAX = 86_400.0
"""Seconds after which an Empty group counts as abandoned: brokers keep its offsets for at least a week."""

GROWTH_MIN = 0.01
"""Minimum number of records per second at which a lag counts as growing. The rate is smoothed, so it is rarely exactly
0."""

_WENT = {
    Trigger.MEMBER_LEFT: ("left", "left"),
    Trigger.MEMBER_FAILED: ("failed", "failed"),
    None: ("is gone", "are gone"),
}


class Urgency(IntEnum):
    """The urgency of a group without members: not urgent, perhaps urgent soon, or urgent now."""

    NONE = 0
    SOON = 1
    NOW = 2


def urgency(group: GroupSummary, now_ms: int) -> Urgency:
    """Return the urgency of ``group`` as of ``now_ms`` (epoch ms); `Urgency.NONE` if it has members.

    A group whose measured lag does not grow is not urgent now; if the measured lag is 0, the group is not urgent.
    """
    if group.empty is None:
        return Urgency.NONE
    seconds = (now_ms - group.empty.since_ms) / 1000
    growing = _grows(group.lag)
    if growing and seconds > EMPTY_SECONDS_MIN:
        return Urgency.NOW
    if seconds >= EMPTY_SECONDS_MAX or (group.lag and not growing and not group.lag.offsets):
        return Urgency.NONE
    return Urgency.NOW if seconds > EMPTY_SECONDS_MIN and not group.lag else Urgency.SOON


def _grows(lag: LagSummary | None) -> bool:
    return lag is not None and (lag.appended_per_second or 0) >= GROWTH_MIN


def empty_text(group: GroupSummary, now_ms: int) -> str:
    """Return the known parts of ``Empty since 12:03:07 UTC; its last 3 members failed; no lag``.

    Members that left by themselves may have crashed and closed their consumers, or may have been stopped on purpose.
    """
    empty = group.empty
    if empty is None:
        return "Empty: no active consumers"
    today = now_ms - empty.since_ms < EMPTY_SECONDS_MAX * 1000
    since = f"{time_of_day(empty.since_ms)} UTC" if today else moment_to_second(empty.since_ms)
    parts = [f"Empty since {since}"]
    if empty.members is None:
        parts.append("its last members departed before the agent started")
    elif empty.members:
        one, several = _WENT[empty.cause]
        members = plural(empty.members, "member")
        went = f"its last member {one}" if empty.members == 1 else f"its last {members} {several}"
        parts.append(went + (_hint(urgency(group, now_ms)) if _perhaps_planned(group, empty.cause) else ""))
    if group.unassigned:
        parts.append(unowned(group.unassigned))
    if group.lag:
        parts.append(_growing_lag_text(group, group.lag))
    return "; ".join(parts)


def _perhaps_planned(group: GroupSummary, cause: Trigger | None) -> bool:
    return cause is Trigger.MEMBER_LEFT and not _grows(group.lag)


def _hint(rated: Urgency) -> str:
    return f" ({'if planned, set empty_groups_allow' if rated is Urgency.NOW else 'normal after a planned stop'})"


def _growing_lag_text(group: GroupSummary, lag: LagSummary) -> str:
    """Return ``lag is 5,000 offsets and grows by 1,200/s``: without members, lag grows by the appended records."""
    if not lag.offsets:
        return lag_text(group)
    grows = round(lag.appended_per_second or 0)
    return f"lag is {lag_number(group)}" + (f" and grows by {grows:,}/s" if grows else "")


def _unowned_text(group: GroupSummary) -> str:
    """Return ``3 partitions have no owner``; empty if all have owners, or if the group rebalances or has no members."""
    if not group.unassigned or not group.members or group.running:
        return ""
    return unowned(group.unassigned)


def copartition_text(group: GroupSummary) -> str:
    """Return ``co-partitioning is broken: ...``; an empty string if co-partitioning is intact or not declared."""
    if not group.copartition_breaks:
        return ""
    number = plural(group.copartition_breaks, "partition number")
    verb = "has" if group.copartition_breaks == 1 else "have"
    return f"co-partitioning is broken: {number} {verb} different owners in different topics"


def gaps_text(group: GroupSummary) -> str:
    """Return all gaps in the group's assignment on one line; an empty string if there are no gaps."""
    return "; ".join(filter(None, (_unowned_text(group), copartition_text(group))))
