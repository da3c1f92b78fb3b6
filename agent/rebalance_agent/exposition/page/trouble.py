"""Which groups hurt, and why, in a few words: the order of the list. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from rebalance_agent.drawing.words import TIMES, duration
from rebalance_agent.exposition.api_shapes import GroupSummary
from rebalance_agent.exposition.telling.words import plural
from rebalance_agent.model.group import GroupState

__all__ = ["Level", "Trouble", "trouble"]

LONG_S = 30.0
"""A rebalance that runs for longer is no ordinary one: a rolling restart's take a few seconds."""

SKEWED = 1.5
"""As the alert for skew has it."""

STALLED_S = 5.0
"""A stall of the last hour that consumers' users have noticed."""

STORM_MIN = 6
"""Rebalances of an hour that no group is blamed for; else it is twice its members, which a rolling restart takes."""


class Level(IntEnum):
    """How much it matters."""

    WELL = 0
    LOOK = 1
    HURTS = 2


class Trouble(NamedTuple):
    """The worst of what is wrong with a group. ``weight`` orders groups of one level; ``why`` is in words."""

    level: Level = Level.WELL
    weight: float = 0.0
    why: tuple[str, ...] = ()


def trouble(group: GroupSummary, hour: int, now_ms: int) -> Trouble:
    """What is wrong with a group that completed ``hour`` rebalances in the last hour."""
    found = sorted(_found(group, hour, now_ms), key=lambda each: (-each.level, -each.weight))
    if not found:
        return Trouble()
    return Trouble(found[0].level, found[0].weight, tuple(word for each in found for word in each.why))


def _found(group: GroupSummary, hour: int, now_ms: int) -> Iterator[Trouble]:
    if group.running:
        # No number of seconds: the page would change with every look at it.
        seconds = max(0, now_ms - group.running.started_ms) / 1000
        level = Level.HURTS if seconds > LONG_S else Level.LOOK
        stands = plural(group.running.stalled_partitions, "partition")
        long = f" for more than {duration(LONG_S)}" if seconds > LONG_S else ""
        yield Trouble(level, 1_000 + seconds, (f"rebalances{long}, {stands} still",))
    if group.unassigned and group.members:
        yield Trouble(Level.HURTS, 900, (f"{plural(group.unassigned, 'partition')} without an owner",))
    if hour > max(2 * group.members, STORM_MIN):
        yield Trouble(Level.HURTS, 500 + hour, (f"storm: {hour} rebalances in an hour",))
    last = group.last
    if last and last.stall and last.stall.lower_seconds >= STALLED_S and now_ms - last.timestamp_ms < 3_600_000:  # noqa: PLR2004
        yield Trouble(Level.LOOK, 300 + last.stall.seconds, (f"stood still for {duration(last.stall.seconds)}",))
    if group.skew_ratio is not None and group.skew_ratio > SKEWED and group.members > 1:
        times = f"{group.skew_ratio:.1f}{TIMES}"
        yield Trouble(Level.LOOK, 100 + group.skew_ratio, (f"the fullest member has {times} its share",))
    if group.state is GroupState.EMPTY:
        yield Trouble(Level.WELL, 1, ("nobody consumes",))
