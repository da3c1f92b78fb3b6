"""What members say of themselves through their sidecars: the events, and when the observer hears of them."""

from __future__ import annotations

import random
from collections import Counter

from rebalance_agent.model.events import AssignEvent, Callback, MemberEvent, process_event_id
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.testing.simulation import SimulatedGeneration
from rebalance_agent.testing.synthetic.calendar_members import Person
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan, GroupPlan, stable_id
from rebalance_agent.tracking.observations import MemberReported

__all__ = ["MemberReporter"]

_DELAYS_MS = (20, 400)  # a sidecar sends its events in small batches


class MemberReporter:
    """Makes one group's reports. Times handed in are since the history's beginning, those of events are epochs."""

    def __init__(self, fleet: FleetPlan, plan: GroupPlan, rng: random.Random) -> None:
        """Nobody has said anything."""
        self._fleet = fleet
        self._plan = plan
        self._rng = rng
        self._said: Counter[str] = Counter()

    def tell(
        self,
        callback: Callback,
        person: Person,
        member_id: str,
        generation: int,
        span_ms: tuple[int, int],
        partitions: TopicPartitions,
    ) -> MemberReported:
        """``callback`` ran in ``person`` from the first to the second moment of ``span_ms``."""
        started_ms, ended_ms = (self._fleet.since_ms + each for each in span_ms)
        process = self._process(person)
        event = MemberEvent(
            event_id=process_event_id(MemberEvent.KIND, process, self._said[process]),
            group=self._plan.name,
            timestamp_ms=ended_ms,
            callback=callback,
            client_id=person.client_id,
            member_id=member_id,
            generation=generation,
            started_ms=started_ms,
            partitions=partitions,
            process=process,
            sequence=self._said[process],
            cluster_id=self._fleet.cluster_id,
            instance_id=person.spec.instance_id,
            host=person.host.removeprefix("/"),
            where=person.where,
        )
        return MemberReported(ended_ms + self._rng.randrange(*_DELAYS_MS), event)

    def decide(self, person: Person, each: SimulatedGeneration, partitions: int) -> MemberReported:
        """``person`` led a generation, and ran the strategy for it."""
        process, at_ms = self._process(person), self._fleet.since_ms + each.joined_ms
        event = AssignEvent(
            event_id=process_event_id(AssignEvent.KIND, process, self._said[process]),
            group=self._plan.name,
            timestamp_ms=at_ms,
            assignor=each.strategy or "",
            client_id=person.client_id,
            generation=each.number,
            duration_seconds=person.spec.assign_ms / 1000,
            members=len(each.members),
            partitions=partitions,
            process=process,
            sequence=self._said[process],
            cluster_id=self._fleet.cluster_id,
            where=person.where,
        )
        return MemberReported(at_ms + self._rng.randrange(*_DELAYS_MS), event)

    def _process(self, person: Person) -> str:
        """The random id of a process, which says one thing more."""
        process = stable_id(self._fleet.seed, self._plan.number, person.name, person.born_ms)
        self._said[process] += 1
        return process
