"""Sums up the recommended changes of each state: how many there are, and what they save."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.pipeline.recommendations.advice_state import AdviceState
from rebalance_agent.pipeline.recommendations.advice_words import AdviceRow

__all__ = ["AdviceSums", "sums_by_state"]


@dataclass(frozen=True, slots=True)
class AdviceSums:
    """The sums of all changes of one state. ``predicted``, ``realised``: savings in partition-seconds per week.

    An unknown saving counts as 0. ``measured``: the number of changes with a realised saving;
    ``predicted_of_measured``: what was predicted for these.
    """

    number: int = 0
    predicted: float = 0.0
    measured: int = 0
    realised: float = 0.0
    predicted_of_measured: float = 0.0


def sums_by_state(rows: Iterable[AdviceRow]) -> Mapping[AdviceState, AdviceSums]:
    """Return the sums of each state, including states without rows."""
    listed = list(rows)
    return {state: _sums([row for row in listed if row.state is state]) for state in AdviceState}


def _sums(rows: Sequence[AdviceRow]) -> AdviceSums:
    measured = [row for row in rows if row.realised is not None]
    return AdviceSums(
        len(rows),
        sum(row.predicted or 0.0 for row in rows),
        len(measured),
        sum(row.realised or 0.0 for row in measured),
        sum(row.predicted or 0.0 for row in measured),
    )
