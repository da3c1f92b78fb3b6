"""Models the coordinators that assign partitions themselves (KIP-848, KIP-932, KIP-1071), and writes their records.

A member learns of a new epoch from a heartbeat, revokes partitions that it must give up, and takes partitions that are
free. Members of a share group do not wait for each other. The model leaves out static members, regular expressions,
standby tasks and the classic protocol.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochFact,
    EpochMember,
    GroupEpoch,
    MemberState,
    MemberTarget,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.events import Callback
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.partitions import topic_partitions
from rebalance_agent.testing.simulation import Crash, Join, Leave, RacksChange, Step, TopicGrows
from rebalance_agent.testing.simulation.action_queue import ActionQueue
from rebalance_agent.testing.synthetic.calendar_members import CalendarMembers, PlannedMember
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan, GroupPlan, stable_id
from rebalance_agent.testing.synthetic.reported_events import MemberReporter
from rebalance_agent.testing.synthetic.target_assignments import Targets, by_range, shared, uniform
from rebalance_agent.tracking.observations import Backfilled, EpochRecord, Observation, TopicsSeen

__all__ = ["EpochPlay"]

HEARTBEAT_MS = 5_000
"""Brokers' default for ``group.consumer.heartbeat.interval.ms``."""

SESSION_MS = 45_000
"""Brokers' default for ``group.consumer.session.timeout.ms``."""

ASSIGN_MS = 1_000
"""Delay (ms) from a change of the group to the new assignment, which includes further changes in this time."""

_ACTIONS_MAX = 20_000_000


@dataclass(slots=True)
class _Member:
    """One member of the coordinator's group; ``beats_ms``: the time of the member's first heartbeat."""

    member_id: str
    planned: PlannedMember
    beats_ms: int
    epoch: int
    state: MemberState = MemberState.STABLE
    assigned: set[Partition] = field(default_factory=set)
    revoking: set[Partition] = field(default_factory=set)
    alive: bool = True

    @property
    def held(self) -> set[Partition]:
        return self.assigned | self.revoking


