"""Plays a classic group's calendar through the simulated coordinator, and returns an observer's observations."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rebalance_agent.model.events import Callback
from rebalance_agent.model.group import GroupSnapshot, GroupState, GroupType, Member
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription, TopicMetadata
from rebalance_agent.testing.simulation import (
    Crash,
    Leave,
    SimulatedGeneration,
    SimulatedHandover,
    SimulatedReplacement,
    Simulation,
    SimulationSettings,
    Step,
    Timeline,
    TopicGrows,
)
from rebalance_agent.testing.synthetic.calendar_members import CalendarMembers
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan, GroupPlan
from rebalance_agent.testing.synthetic.reported_events import MemberReporter
from rebalance_agent.tracking.observations import GroupRecord, GroupsListed, ListedGroup, Observation, TopicsSeen
from rebalance_agent.tracking.tracker import REBALANCING

__all__ = ["POLL_MS", "ClassicPlay"]

POLL_MS = 250
"""The observer's default interval (ms) between polls for rebalancing groups."""

_LATENCY_MS = 2
_SUBSCRIPTION_VERSION = 3


class ClassicPlay:
    """Plays one classic group. Steps count time from the start of the history, observations from the epoch."""

    def __init__(
        self, fleet: FleetPlan, plan: GroupPlan, calendar_members: CalendarMembers, rng: random.Random
    ) -> None:
        """Start with a group without members; ``calendar_members`` has the processes that the steps name."""
        self._since_ms = fleet.since_ms
        self._plan = plan
        self._calendar_members = calendar_members
        self._rng = rng
        self._reporter = MemberReporter(fleet, plan, rng) if plan.reports else None
        self._counts = dict(plan.topics)
        topics = {topic: TopicMetadata(count) for topic, count in plan.topics.items()}
        self._simulation = Simulation(topics, SimulationSettings(latency_ms=_LATENCY_MS))
        self._last: GroupSnapshot | None = None
        self._preparing_ms: int | None = None
        self._generation, self._ids = -1, dict[str, str]()

    def begin(self) -> Iterator[Observation]:
        """Yield the observations before the first step."""
        yield TopicsSeen(self._since_ms - POLL_MS, dict(self._counts))

    def play(self, steps: Sequence[Step], until_ms: int) -> list[Observation]:
        """Return the observations of ``steps``, in no particular order."""
        timeline = self._simulation.play(steps, until_ms)
        observations: list[Observation] = [*self._polls(timeline), *self._records(timeline), *self._topics(steps)]
        if self._reporter:
            observations += self._reports(self._reporter, steps, timeline)
        return observations

    # The offsets topic

    def _records(self, timeline: Timeline) -> Iterator[GroupRecord]:
        """Yield the records of generations and of returning static members."""
        entries: list[SimulatedGeneration | SimulatedReplacement] = [*timeline.generations, *timeline.replacements]
        for entry in sorted(entries, key=_at_ms):
            if isinstance(entry, SimulatedGeneration):
                if entry.number == 1 and self._last is None:
                    yield self._record(entry.start_ms, self._nobody())
                self._last = self._value(entry)
            elif self._last is not None:
                self._last = self._returned(self._last, entry)
            if self._last is not None:
                yield self._record(_at_ms(entry), self._last)

    def _record(self, at_ms: int, value: GroupSnapshot) -> GroupRecord:
        return GroupRecord(self._plan.name, self._since_ms + at_ms, self._seen_ms(at_ms), value)

    def _nobody(self) -> GroupSnapshot:
        """Return the record that the coordinator writes when the first member of a new group joins."""
        return GroupSnapshot(self._plan.name, "consumer", 0, None, None, -1, ())

    def _value(self, generation: SimulatedGeneration) -> GroupSnapshot:
        return GroupSnapshot(
            group=self._plan.name,
            protocol_type="consumer",
            generation=generation.number,
            protocol=generation.strategy,
            leader=generation.leader,
            current_state_timestamp_ms=self._since_ms + generation.joined_ms,
            members=tuple(self._member(generation, member_id, name) for member_id, name in generation.members.items()),
        )

    def _member(self, generation: SimulatedGeneration, member_id: str, name: str) -> Member:
        planned = self._calendar_members.at(generation.joined_ms, name)
        subscription = generation.subscriptions[member_id]
        return Member(
            member_id=member_id,
            instance_id=planned.spec.instance_id,
            client_id=planned.client_id,
            client_host=planned.host,
            rebalance_timeout_ms=planned.spec.rebalance_timeout_ms,
            session_timeout_ms=planned.spec.session_timeout_ms,
            subscription=ConsumerSubscription(
                _SUBSCRIPTION_VERSION,
                subscription.topics,
                subscription.user_data,
                subscription.owned,
                subscription.generation,
                subscription.rack,
            ),
            assignment=ConsumerAssignment(_SUBSCRIPTION_VERSION, generation.assignment.get(member_id, {})),
        )

    def _returned(self, last: GroupSnapshot, back: SimulatedReplacement) -> GroupSnapshot:
        """Return the record of the same generation with a static member's new id (KIP-345)."""
        planned = self._calendar_members.at(back.at_ms, back.member)
        members = tuple(
            replace(member, member_id=back.member_id, client_host=planned.host)
            if member.member_id == back.old_member_id
            else member
            for member in last.members
        )
        leader = back.member_id if last.leader == back.old_member_id else last.leader
        return replace(last, members=members, leader=leader)

    # Polls

    def _polls(self, timeline: Timeline) -> Iterator[GroupsListed]:
        """Yield the polls around and within each rebalance; other polls would show no change."""
        for change in timeline.states:
            if change.state is GroupState.PREPARING_REBALANCE:
                self._preparing_ms = change.at_ms if self._preparing_ms is None else self._preparing_ms
            elif change.state is not GroupState.COMPLETING_REBALANCE and self._preparing_ms is not None:
                yield from self._polls_between(self._preparing_ms, change.at_ms)
                self._preparing_ms = None

    def _polls_between(self, from_ms: int, until_ms: int) -> Iterator[GroupsListed]:
        before_ms = from_ms // POLL_MS * POLL_MS
        last_ms = (until_ms - 1) // POLL_MS * POLL_MS
        yield self._poll(before_ms)
        for at_ms in sorted({before_ms + POLL_MS, last_ms}):
            if from_ms < at_ms < until_ms:
                yield self._poll(at_ms, ListedGroup(self._plan.name, GroupState.PREPARING_REBALANCE, GroupType.CLASSIC))

    def _poll(self, at_ms: int, *groups: ListedGroup) -> GroupsListed:
        asked_ms = self._since_ms + at_ms
        return GroupsListed(asked_ms - 1, asked_ms + 1, REBALANCING, groups)

    def _topics(self, steps: Sequence[Step]) -> Iterator[TopicsSeen]:
        for step in steps:
            if isinstance(step, TopicGrows):
                self._counts[step.topic] = step.partitions
                yield TopicsSeen(self._since_ms + step.at_ms, dict(self._counts))

    def _seen_ms(self, at_ms: int) -> int:
        """Return the time at which the tail reads a record: some milliseconds after it was written."""
        return self._since_ms + at_ms + self._rng.randrange(3, 15)

    # Members' own events

    def _reports(self, reporter: MemberReporter, steps: Sequence[Step], timeline: Timeline) -> Iterator[Observation]:
        crashed = {(step.at_ms, step.name) for step in steps if isinstance(step, Crash)}
        left = {(step.at_ms, step.name) for step in steps if isinstance(step, Leave)}
        expelled = {(generation.joined_ms, name) for generation in timeline.generations for name in generation.expelled}
        entries: list[SimulatedGeneration | SimulatedHandover] = [*timeline.generations, *timeline.handovers]
        for entry in sorted(entries, key=_at_ms):
            if isinstance(entry, SimulatedGeneration):
                self._generation = entry.number
                self._ids = {name: member_id for member_id, name in entry.members.items()} | self._ids_of_gone(entry)
                if entry.leader is not None:
                    leader = self._calendar_members.at(entry.joined_ms, entry.members[entry.leader])
                    yield reporter.report_assign(leader, entry, sum(map(count_partitions, entry.assignment.values())))
            elif (entry.at_ms, entry.member) not in crashed | expelled and entry.member in self._ids:
                yield from self._callbacks(reporter, entry, leaving=(entry.at_ms, entry.member) in left)

    def _ids_of_gone(self, generation: SimulatedGeneration) -> dict[str, str]:
        """Return the ids of members that are no longer in this generation, but still have callbacks to run."""
        return {name: key for name, key in self._ids.items() if name not in generation.members.values()}

    def _callbacks(
        self, reporter: MemberReporter, handover: SimulatedHandover, *, leaving: bool
    ) -> Iterator[Observation]:
        planned, member_id = self._calendar_members.at(handover.at_ms, handover.member), self._ids[handover.member]
        at_ms, ended_ms = handover.at_ms, handover.at_ms + planned.spec.revoked_ms
        if handover.took:
            ran = [(Callback.ASSIGNED, (at_ms - planned.spec.assigned_ms, at_ms), handover.partitions)]
        else:
            ran = [(Callback.REVOKED, (at_ms, ended_ms), handover.partitions)]
        if leaving and not handover.took:
            ran.append((Callback.LEFT, (ended_ms, ended_ms), {}))
        for callback, span_ms, partitions in ran:
            yield reporter.report_callback(callback, planned, member_id, self._generation, span_ms, partitions)


def _at_ms(entry: SimulatedGeneration | SimulatedReplacement | SimulatedHandover) -> int:
    if isinstance(entry, SimulatedGeneration):
        return entry.joined_ms if entry.synced_ms is None else entry.synced_ms
    return entry.at_ms
