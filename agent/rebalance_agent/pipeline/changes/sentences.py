"""Describes a change in one sentence. Pure, without Spark."""

from __future__ import annotations

import datetime as dt

from rebalance_agent.pipeline.changes.beside import Beside
from rebalance_agent.pipeline.changes.change_points import ChangePoint
from rebalance_agent.pipeline.changes.group_signals import HOUR_MS, Signal
from rebalance_agent.ui.words import day, duration, listed

__all__ = ["change_sentence"]

_NAMES = {Signal.STALL: "Stall per rebalance", Signal.FREQUENCY: "Frequency of rebalances", Signal.SKEW: "Skew"}
_TWICE = 1.9, 2.1
_HALF = 0.47, 0.53


def change_sentence(change: ChangePoint, around: Beside) -> str:
    """Return a sentence with the change, its hour in UTC, the levels before and after, and what else changed."""
    at = dt.datetime.fromtimestamp(change.hour * HOUR_MS / 1000, dt.UTC)
    before, after = (_level(change.signal, value) for value in (change.before, change.after))
    text = f"{_NAMES[change.signal]} {_verb(change)} on {day(at)} {at:%H:%M} ({before} -> {after})"
    if around.rollout_ms is not None:
        text += f", {_after_rollout(change.hour, around.rollout_ms)}"
    if around.changed:
        text += "; " + listed([f"{name}: {values}" for name, values in around.changed.items()])
    return text + "."


def _verb(change: ChangePoint) -> str:
    if change.recovery:
        return "recovered"
    if _TWICE[0] <= change.ratio <= _TWICE[1]:
        return "doubled"
    if _HALF[0] <= change.ratio <= _HALF[1]:
        return "halved"
    if change.ratio > 1:
        return f"rose by a factor of {change.ratio:.1f}"
    return f"fell by {1 - change.ratio:.0%}"


def _level(signal: Signal, value: float) -> str:
    if signal is Signal.STALL:
        return duration(value)
    return f"{value:.1f} a day" if signal is Signal.FREQUENCY else f"{value:.2f}"


def _after_rollout(hour: int, rollout_ms: int) -> str:
    hours = hour - rollout_ms // HOUR_MS
    if hours <= 0:
        return "in the hour of a rollout"
    return "one hour after a rollout began" if hours == 1 else f"{hours} hours after a rollout began"
