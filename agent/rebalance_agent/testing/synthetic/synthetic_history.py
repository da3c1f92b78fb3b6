"""Generates the events of a synthetic group: passes its observations to the real tracker, day by day."""

from __future__ import annotations

import random
from collections.abc import Iterator

from rebalance_agent.model.events import AssignEvent, Event, MemberEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.testing.synthetic.classic_play import ClassicPlay
from rebalance_agent.testing.synthetic.epoch_play import EpochPlay
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan, GroupPlan, plan_group
from rebalance_agent.testing.synthetic.group_calendar import DAY_MS, Calendar
from rebalance_agent.testing.synthetic.maintenance import Maintenance
from rebalance_agent.tracking.observations import (
    EpochRecord,
    GroupRecord,
    GroupsListed,
    MemberReported,
    Observation,
    Tick,
)
from rebalance_agent.tracking.tracker import Tracker

__all__ = ["history"]

_SETTLED_MS = 3_600_000  # after the last day: by then all events are published


def history(
    fleet: FleetPlan,
    number: int,
    tracker: Tracker | None = None,
    plan: GroupPlan | None = None,
    maintenance: Maintenance | None = None,
) -> Iterator[Event]:
    """Yield all events of group ``number`` in the order of publication; one day of events is in memory at a time.

    - ``tracker``: gets the observations; by default a new tracker.
    - ``plan``: the properties of the group; by default those of `plan_group`.
    - ``maintenance``: that of the group's cluster; by default none.
    """
    plan = plan or plan_group(fleet, number)
    rng = random.Random(f"{fleet.seed}/{number}/days")  # noqa: S311 - a fleet has to be reproducible
    calendar = Calendar(plan, rng, maintenance)
    play = _play(fleet, plan, calendar, rng)
    tracker = tracker or Tracker(fleet.cluster_id)
    for observation in play.begin():
        tracker.observe(observation)
    later: list[Observation] = []
    for day in range(fleet.days):
        until_ms = (day + 1) * DAY_MS
        observations = [*later, *play.play(calendar.day(day), until_ms)]
        observations.sort(key=_time_of)
        border_ms = fleet.since_ms + until_ms
        later = [each for each in observations if _time_of(each) > border_ms]
        yield from _observe(tracker, observations[: len(observations) - len(later)])
    yield from _observe(tracker, later)
    yield from _tick(tracker, fleet.since_ms + fleet.days * DAY_MS + _SETTLED_MS)


def _play(fleet: FleetPlan, plan: GroupPlan, calendar: Calendar, rng: random.Random) -> ClassicPlay | EpochPlay:
    kind = ClassicPlay if plan.group_type is GroupType.CLASSIC else EpochPlay
    return kind(fleet, plan, calendar.members, rng)


def _observe(tracker: Tracker, observations: list[Observation]) -> Iterator[Event]:
    for observation in observations:
        if isinstance(observation, MemberReported) and isinstance(observation.event, MemberEvent | AssignEvent):
            yield observation.event
        yield from tracker.observe(observation)


def _tick(tracker: Tracker, at_ms: int) -> Iterator[Event]:
    yield from tracker.observe(Tick(at_ms))
    while tracker.behind:
        yield from tracker.observe(Tick(at_ms))


def _time_of(observation: Observation) -> int:
    """Return the time at which the observer gets ``observation``, in epoch milliseconds."""
    if isinstance(observation, GroupRecord | EpochRecord):
        return observation.seen_ms
    if isinstance(observation, GroupsListed):
        return observation.answered_ms
    return observation.at_ms
