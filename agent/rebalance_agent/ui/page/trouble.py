"""Which groups hurt, and why, in a few words: the order of the list. Pure.

Its numbers are those of the alerts (``alerts/values.yaml``), so that the page and a page at night agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from rebalance_agent.api.shapes import GroupSummary, Rebalance, RebalanceKind
from rebalance_agent.model.episode import Stall
from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.views import RunningRebalance
from rebalance_agent.ui.svg.pieces import trigger_name
from rebalance_agent.ui.words import TIMES, listed, plural, printable, rounded_duration, shortened

__all__ = [
    "HOUR_MS",
    "LONG_S",
    "NAMED",
    "SHARED",
    "SKEWED",
    "STALLED_S",
    "STORM_MIN",
    "STORM_PER_MEMBER",
    "STORM_S",
    "Level",
    "RecentRebalances",
    "Trouble",
    "past",
    "standstill",
    "trouble",
]

HOUR_MS = 3_600_000

LONG_S = 60.0
"""A rebalance that runs for longer is no ordinary one: a rolling restart's take a few seconds."""

SKEWED = 1.5
"""The most that a member's load may be over its target, in a group of more members than `SHARED`."""

SHARED = 1
"""So few members have nobody to share with."""

STALLED_S = 5.0
"""A stall of the last hour that consumers' users have noticed."""

STORM_S = 900.0
"""In what time rebalances count as a storm, and how long lost partitions are told."""

STORM_PER_MEMBER = 2
"""Rebalances of each member in that time that a rolling restart explains."""

STORM_MIN = 6
"""Rebalances in that time that no group is blamed for, however small."""

NAMED = 3
"""Flapping members that are named."""


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


class RecentRebalances(NamedTuple):
    """What a group went through lately.

    Rebalances in the last ``hour`` and in a ``storm``'s time, and partitions ``lost`` in that. ``stalled``: the
    rebalance of the hour that stood still for longest, if it is one to be told.
    """

    hour: int = 0
    storm: int = 0
    lost: int = 0
    stalled: Rebalance | None = None


def past(rebalances: Iterable[Rebalance], now_ms: int) -> RecentRebalances:
    """What is said of a group's ``rebalances``."""
    completed = [each for each in rebalances if each.kind is RebalanceKind.COMPLETED]
    hour = [each for each in completed if each.timestamp_ms >= now_ms - HOUR_MS]
    storm = [each for each in hour if each.timestamp_ms >= now_ms - STORM_S * 1000]
    # Of a bound only the lower end is certain.
    stalls = [(each.stall.lower_seconds, each) for each in hour if each.stall and each.stall.lower_seconds >= STALLED_S]
    stalled = max(stalls, key=lambda pair: pair[0])[1] if stalls else None
    return RecentRebalances(len(hour), len(storm), sum(each.lost for each in storm), stalled)


def trouble(group: GroupSummary, lately: RecentRebalances, now_ms: int) -> Trouble:
    """What is wrong with a group that went through all that ``lately``."""
    found = sorted(_found(group, lately, now_ms), key=lambda each: (-each.level, -each.weight))
    if not found:
        return Trouble()
    return Trouble(found[0].level, found[0].weight, tuple(word for each in found for word in each.why))


def _found(group: GroupSummary, lately: RecentRebalances, now_ms: int) -> Iterator[Trouble]:
    if group.running:
        # No number of seconds: the page would change with every look at it.
        seconds = max(0, now_ms - group.running.started_ms) / 1000
        level = Level.HURTS if seconds > LONG_S else Level.LOOK
        long = f" for more than {rounded_duration(LONG_S)}" if seconds > LONG_S else ""
        yield Trouble(level, 1_000 + seconds, (f"rebalances{long}, {standstill(group.running)}",))
    elif group.unassigned and group.members:
        yield Trouble(Level.HURTS, 900, (f"{plural(group.unassigned, 'partition')} without an owner",))
    if lately.storm > max(STORM_PER_MEMBER * group.members, STORM_MIN):
        yield Trouble(
            Level.HURTS, 500 + lately.storm, (f"storm: {lately.storm} rebalances in {rounded_duration(STORM_S)}",)
        )
    if lately.stalled and lately.stalled.stall:
        yield Trouble(Level.LOOK, 300 + lately.stalled.stall.seconds, (_stall(lately.stalled, lately.stalled.stall),))
    if lately.lost:
        yield Trouble(Level.LOOK, 200, (f"a member failed that had {plural(lately.lost, 'partition')}",))
    if group.skew_ratio is not None and group.skew_ratio > SKEWED and group.members > SHARED:
        times = f"{group.skew_ratio:.1f}{TIMES}"
        yield Trouble(Level.LOOK, 100 + group.skew_ratio, (f"the fullest member has {times} its share",))
    if group.flapping:
        who = listed([shortened(printable(each), 60) for each in group.flapping], NAMED)
        yield Trouble(Level.LOOK, 250, (f"comes and goes again and again: {who}",))
    if group.idle_members:
        number = group.idle_members
        yield Trouble(Level.WELL, 2, (f"{plural(number, 'member')} {'has' if number == 1 else 'have'} nothing to do",))
    if group.state is GroupState.EMPTY:
        yield Trouble(Level.WELL, 1, ("nobody consumes",))


def standstill(running: RunningRebalance) -> str:
    """How many partitions stand still while it runs."""
    number = running.stalled_partitions
    return (
        f"{plural(number, 'partition')} {'stands' if number == 1 else 'stand'} still"
        if number
        else "nothing stands still"
    )


def _stall(rebalance: Rebalance, stall: Stall) -> str:
    slowest = rebalance.slowest
    # Who is named kept the others for most of it.
    named = slowest and (slowest.seconds or 0) >= stall.seconds / 2
    waited = f", waiting for {shortened(printable(slowest.client_id), 60)}" if slowest and named else ""
    why = f": {trigger_name(rebalance.trigger)}" if rebalance.trigger else ""
    return f"stood still for {rounded_duration(stall.seconds)}{why}{waited}"
