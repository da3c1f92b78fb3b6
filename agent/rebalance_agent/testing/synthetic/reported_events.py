"""Makes the events that the members' sidecars report, with the time at which the observer gets them."""

from __future__ import annotations

import random
from collections import Counter

from rebalance_agent.model.events import AssignEvent, Callback, MemberEvent
from rebalance_agent.model.group_event import process_event_id
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.testing.simulation import SimulatedGeneration
from rebalance_agent.testing.synthetic.calendar_members import PlannedMember
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan, GroupPlan, stable_id
from rebalance_agent.tracking.observations import MemberReported

__all__ = ["MemberReporter"]

_DELAYS_MS = (20, 400)  # from the event to the observer: a sidecar sends small batches


class MemberReporter:
    """Makes the reports of one group.

    Times in arguments are since the start of the history, times in events since the epoch.
    """

    def __init__(self, fleet: FleetPlan, plan: GroupPlan, rng: random.Random) -> None:
        """Start with sequence numbers at zero."""
        self._fleet = fleet
        self._plan = plan
        self._rng = rng
        self._sequences: Counter[str] = Counter()

    def report_callback(
        self,
        callback: Callback,
        planned: PlannedMember,
        member_id: str,
        generation: int,
        span_ms: tuple[int, int],
        partitions: TopicPartitions,
    ) -> MemberReported:
        """Return the report that ``callback`` ran in ``planned`` during ``span_ms`` (start, end)."""
        started_ms, ended_ms = (self._fleet.since_ms + moment_ms for moment_ms in span_ms)
        process = self._process(planned)
        event = MemberEvent(
            event_id=process_event_id(MemberEvent.KIND, process, self._sequences[process]),
            group=self._plan.name,
            timestamp_ms=ended_ms,
            callback=callback,
            client_id=planned.client_id,
            member_id=member_id,
            generation=generation,
            started_ms=started_ms,
            partitions=partitions,
            process=process,
            sequence=self._sequences[process],
            cluster_id=self._fleet.cluster_id,
            instance_id=planned.spec.instance_id,
            host=planned.host.removeprefix("/"),
            where=planned.where,
        )
        return MemberReported(ended_ms + self._rng.randrange(*_DELAYS_MS), event)

    def report_assign(self, planned: PlannedMember, generation: SimulatedGeneration, partitions: int) -> MemberReported:
        """Return the report that ``planned`` ran ``assign()`` as the leader of ``generation``."""
        process, at_ms = self._process(planned), self._fleet.since_ms + generation.joined_ms
        event = AssignEvent(
            event_id=process_event_id(AssignEvent.KIND, process, self._sequences[process]),
            group=self._plan.name,
            timestamp_ms=at_ms,
            assignor=generation.strategy or "",
            client_id=planned.client_id,
            generation=generation.number,
            duration_seconds=planned.spec.assign_ms / 1000,
            members=len(generation.members),
            partitions=partitions,
            process=process,
            sequence=self._sequences[process],
            cluster_id=self._fleet.cluster_id,
            where=planned.where,
        )
        return MemberReported(at_ms + self._rng.randrange(*_DELAYS_MS), event)

    def _process(self, planned: PlannedMember) -> str:
        """Return the process id of ``planned``, and advance its sequence number."""
        process = stable_id(self._fleet.seed, self._plan.number, planned.name, planned.born_ms)
        self._sequences[process] += 1
        return process
