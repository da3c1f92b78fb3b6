"""Derives the state of one advice from the rebalances after it, and what it really saved."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rebalance_agent.pipeline.recommendations.adoption import (
    WINDOW_DAYS,
    Adoption,
    Closing,
    adoption,
    days_after,
    days_before,
    stalls_of_days,
)
from rebalance_agent.pipeline.recommendations.given_advice import Advice
from rebalance_agent.pipeline.recommendations.weekly_stall import WeeklyStall, saving, weekly_stall

__all__ = ["IGNORED_AFTER", "AdviceState", "FollowedAdvice", "Realised", "followed"]

IGNORED_AFTER = dt.timedelta(days=WINDOW_DAYS)
"""Time after which advice that was not taken counts as ignored."""


class AdviceState(StrEnum):
    """What became of a piece of advice."""

    OPEN = "open"
    TAKEN = "taken"
    TAKEN_BACK = "taken_back"
    IGNORED = "ignored"
    WITHDRAWN = "withdrawn"
    WITHHELD = "withheld"


@dataclass(frozen=True, slots=True)
class Realised:
    """The stall per week that a change saved, and how many days before and after it were compared."""

    saving: WeeklyStall
    days_before: int
    days_after: int


@dataclass(frozen=True, slots=True)
class FollowedAdvice:
    """A piece of advice and its result.

    ``given_at``, ``last_given_at``: the end of the history of the first and of the last run that gave it.
    ``predicted``: the saving per week; None if the advice is not about stall, or if the history is too short.
    ``realised``: None before a week has passed, or with too few days with stall.
    """

    advice: Advice
    state: AdviceState
    given_at: dt.datetime
    last_given_at: dt.datetime
    predicted: WeeklyStall | None = None
    adoption: Adoption | None = None
    realised: Realised | None = None

    @property
    def missed(self) -> bool | None:
        """Whether the change saved less than predicted beyond chance; None if that is not known."""
        if self.predicted is None or self.realised is None:
            return None
        return self.realised.saving.high < self.predicted.low


def followed(
    now: Advice | None, earlier: FollowedAdvice | None, closings: Sequence[Closing], as_of: dt.datetime
) -> FollowedAdvice:
    """Return the advice as of the end of the history.

    ``now``: as this run gives it; ``earlier``: the result of the last run. One of them is not None. ``closings``: the
    group's rebalances, in order.
    """
    advice = now or (earlier.advice if earlier else None)
    if advice is None:
        raise ValueError("advice that no run gave has no state")
    given_at = earlier.given_at if earlier else as_of
    last_given_at = earlier.last_given_at if earlier and now is None else as_of
    taken = _taken(advice, given_at, closings, earlier)
    predicted = earlier.predicted if earlier else None
    if now is not None and taken is None:
        predicted = _predicted(now, closings, as_of)
    state = _state(taken, as_of - given_at, given=now is not None)
    return FollowedAdvice(
        advice, state, given_at, last_given_at, predicted, taken, _realised(taken, closings, as_of, earlier)
    )


def _taken(
    advice: Advice, given_at: dt.datetime, closings: Sequence[Closing], earlier: FollowedAdvice | None
) -> Adoption | None:
    """Return when the advice was taken; from the ``earlier`` run, if the history no longer goes back that far."""
    known = earlier.adoption if earlier else None
    seen = known is not None and closings and closings[0].at <= known.taken_at
    return adoption(advice, given_at, closings, None if seen else known)


def _predicted(advice: Advice, closings: Sequence[Closing], as_of: dt.datetime) -> WeeklyStall | None:
    stalls = stalls_of_days(days_before(as_of, closings), closings)
    weekly = weekly_stall(stalls) if stalls else None
    return weekly.times(advice.saved_share) if weekly and advice.saved_share else None


def _realised(
    taken: Adoption | None, closings: Sequence[Closing], as_of: dt.datetime, earlier: FollowedAdvice | None
) -> Realised | None:
    if taken is None:
        return None
    before, after = days_before(taken.taken_at, closings), days_after(taken, closings, as_of)
    known = earlier.realised if earlier and earlier.adoption and earlier.adoption.taken_at == taken.taken_at else None
    # Retention removes the days before the change first: the result of the last run is then the better one.
    if known is not None and known.days_before > len(before):
        return known
    was, is_now = stalls_of_days(before, closings), stalls_of_days(after, closings)
    saved = saving(was, is_now) if was and is_now else None
    return Realised(saved, len(before), len(after)) if saved else None


def _state(taken: Adoption | None, age: dt.timedelta, *, given: bool) -> AdviceState:
    if taken is not None:
        return AdviceState.TAKEN if taken.ended_at is None else AdviceState.TAKEN_BACK
    if not given:
        return AdviceState.WITHDRAWN
    return AdviceState.IGNORED if age >= IGNORED_AFTER else AdviceState.OPEN
