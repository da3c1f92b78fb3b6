"""A group whose members join, leave and crash by a script, played through a model of its coordinator.

Times are seconds since the replay began.
"""

from __future__ import annotations

import random
from dataclasses import replace

from rebalance_agent.groupprotocol.commit_key import commit_key
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.testing.simulation import Crash, Join, Leave, SimulatedMember, TopicGrows
from rebalance_agent.testing.synthetic.calendar_members import PlannedMember
from rebalance_agent.testing.synthetic.classic_play import ClassicPlay
from rebalance_agent.testing.synthetic.epoch_play import EpochPlay
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan, GroupPlan
from rebalance_agent.tracking.observations import CommitsSeen, GroupRecord, GroupsListed, ListedGroup, Tick, TopicsSeen
from rebalance_agent.tracking.tracker import REBALANCING, Tracker
from support.replay.scraped_group import ScrapedGroup, callback_series, seen_ms

__all__ = ["Script"]

COMMITS_SECONDS = 5
"""Kafka's default of ``auto.commit.interval.ms``."""


class Script:
    """One group, the steps of its members, and further observations of it."""

    def __init__(self, name, *members, assignor="range", topics=None, reports=False, kind=GroupType.CLASSIC, **spec):
        """``members`` join at once; ``spec``: how each member behaves, unless `join` replaces it."""
        self.name, self._spec, self._assignor = name, spec, assignor
        self._topics = topics or {"t": 12}
        self._fleet = FleetPlan(1, 1, 0)
        self._plan = GroupPlan(0, name, kind, assignor, self._topics, len(members), reports=reports)
        self._known, self._steps, self._more = {}, [], []
        for member in members:
            self.join(1, member)

    def join(self, at, name, **spec):
        """A process with this member's name starts."""
        strategy = self._assignor if self._plan.group_type is GroupType.CLASSIC else "range"
        member = SimulatedMember(name, tuple(self._topics), (strategy,), **{**self._spec, **spec})
        host = f"/10.0.0.{sum(map(ord, name)) % 250}"
        planned = PlannedMember(member, name, host, Workload(name, "node", self.name, "image"), round(at * 1000))
        self._known.setdefault(name, []).append(planned)
        self._steps.append(Join(planned.born_ms, member))

    def leave(self, at, *names):
        self._steps += [Leave(round(at * 1000), name) for name in names]

    def crash(self, at, name):
        self._steps.append(Crash(round(at * 1000), name))

    def restart(self, at, name, away=5, **spec):
        """A member leaves and returns after ``away`` seconds."""
        self.leave(at, name)
        self.join(at + away, name, **spec)

    def grow(self, at, learns, **counts):
        """Topics get more partitions; the members detect this at ``learns``."""
        seen_ms = self._fleet.since_ms + round(at * 1000)
        self._more.append(TopicsSeen(seen_ms, self._topics | counts))
        self._steps += [TopicGrows(round(learns * 1000), *count) for count in counts.items()]

    def hang(self, at, until):
        """The coordinator reports a rebalance, and writes no record until its end."""
        for second in range(at, until):
            asked_ms = self._fleet.since_ms + second * 1000
            shown = ListedGroup(self.name, GroupState.PREPARING_REBALANCE, GroupType.CLASSIC)
            self._more.append(GroupsListed(asked_ms, asked_ms + 1, REBALANCING, (shown,) if second > at else ()))
        self._more.append(until)

    def at(self, at_ms, name):
        """The process with this name at that time, as `calendar_members` returns it."""
        processes = self._known[name]
        return next((each for each in reversed(processes) if each.born_ms <= at_ms), processes[0])

    def series(self, until, scrape, *, commits=False, **settings):
        """Series -> values by the number of the scrape; ``settings`` are the tracker's."""
        tracker = Tracker(self._fleet.cluster_id, **settings)
        group = ScrapedGroup(self.name, tracker, self._fleet.since_ms, scrape)
        for observation in self._observations(until, commits=commits):
            group.observe(observation)
        group.observe(Tick(self._fleet.since_ms + until * 1000))
        return group.series | callback_series(group.reports, self._fleet.since_ms, scrape, until // scrape)

    def _observations(self, until, *, commits):
        kind = ClassicPlay if self._plan.group_type is GroupType.CLASSIC else EpochPlay
        play = kind(self._fleet, self._plan, self, random.Random(self.name))
        seen = [*play.begin(), *play.play(sorted(self._steps, key=lambda step: step.at_ms), until * 1000)]
        seen += [each for each in self._more if not isinstance(each, int)]
        seen += [self._again(seen, each) for each in self._more if isinstance(each, int)]
        if commits:
            seen += self._commits([each for each in seen if isinstance(each, GroupRecord)], until)
        return sorted(seen, key=seen_ms)

    def _again(self, seen, at):
        """The record of another generation with the members of the previous one."""
        at_ms = self._fleet.since_ms + at * 1000
        last = max((each for each in seen if isinstance(each, GroupRecord) and each.seen_ms < at_ms), key=seen_ms)
        value = replace(last.value, generation=last.value.generation + 1, current_state_timestamp_ms=at_ms - 20)
        return replace(last, timestamp_ms=at_ms, seen_ms=at_ms + 3, value=value)

    def _commits(self, records, until):
        """The commits of each member while its process runs, up to its next generation."""
        crashed = {(step.name, step.at_ms) for step in self._steps if isinstance(step, Crash)}
        records = sorted(records, key=seen_ms)
        for record, following in zip(records, [*records[1:], None], strict=True):
            end_ms = following.timestamp_ms if following else self._fleet.since_ms + until * 1000
            for member in record.value.members:
                ends = [self._fleet.since_ms + at_ms for name, at_ms in crashed if name == member.client_id]
                last_ms = min([end_ms, *(each for each in ends if each > record.timestamp_ms)])
                keys = [
                    commit_key(self.name, topic, number)
                    for topic, numbers in member.assignment.partitions.items()
                    for number in numbers
                ]
                for at_ms in range(record.timestamp_ms + 1_000, last_ms, COMMITS_SECONDS * 1000):
                    yield CommitsSeen(at_ms + 3, dict.fromkeys(keys, (at_ms, at_ms - self._fleet.since_ms)))