class EpochPlay:
    """Plays one group. Steps count time from the start of the history, observations from the epoch."""

    def __init__(
        self, fleet: FleetPlan, plan: GroupPlan, calendar_members: CalendarMembers, rng: random.Random
    ) -> None:
        """Start with a group without members; ``calendar_members`` has the processes that the steps name."""
        self._since_ms = fleet.since_ms
        self._plan = plan
        self._calendar_members = calendar_members
        self._rng = rng
        self._reporter = MemberReporter(fleet, plan, rng) if plan.reports else None
        self._actions = ActionQueue()
        self._counts = dict(plan.topics)
        self._ids = {topic: stable_id(fleet.seed, plan.name, topic) for topic in plan.topics}
        self._epoch = self._target_epoch = 0
        self._members: dict[str, _Member] = {}
        self._by_name: dict[str, str] = {}
        self._targets: Targets = {}
        self._assigning = False
        self._observations: list[Observation] = []

    def begin(self) -> Iterator[Observation]:
        """Yield the observations before the first step, when the group does not exist yet."""
        yield self._topics(-1)
        yield Backfilled(self._since_ms, frozenset({0}))

    def play(self, steps: Sequence[Step], until_ms: int) -> list[Observation]:
        """Return the observations of ``steps``, in the order in which they happened."""
        for step in steps:
            self._actions.at(step.at_ms, partial(self._take, step))
        self._actions.run(until_ms, _ACTIONS_MAX)
        observations, self._observations = self._observations, []
        return observations

    def _take(self, step: Step) -> None:
        if isinstance(step, Join):
            self._join(self._calendar_members.at(step.at_ms, step.member.name))
        elif isinstance(step, Leave):
            self._leave(self._members[self._by_name.pop(step.name)])
        elif isinstance(step, Crash):
            member = self._members[self._by_name.pop(step.name)]
            member.alive = False
            last_ms = self._next_beat_ms(member) - HEARTBEAT_MS
            self._actions.at(max(last_ms, member.beats_ms) + SESSION_MS, partial(self._remove, member))
        elif isinstance(step, TopicGrows):
            self._counts[step.topic] = step.partitions
            self._observations.append(self._topics(self._actions.now_ms))
            self._bump()
        elif isinstance(step, RacksChange):
            self._bump()

    # Joining and leaving

    def _join(self, planned: PlannedMember) -> None:
        now_ms = self._actions.now_ms
        member = _Member(stable_id(planned.name, now_ms), planned, now_ms, self._target_epoch)
        if not self._members and self._plan.group_type is GroupType.STREAMS:
            self._write(Topology({str(number): (topic,) for number, topic in enumerate(self._counts)}, 0))
        self._members[member.member_id] = member
        self._by_name[planned.name] = member.member_id
        streams = self._plan.group_type is GroupType.STREAMS
        value = EpochMember(
            client_id=planned.client_id,
            client_host=planned.host,
            rack=planned.spec.rack,
            topics=() if streams else tuple(sorted(self._counts)),
            rebalance_timeout_ms=-1 if self._plan.group_type is GroupType.SHARE else planned.spec.rebalance_timeout_ms,
            assignor=self._plan.assignor or None,
            process=stable_id(planned.name) if streams else None,
        )
        self._write(value, member.member_id)
        self._bump()
        self._write_current(member)

    def _leave(self, member: _Member) -> None:
        if self._reporter and member.held:
            self._report(Callback.REVOKED, member, member.held, member.planned.spec.revoked_ms)
            self._report(Callback.LEFT, member, set(), 0)
        self._remove(member)

    def _remove(self, member: _Member) -> None:
        """Remove a member that left or whose session ended."""
        if self._members.pop(member.member_id, None) is None:
            return
        member.alive = False
        self._targets.pop(member.member_id, None)
        for kind in (CurrentAssignment, MemberTarget, EpochMember):
            self._record(kind, None, member.member_id)
        self._bump()

    # Epochs

    def _bump(self) -> None:
        self._epoch += 1
        validated = 0 if self._plan.group_type is GroupType.STREAMS else -1
        self._write(GroupEpoch(self._epoch, validated))
        if not self._assigning:
            self._assigning = True
            self._actions.after(ASSIGN_MS, self._assign)

    def _assign(self) -> None:
        self._assigning = False
        targets = self._new_targets()
        for member_id, target in targets.items():
            if target != self._targets.get(member_id):
                self._write(MemberTarget(self._named(target)), member_id)
        self._targets, self._target_epoch = targets, self._epoch
        self._write(TargetEpoch(self._epoch))
        for member in self._members.values():
            if member.alive:
                self._actions.at(self._next_beat_ms(member), partial(self._beat, member, self._target_epoch))

    def _new_targets(self) -> Targets:
        members = sorted(self._members)
        partitions = [(topic, number) for topic in sorted(self._counts) for number in range(self._counts[topic])]
        if self._plan.group_type is GroupType.SHARE:
            return shared(partitions, members)
        if self._plan.assignor == "range":
            return by_range(self._counts, members)
        return uniform(partitions, members, self._targets)

    def _next_beat_ms(self, member: _Member) -> int:
        since_ms = self._actions.now_ms - member.beats_ms
        return member.beats_ms + (since_ms // HEARTBEAT_MS + 1) * HEARTBEAT_MS

    def _beat(self, member: _Member, epoch: int) -> None:
        """Handle a heartbeat after a change, unless there is a newer target epoch, which has its own heartbeats."""
        if not member.alive or epoch != self._target_epoch:
            return
        member.revoking = set()
        target = self._targets.get(member.member_id, set())
        surplus = set() if self._plan.group_type is GroupType.SHARE else member.assigned - target
        if surplus:
            member.assigned -= surplus
            member.revoking, member.state = surplus, MemberState.UNREVOKED
            self._write_current(member)
            pause_ms = self._rng.randrange(member.planned.spec.processing_ms + 1) + member.planned.spec.revoked_ms + 1
            if self._reporter:
                self._report(Callback.REVOKED, member, surplus, pause_ms)
            self._actions.after(pause_ms, partial(self._beat, member, epoch))
            return
        self._take_free(member, target)
        if member.state is not MemberState.STABLE:
            self._actions.at(self._next_beat_ms(member), partial(self._beat, member, epoch))

    def _take_free(self, member: _Member, target: set[Partition]) -> None:
        before = (member.epoch, member.state, set(member.assigned))
        if self._plan.group_type is GroupType.SHARE:
            member.assigned = set(target)
        else:
            others = [other.held for other in self._members.values() if other is not member]
            member.assigned |= target.difference(*others)
        member.epoch = self._target_epoch
        member.state = MemberState.STABLE if member.assigned == target else MemberState.UNRELEASED
        if before != (member.epoch, member.state, member.assigned):
            self._write_current(member)
        if self._reporter and (added := member.assigned - before[2]):
            self._report(Callback.ASSIGNED, member, added, member.planned.spec.assigned_ms)

    # Observations

    def _report(self, callback: Callback, member: _Member, partitions: set[Partition], took_ms: int) -> None:
        if self._reporter:
            span_ms = (self._actions.now_ms, self._actions.now_ms + took_ms)
            named = topic_partitions(partitions)
            self._observations.append(
                self._reporter.report_callback(callback, member.planned, member.member_id, member.epoch, span_ms, named)
            )

    def _write_current(self, member: _Member) -> None:
        self._write(
            CurrentAssignment(
                member.epoch, member.epoch, member.state, self._named(member.assigned), self._named(member.revoking)
            ),
            member.member_id,
        )

    def _write(self, value: EpochFact, subject: str = "") -> None:
        self._record(type(value), value, subject)

    def _record(self, kind: type[EpochFact], value: EpochFact | None, subject: str) -> None:
        at_ms = self._since_ms + self._actions.now_ms
        self._observations.append(
            EpochRecord(self._plan.name, at_ms, at_ms + 5, self._plan.group_type, kind, value, subject)
        )

    def _named(self, partitions: set[Partition]) -> dict[str, tuple[int, ...]]:
        """Return ``partitions`` by the names in records: topic ids, or subtopologies of a streams group."""
        if self._plan.group_type is GroupType.STREAMS:
            subtopologies = {topic: str(index) for index, topic in enumerate(self._counts)}
            return topic_partitions((subtopologies[topic], number) for topic, number in partitions)
        return topic_partitions((self._ids[topic], number) for topic, number in partitions)

    def _topics(self, at_ms: int) -> TopicsSeen:
        return TopicsSeen(self._since_ms + at_ms, dict(self._counts), self._ids)
