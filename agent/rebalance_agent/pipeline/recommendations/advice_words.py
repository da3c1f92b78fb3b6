"""Writes a row of table `advice` as text: the recommended change, its state, and its saving."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from rebalance_agent.pipeline.recommendations.advice_state import AdviceState
from rebalance_agent.pipeline.recommendations.given_advice import AdviceKind
from rebalance_agent.ui.words import DASH, amount, day

__all__ = ["AdviceRow", "advice_sentence", "change_words", "interval_words", "signed", "state_words"]


@dataclass(frozen=True, slots=True)
class AdviceRow:
    """A recommended change and its state; see table ``advice``.

    ``predicted``, ``realised``: saved partition-seconds per week, with the ends of their intervals; None if unknown.
    """

    cluster_id: str
    group: str
    kind: AdviceKind
    strategy: str | None
    state: AdviceState
    given_at: dt.datetime
    taken_at: dt.datetime | None = None
    ended_at: dt.datetime | None = None
    predicted: float | None = None
    predicted_low: float | None = None
    predicted_high: float | None = None
    realised: float | None = None
    realised_low: float | None = None
    realised_high: float | None = None
    missed: bool | None = None
    reason: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Return cluster id and group id."""
        return self.cluster_id, self.group


def change_words(row: AdviceRow) -> str:
    """Return the recommended change: ``use cooperative-sticky``, ``static members``."""
    return "static members" if row.kind is AdviceKind.STATIC_MEMBERSHIP else f"use {row.strategy}"


def state_words(row: AdviceRow) -> str:
    """Return the state of the change, with its day: ``made on 3 Jun, saved less than predicted``."""
    made = f"made on {day(row.taken_at)}" if row.taken_at else ""
    match row.state:
        case AdviceState.TAKEN:
            return made + (", saved less than predicted" if row.missed else "")
        case AdviceState.TAKEN_BACK:
            return f"{made}, undone on {day(row.ended_at)}" if row.ended_at else "undone"
        case AdviceState.IGNORED:
            return f"recommended on {day(row.given_at)}, not made in four weeks"
        case AdviceState.WITHHELD:
            return f"no longer recommended: {row.reason}"
        case _:
            return f"recommended on {day(row.given_at)}"


def interval_words(value: float | None, low: float | None, high: float | None) -> str:
    """Return a saving with its interval: ``1,200 (900 to 1,500)``; a dash if it is unknown."""
    if value is None or low is None or high is None:
        return DASH
    return f"{signed(value)} ({signed(low)} to {signed(high)})"


def signed(value: float) -> str:
    """Return partition-seconds, with a minus sign below 0: ``1,200``, ``4.2``, ``-35``."""
    return f"{'-' if value < 0 else ''}{amount(abs(value))}"


def advice_sentence(row: AdviceRow) -> str:
    """Return the change, its state, and its savings in partition-seconds per week, as one sentence."""
    change = change_words(row)
    parts = [f"{change[0].upper()}{change[1:]}: {state_words(row)}"]
    if row.realised is not None:
        saved = interval_words(row.realised, row.realised_low, row.realised_high)
        parts.append(f"saved partition-seconds per week: {saved}")
    if row.predicted is not None:
        predicted = interval_words(row.predicted, row.predicted_low, row.predicted_high)
        parts.append(f"predicted: {predicted}")
    return "; ".join(parts) + "."
