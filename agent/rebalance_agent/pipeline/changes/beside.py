"""Finds what else changed in a group at the time when a signal changed. Pure, without Spark."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_agent.pipeline.changes.group_signals import HOUR_MS

__all__ = ["HOURS_BEFORE", "Beside", "State", "beside"]

HOURS_BEFORE = 6
"""Events in this number of hours before a change count as events at the time of the change."""

_DAY_MS = 24 * HOUR_MS


@dataclass(frozen=True, slots=True)
class State:
    """A group after a rebalance that completed at ``at_ms``. ``rollout``: the event id of the deploy that caused it.

    ``images``: the container images that the deploy started, if known.
    """

    at_ms: int
    protocol: str
    assignor: str | None
    members: int
    partitions: int
    rollout: str | None = None
    images: str | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """What happened at the time of a change: a deploy, its start, and by name the values ``before -> after``."""

    rollout: str | None = None
    rollout_ms: int | None = None
    changed: Mapping[str, str] = field(default_factory=dict)


def beside(states: Sequence[State], hour: int) -> Beside:
    """Return what changed between `HOURS_BEFORE` before ``hour`` and its end; ``states`` are in order of time.

    Numbers of members are medians of the day before and of the day after, because autoscaling and deploys change these
    numbers for some hours.
    """
    begin, end = (hour - HOURS_BEFORE) * HOUR_MS, (hour + 1) * HOUR_MS
    earlier = [state for state in states if state.at_ms < begin]
    later = [state for state in states if state.at_ms < end]
    if not later:
        return Beside()
    changed = {}
    if earlier:
        old, new = earlier[-1], later[-1]
        pairs = {
            "protocol": (old.protocol, new.protocol),
            "assignor": (old.assignor, new.assignor),
            "members": (_members(states, begin - _DAY_MS, begin), _members(states, end, end + _DAY_MS)),
            "partitions": (old.partitions, new.partitions),
        }
        changed = {
            name: f"{was} -> {now}" for name, (was, now) in pairs.items() if was != now and None not in (was, now)
        }
    deploy = next((state for state in reversed(later) if state.rollout is not None and state.at_ms >= begin), None)
    if deploy is None:
        return Beside(changed=changed)
    begun = next(state.at_ms for state in states if state.rollout == deploy.rollout)
    before = next(
        (state.images for state in reversed(earlier) if state.images and state.rollout != deploy.rollout), None
    )
    if deploy.images and deploy.images != before:
        changed["image"] = f"{before} -> {deploy.images}" if before else deploy.images
    return Beside(deploy.rollout, begun, changed)


def _members(states: Sequence[State], begin_ms: int, end_ms: int) -> int | None:
    """Return the median of the hourly numbers of members in a period; None if it is unknown."""
    numbers, current, index = [], None, 0
    for at_ms in range(begin_ms, end_ms, HOUR_MS):
        while index < len(states) and states[index].at_ms <= at_ms:
            current, index = states[index].members, index + 1
        if current is not None:
            numbers.append(current)
    return statistics.median_low(numbers) if numbers else None
