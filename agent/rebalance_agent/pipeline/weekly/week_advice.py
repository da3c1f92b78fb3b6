"""Sums up the recommended changes of all groups: how many are open and taken, and what they save."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rebalance_agent.pipeline.recommendations.advice_state import AdviceState
from rebalance_agent.pipeline.recommendations.advice_words import AdviceRow

__all__ = ["AdviceSums", "AdviceWeek", "advice_week"]

_ORDER = tuple(AdviceState(each) for each in ("taken", "open", "ignored", "taken_back", "withheld", "withdrawn"))


@dataclass(frozen=True, slots=True)
class AdviceSums:
    """Changes of one state. ``predicted``, ``realised``: partition-seconds per week, of those for which it is known.

    ``measured``: the number of changes with a realised saving; ``predicted_of_measured``: what was predicted for these.
    """

    number: int = 0
    predicted: float = 0.0
    measured: int = 0
    realised: float = 0.0
    predicted_of_measured: float = 0.0


@dataclass(frozen=True, slots=True)
class AdviceWeek:
    """The recommended changes, those that were taken first, each state beginning with the largest saving."""

    rows: Sequence[AdviceRow]
    open: AdviceSums
    taken: AdviceSums
    ignored: AdviceSums
    withheld: AdviceSums


def advice_week(rows: Iterable[AdviceRow]) -> AdviceWeek:
    """Return the changes in order, and the sums of each state."""
    ordered = sorted(rows, key=lambda row: (_ORDER.index(row.state), -(row.realised or row.predicted or 0.0), row.key))
    of = {state: _sums([row for row in ordered if row.state is state]) for state in AdviceState}
    return AdviceWeek(
        tuple(ordered),
        of[AdviceState.OPEN],
        of[AdviceState.TAKEN],
        of[AdviceState.IGNORED],
        of[AdviceState.WITHHELD],
    )


def _sums(rows: Sequence[AdviceRow]) -> AdviceSums:
    measured = [row for row in rows if row.realised is not None]
    return AdviceSums(
        len(rows),
        sum(row.predicted or 0.0 for row in rows),
        len(measured),
        sum(row.realised or 0.0 for row in measured),
        sum(row.predicted or 0.0 for row in measured),
    )
