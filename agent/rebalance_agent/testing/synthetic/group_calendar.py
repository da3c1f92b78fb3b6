"""What happens to a group on a day: deploys, accidents, more and fewer members, topics that grow. As model steps.

One thing happens after the other: what would begin while something else goes on begins after it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator

from rebalance_agent.model.group import GroupType
from rebalance_agent.testing.simulation import Crash, Join, Leave, Step, TopicGrows
from rebalance_agent.testing.synthetic.calendar_members import CalendarMembers, Person
from rebalance_agent.testing.synthetic.fleet_plan import MEMBERS_MAX, GroupPlan, MembershipPattern, chance
from rebalance_agent.testing.synthetic.hourly_load import HOUR_MS, is_working_time, load_at

__all__ = ["DAY_MS", "PARTITIONS_MAX", "Calendar"]

DAY_MS = 24 * HOUR_MS

PARTITIONS_MAX = 192
"""A topic that has so many grows no more."""

_WEEKEND_DEPLOYS = 10  # percent of those on working days
_NIGHT_BEGINS_MS, _NIGHT_ENDS_MS = 90 * 60_000, 4 * HOUR_MS
_REST_MS = 20_000  # between two things that happen
_BACKOFF_MAX_MS = 300_000  # Kubernetes' own, between restarts of what crashes again and again


class Calendar:
    """A group's days, to be asked for in their order. Times are milliseconds since the history's beginning."""

    def __init__(self, plan: GroupPlan, rng: random.Random) -> None:
        """Nothing has happened; ``rng`` decides what will."""
        self.roster = CalendarMembers(plan, rng)
        self._plan = plan
        self._rng = rng
        self._counts = dict(plan.topics)
        self._free_ms = 0

    def day(self, number: int) -> list[Step]:
        """The steps of day ``number``, in the order of their time; the last of them may be after midnight."""
        begins_ms = number * DAY_MS
        self.roster.forget(begins_ms - DAY_MS)
        steps: list[Step] = []
        for at_ms, happen in sorted(self._drawn(begins_ms), key=lambda each: each[0]):
            from_ms = max(at_ms, self._free_ms)
            made = sorted(happen(from_ms), key=lambda step: step.at_ms)
            if made:
                self._free_ms = made[-1].at_ms + _REST_MS
                steps += made
        return steps

    def _drawn(self, begins_ms: int) -> Iterator[tuple[int, Callable[[int], Iterable[Step]]]]:
        """What is to happen, and when it would."""
        plan = self._plan
        if plan.rhythm is MembershipPattern.NIGHTLY:
            jitter_ms = self._rng.randrange(600_000)
            yield begins_ms + _NIGHT_BEGINS_MS + jitter_ms, self._all_start
            yield begins_ms + _NIGHT_ENDS_MS + jitter_ms, self._all_end
        elif begins_ms == 0:
            yield self._rng.randrange(60_000), self._all_start
        if plan.rhythm is MembershipPattern.SCALED:
            for hour in range(24):
                yield begins_ms + hour * HOUR_MS + self._rng.randrange(600_000), self._scale
        for at_ms in self._moments(begins_ms, plan.deploys_per_day):
            work_ms = begins_ms + 8 * HOUR_MS + (at_ms - begins_ms) * 9 // 24
            if is_working_time(work_ms) or chance(self._rng, _WEEKEND_DEPLOYS):
                yield work_ms, self._deploy
        for per_day, happen in (
            (plan.crashes_per_day, self._crash),
            (plan.crash_loops_per_day, self._crash_loop),
            (plan.storms_per_day, self._storm),
            (plan.growths_per_day, self._grow),
        ):
            for at_ms in self._moments(begins_ms, per_day):
                yield at_ms, happen

    def _moments(self, begins_ms: int, per_day: float) -> Iterator[int]:
        """Moments of the day, as many as come by chance."""
        at = self._rng.expovariate(per_day)
        while at < 1:
            yield begins_ms + int(at * DAY_MS)
            at += self._rng.expovariate(per_day)

    # What happens

    def _all_start(self, at_ms: int) -> Iterator[Step]:
        for _ in range(self._wanted(at_ms) - len(self.roster)):
            yield self._start(at_ms + self._rng.randrange(5_000))

    def _all_end(self, at_ms: int) -> Iterator[Step]:
        for person in self.roster:
            yield self._leave(at_ms + self._rng.randrange(3_000), person)

    def _scale(self, at_ms: int) -> Iterator[Step]:
        wanted, there = self._wanted(at_ms), len(self.roster)
        for number in range(there, wanted):
            yield self._start(at_ms + (number - there) * 2_000 + self._rng.randrange(2_000))
        for person in list(self.roster)[wanted:]:
            yield self._leave(at_ms + self._rng.randrange(10_000), person)

    def _deploy(self, at_ms: int) -> Iterator[Step]:
        self.roster.release += 1
        old = list(self.roster)
        if not self._plan.rolling:
            yield from [self._leave(at_ms + self._rng.randrange(2_000), each) for each in old]
            back_ms = at_ms + 2_000 + self._rng.randrange(4_000, 25_000)
            yield from [self._again(back_ms + self._rng.randrange(4_000), each) for each in old]
            return
        for person in old:
            if self._plan.surge:
                yield self._again(at_ms, person)
                at_ms += self._rng.randrange(5_000, 15_000)
                yield self._leave(at_ms, person)
            else:
                yield self._leave(at_ms, person)
                at_ms += self._rng.randrange(3_000, 20_000)
                yield self._again(at_ms, person)
            at_ms += self._rng.randrange(8_000, 45_000)

    def _crash(self, at_ms: int) -> Iterator[Step]:
        if len(self.roster):
            yield from self._fall(at_ms, self.roster.choose(), self._rng.randrange(4_000, 60_000))

    def _crash_loop(self, at_ms: int) -> Iterator[Step]:
        """One member crashes again and again, after ever longer pauses."""
        if not len(self.roster):
            return
        person, pause_ms = self.roster.choose(), 10_000
        for _ in range(self._rng.randrange(6, 25)):
            yield from self._fall(at_ms, person, pause_ms)
            at_ms += pause_ms + self._rng.randrange(15_000, 70_000)
            pause_ms = min(2 * pause_ms, _BACKOFF_MAX_MS)

    def _storm(self, at_ms: int) -> Iterator[Step]:
        """One member takes longer than it may between polls, until somebody restarts it; or several are thrown out."""
        if not len(self.roster):
            return
        if self._plan.group_type is GroupType.CLASSIC and chance(self._rng, 60):
            person = self.roster.choose()
            late_ms = self._plan.poll_interval_ms + self._rng.randrange(5_000, 60_000)
            yield self._leave(at_ms, person)
            yield self._start(at_ms + 5_000, person.name, late_ms)
            at_ms += late_ms * self._rng.randrange(4, 16)
            yield self._leave(at_ms, self.roster.at(at_ms, person.name))
            yield self._start(at_ms + 5_000, person.name)
            return
        for _ in range(self._rng.randrange(4, 12)):
            for person in self._rng.sample(list(self.roster), min(3, len(self.roster))):
                yield from self._fall(at_ms + self._rng.randrange(8_000), person, self._rng.randrange(5_000, 25_000))
            at_ms += self._rng.randrange(40_000, 120_000)

    def _grow(self, at_ms: int) -> Iterator[Step]:
        topic = self._rng.choice(list(self._counts))
        grown = self._counts[topic] * 3 // 2
        if len(self.roster) and grown <= PARTITIONS_MAX:
            self._counts[topic] = grown
            yield TopicGrows(at_ms, topic, grown)

    # Members

    def _wanted(self, at_ms: int) -> int:
        plan = self._plan
        scaled = plan.rhythm is MembershipPattern.SCALED
        return min(MEMBERS_MAX, max(1, round(plan.members * load_at(at_ms)) if scaled else plan.members))

    def _start(self, at_ms: int, name: str | None = None, processing_ms: int | None = None) -> Join:
        return Join(at_ms, self.roster.start(at_ms, name, processing_ms).spec)

    def _again(self, at_ms: int, old: Person) -> Join:
        """What takes the place of ``old``: a static member has its name."""
        return self._start(at_ms, old.name if self._plan.static else None)

    def _leave(self, at_ms: int, person: Person) -> Leave:
        self.roster.end(at_ms, person.name)
        return Leave(at_ms, person.name)

    def _fall(self, at_ms: int, person: Person, down_ms: int) -> tuple[Crash, Join]:
        """A process ends without a word, and is started again: the same pod, another process."""
        self.roster.end(at_ms, person.name)
        again = self.roster.start(at_ms + down_ms, person.name, person.spec.processing_ms)
        return Crash(at_ms, person.name), Join(at_ms + down_ms, again.spec)
