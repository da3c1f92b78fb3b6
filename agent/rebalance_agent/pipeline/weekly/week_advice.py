"""Sums up the recommended changes of all groups: how many are open and taken, and what they save."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rebalance_agent.pipeline.recommendations.advice_state import AdviceState
from rebalance_agent.pipeline.recommendations.advice_sums import AdviceSums, sums_by_state
from rebalance_agent.pipeline.recommendations.advice_words import AdviceRow

__all__ = ["AdviceWeek", "advice_week"]

_ORDER = tuple(AdviceState(each) for each in ("taken", "open", "ignored", "taken_back", "withheld", "withdrawn"))


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
    of = sums_by_state(ordered)
    return AdviceWeek(
        tuple(ordered),
        of[AdviceState.OPEN],
        of[AdviceState.TAKEN],
        of[AdviceState.IGNORED],
        of[AdviceState.WITHHELD],
    )
