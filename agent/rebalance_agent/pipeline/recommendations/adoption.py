"""Finds in a group's rebalances when it followed advice, and which days before and after that can be compared."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rebalance_agent.pipeline.recommendations.given_advice import Advice, AdviceKind
from rebalance_agent.pipeline.recommendations.weekly_stall import WEEK_DAYS

__all__ = ["WINDOW_DAYS", "Adoption", "Closing", "Stalls", "adoption", "days_after", "days_before", "stalls_of_days"]

WINDOW_DAYS = 28
"""Maximum number of days that are compared before and after a change.

Only whole weeks are compared, because weekends differ from workdays.
"""

_DAY = dt.timedelta(days=1)

Stalls = Sequence[float]
"""The stalled partition-seconds of successive days (UTC)."""


@dataclass(frozen=True, slots=True)
class Closing:
    """The last generation of a rebalance.

    ``at``: when it completed (UTC). ``assignor``: None if no assignor ran. ``static``: whether all members have an
    instance id; None without members. ``stalled_partition_seconds``: the lower bound; None if it is unknown.
    """

    at: dt.datetime
    assignor: str | None
    static: bool | None
    stalled_partition_seconds: float | None

    def follows(self, advice: Advice) -> bool | None:
        """Return whether the group followed the advice; None if this rebalance does not show it."""
        if advice.kind is AdviceKind.STATIC_MEMBERSHIP:
            return self.static
        return None if self.assignor is None else self.assignor == advice.strategy

    def differs(self, other: Closing) -> bool:
        """Whether the group had another assignor, or began or ended static membership."""
        pairs = ((self.assignor, other.assignor), (self.static, other.static))
        return any(one != another for one, another in pairs if one is not None and another is not None)


@dataclass(frozen=True, slots=True)
class Adoption:
    """The last time that a group followed advice: when, and when it reverted this change (None if it did not)."""

    taken_at: dt.datetime
    ended_at: dt.datetime | None = None


def adoption(
    advice: Advice, given_at: dt.datetime, closings: Iterable[Closing], known: Adoption | None = None
) -> Adoption | None:
    """Return when the group last took the advice after ``given_at``; None if it did not.

    ``closings``: in order. ``known``: an adoption before the first of them.
    """
    found = known
    following = known is not None and known.ended_at is None
    for closing in closings:
        follows = closing.follows(advice)
        if closing.at <= given_at or follows is None or follows == following:
            continue
        if follows:
            found = Adoption(closing.at)
        elif found is not None:
            found = Adoption(found.taken_at, closing.at)
        following = follows
    return found


def days_before(at: dt.datetime, closings: Sequence[Closing]) -> Sequence[dt.date]:
    """Return the last days before that of ``at`` without a change of configuration: whole weeks, at most `WINDOW_DAYS`.

    The first day of the group's history is left out, because it may be incomplete.
    """
    earlier = [closing for closing in closings if closing.at < at]
    if not earlier:
        return ()
    last = _last_known(earlier)
    changed = [closing.at.date() for closing in earlier if closing.differs(last)]
    first = max([earlier[0].at.date(), at.date() - (WINDOW_DAYS + 1) * _DAY, *changed]) + _DAY
    days = _days(first, at.date())
    return days[len(days) % WEEK_DAYS :]


def days_after(taken: Adoption, closings: Sequence[Closing], as_of: dt.datetime) -> Sequence[dt.date]:
    """Return the first days after that on which the advice was taken: whole weeks, at most `WINDOW_DAYS`.

    They end before the day of the next change of configuration, and before the incomplete day of ``as_of``. No days if
    the history no longer contains the change.
    """
    day = taken.taken_at.date()
    # During the deploy of a change members may have different configurations: that at the end of the day counts.
    if not (deployed := [closing for closing in closings if closing.at.date() == day]):
        return ()
    settled = _last_known(deployed)
    changed = [closing.at.date() for closing in closings if closing.at.date() > day and closing.differs(settled)]
    first = day + _DAY
    days = _days(first, min([as_of.date(), first + WINDOW_DAYS * _DAY, *changed]))
    return days[: len(days) - len(days) % WEEK_DAYS]


def stalls_of_days(days: Sequence[dt.date], closings: Iterable[Closing]) -> Stalls | None:
    """Return the stall of each day; None without days, or if most of their rebalances have an unknown stall."""
    sums = dict.fromkeys(days, 0.0)
    known = unknown = 0
    for closing in closings:
        if (day := closing.at.date()) in sums:
            stall = closing.stalled_partition_seconds
            known, unknown = known + (stall is not None), unknown + (stall is None)
            sums[day] += stall or 0.0
    return None if not days or unknown > known else list(sums.values())


def _last_known(closings: Sequence[Closing]) -> Closing:
    """Return the last closing, with what it does not show as the ones before it showed it last."""
    last = closings[-1]
    for closing in reversed(closings):
        last = replace(
            last,
            assignor=closing.assignor if last.assignor is None else last.assignor,
            static=closing.static if last.static is None else last.static,
        )
    return last


def _days(first: dt.date, end: dt.date) -> Sequence[dt.date]:
    return [first + number * _DAY for number in range((end - first).days)]
