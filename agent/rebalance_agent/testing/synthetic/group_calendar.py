"""Plans the steps of a group on each day: deploys, crashes, scaling, growing topics, and maintenance.

Actions do not overlap: an action that would start during another one starts after it. Only restarts of brokers may be
at any time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from rebalance_agent.model.group import GroupType
from rebalance_agent.testing.simulation import Crash, Join, Leave, Step, TopicGrows
from rebalance_agent.testing.synthetic.calendar_members import CalendarMembers, PlannedMember
from rebalance_agent.testing.synthetic.fleet_plan import MEMBERS_MAX, GroupPlan, MembershipPattern, chance
from rebalance_agent.testing.synthetic.hourly_load import HOUR_MS, is_working_time, load_at
from rebalance_agent.testing.synthetic.maintenance import Maintenance

__all__ = ["DAY_MS", "PARTITIONS_MAX", "Calendar"]

DAY_MS = 24 * HOUR_MS
"""One day in milliseconds."""

PARTITIONS_MAX = 192
"""Maximum number of partitions to which a topic grows."""

_WEEKEND_DEPLOYS = 10  # percent of the number on working days
_NIGHT_BEGINS_MS, _NIGHT_ENDS_MS = 90 * 60_000, 4 * HOUR_MS
_REST_MS = 20_000  # between two actions
_BACKOFF_MAX_MS = 300_000  # Kubernetes' maximum delay between restarts of a container


class Calendar:
    """The steps of a group, day by day in order. Times are milliseconds since the start of the history."""

    def __init__(self, plan: GroupPlan, rng: random.Random, maintenance: Maintenance | None = None) -> None:
        """Start without members. ``rng`` chooses the actions; ``maintenance``: that of the group's cluster."""
        self.members = CalendarMembers(plan, rng)
        self._plan = plan
        self._rng = rng
        self._maintenance = maintenance or Maintenance()
        self._counts = dict(plan.topics)
        self._free_ms = 0

    def day(self, number: int) -> list[Step]:
        """Return the steps of day ``number`` in the order of their times; the last ones may be after midnight."""
        begins_ms = number * DAY_MS
        self.members.forget(begins_ms - DAY_MS)
        steps: list[Step] = []
        for at_ms, action in sorted(self._planned_actions(begins_ms), key=lambda planned: planned[0]):
            from_ms = max(at_ms, self._free_ms)
            made = sorted(action(from_ms), key=lambda step: step.at_ms)
            if made:
                self._free_ms = made[-1].at_ms + _REST_MS
                steps += made
        changes = self._maintenance.rack_changes_between(begins_ms, begins_ms + DAY_MS)
        return sorted((*steps, *changes), key=lambda step: step.at_ms)

    def _planned_actions(self, begins_ms: int) -> Iterator[tuple[int, Callable[[int], Iterable[Step]]]]:
        """Yield the time and the action of everything that is planned for a day."""
        plan = self._plan
        if plan.pattern is MembershipPattern.NIGHTLY:
            jitter_ms = self._rng.randrange(600_000)
            yield begins_ms + _NIGHT_BEGINS_MS + jitter_ms, self._all_start
            yield begins_ms + _NIGHT_ENDS_MS + jitter_ms, self._all_end
        elif begins_ms == 0:
            yield self._rng.randrange(60_000), self._all_start
        if plan.pattern is MembershipPattern.SCALED:
            for hour in range(24):
                yield begins_ms + hour * HOUR_MS + self._rng.randrange(600_000), self._scale
        for at_ms in self._moments(begins_ms, plan.deploys_per_day):
            work_ms = begins_ms + 8 * HOUR_MS + (at_ms - begins_ms) * 9 // 24
            if is_working_time(work_ms) or chance(self._rng, _WEEKEND_DEPLOYS):
                yield work_ms, self._deploy
        for drain in self._maintenance.drains_between(begins_ms, begins_ms + DAY_MS):
            yield drain.at_ms, partial(self._drain, drain.node)
        for per_day, action in (
            (plan.crashes_per_day, self._crash),
            (plan.crash_loops_per_day, self._crash_loop),
            (plan.storms_per_day, self._storm),
            (plan.growths_per_day, self._grow),
        ):
            for at_ms in self._moments(begins_ms, per_day):
                yield at_ms, action

    def _moments(self, begins_ms: int, per_day: float) -> Iterator[int]:
        """Yield random times of a day, ``per_day`` of them on average."""
        if not per_day:
            return
        at = self._rng.expovariate(per_day)
        while at < 1:
            yield begins_ms + int(at * DAY_MS)
            at += self._rng.expovariate(per_day)

    # Actions

    def _all_start(self, at_ms: int) -> Iterator[Step]:
        for _ in range(self._target_members(at_ms) - len(self.members)):
            yield self._start(at_ms + self._rng.randrange(5_000))

    def _all_end(self, at_ms: int) -> Iterator[Step]:
        for planned in self.members:
            yield self._leave(at_ms + self._rng.randrange(3_000), planned)

    def _scale(self, at_ms: int) -> Iterator[Step]:
        target, present = self._target_members(at_ms), len(self.members)
        for number in range(present, target):
            yield self._start(at_ms + (number - present) * 2_000 + self._rng.randrange(2_000))
        for planned in list(self.members)[target:]:
            yield self._leave(at_ms + self._rng.randrange(10_000), planned)

    def _deploy(self, at_ms: int) -> Iterator[Step]:
        self.members.release += 1
        old = list(self.members)
        if not self._plan.rolling:
            yield from [self._leave(at_ms + self._rng.randrange(2_000), member) for member in old]
            back_ms = at_ms + 2_000 + self._rng.randrange(4_000, 25_000)
            yield from [self._restart(back_ms + self._rng.randrange(4_000), member) for member in old]
            return
        for planned in old:
            if self._plan.surge:
                yield self._restart(at_ms, planned)
                at_ms += self._rng.randrange(5_000, 15_000)
                yield self._leave(at_ms, planned)
            else:
                yield self._leave(at_ms, planned)
                at_ms += self._rng.randrange(3_000, 20_000)
                yield self._restart(at_ms, planned)
            at_ms += self._rng.randrange(8_000, 45_000)

    def _drain(self, node: str, at_ms: int) -> Iterator[Step]:
        evicted = [planned for planned in self.members if planned.where.node == node]
        yield from [self._leave(at_ms + self._rng.randrange(2_000), planned) for planned in evicted]
        yield from [self._restart(at_ms + self._rng.randrange(5_000, 25_000), planned) for planned in evicted]

    def _crash(self, at_ms: int) -> Iterator[Step]:
        if len(self.members):
            yield from self._crash_and_restart(at_ms, self.members.choose(), self._rng.randrange(4_000, 60_000))

    def _crash_loop(self, at_ms: int) -> Iterator[Step]:
        """Crash one member repeatedly, with growing pauses."""
        if not len(self.members):
            return
        planned, pause_ms = self.members.choose(), 10_000
        for _ in range(self._rng.randrange(6, 25)):
            yield from self._crash_and_restart(at_ms, planned, pause_ms)
            at_ms += pause_ms + self._rng.randrange(15_000, 70_000)
            pause_ms = min(2 * pause_ms, _BACKOFF_MAX_MS)

    def _storm(self, at_ms: int) -> Iterator[Step]:
        """Make a member exceed ``max.poll.interval.ms`` until it is restarted, or crash several members repeatedly."""
        if not len(self.members):
            return
        if self._plan.group_type is GroupType.CLASSIC and chance(self._rng, 60):
            planned = self.members.choose()
            late_ms = self._plan.poll_interval_ms + self._rng.randrange(5_000, 60_000)
            yield self._leave(at_ms, planned)
            yield self._start(at_ms + 5_000, planned.name, late_ms)
            at_ms += late_ms * self._rng.randrange(4, 16)
            yield self._leave(at_ms, self.members.at(at_ms, planned.name))
            yield self._start(at_ms + 5_000, planned.name)
            return
        for _ in range(self._rng.randrange(4, 12)):
            for planned in self._rng.sample(list(self.members), min(3, len(self.members))):
                yield from self._crash_and_restart(
                    at_ms + self._rng.randrange(8_000), planned, self._rng.randrange(5_000, 25_000)
                )
            at_ms += self._rng.randrange(40_000, 120_000)

    def _grow(self, at_ms: int) -> Iterator[Step]:
        topic = self._rng.choice(list(self._counts))
        grown = self._counts[topic] * 3 // 2
        if len(self.members) and grown <= PARTITIONS_MAX:
            self._counts[topic] = grown
            yield TopicGrows(at_ms, topic, grown)

    # Members

    def _target_members(self, at_ms: int) -> int:
        plan = self._plan
        scaled = plan.pattern is MembershipPattern.SCALED
        return min(MEMBERS_MAX, max(1, round(plan.members * load_at(at_ms)) if scaled else plan.members))

    def _start(self, at_ms: int, name: str | None = None, processing_ms: int | None = None) -> Join:
        return Join(at_ms, self.members.start(at_ms, name, processing_ms).spec)

    def _restart(self, at_ms: int, old: PlannedMember) -> Join:
        """Start the successor of ``old``; a static member's successor has the same name."""
        return self._start(at_ms, old.name if self._plan.static else None)

    def _leave(self, at_ms: int, planned: PlannedMember) -> Leave:
        self.members.end(at_ms, planned.name)
        return Leave(at_ms, planned.name)

    def _crash_and_restart(self, at_ms: int, planned: PlannedMember, down_ms: int) -> tuple[Crash, Join]:
        """Crash a process, and start another one in the same pod."""
        self.members.end(at_ms, planned.name)
        again = self.members.start(at_ms + down_ms, planned.name, planned.spec.processing_ms)
        return Crash(at_ms, planned.name), Join(at_ms + down_ms, again.spec)
