"""The times when members stopped and resumed in one rebalance, from their reports; each member's are read once."""

from __future__ import annotations

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import GroupType, Member
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.evidence.known_times import TimeBounds
from rebalance_agent.tracking.evidence.member_reports import Interruption, MemberReports, ReportSpan

__all__ = ["ReportedTimes"]


class ReportedTimes:
    """Members' reports about the rebalance to ``generation``. ``span``: where to look for stops; None if unknown."""

    def __init__(self, reports: MemberReports, span: ReportSpan | None, generation: Generation) -> None:
        """Keep the sources, and read reports on demand."""
        self._reports, self._span, self._generation = reports, span, generation
        self._stops: dict[str, tuple[dict[Partition, TimeBounds], dict[Partition, list[Interruption]]]] = {}
        self._resumes: dict[str, dict[Partition, TimeBounds]] = {}

    def stops(self, owner: Member) -> dict[Partition, TimeBounds]:
        """Return `MemberReports.stops` of a member of the generation before."""
        return self._read(owner)[0]

    def interruptions(self, owner: Member) -> dict[Partition, list[Interruption]]:
        """Return the partitions that a member of the generation before stopped and got again in that generation."""
        return self._read(owner)[1]

    def has_stop(self, partition: Partition, owner: Member) -> bool:
        """Whether a member of the generation before reported when it stopped this partition."""
        return any(partition in times for times in self._read(owner))

    def _read(self, owner: Member) -> tuple[dict[Partition, TimeBounds], dict[Partition, list[Interruption]]]:
        found = self._stops.get(owner.member_id)
        if found is None:
            found = self._reports.stops_and_interruptions(owner, self._span) if self._span else ({}, {})
            self._stops[owner.member_id] = found
        return found

    def resumes(self, owner: Member) -> dict[Partition, TimeBounds]:
        """Return `MemberReports.resumes` of a member of the generation.

        In share groups they are only upper bounds, since another member may have resumed the partition earlier.
        """
        resumes = self._resumes.get(owner.member_id)
        if resumes is None:
            resumes = self._reports.resumes(
                owner.member_id, self._generation.number, self._generation.timestamp_ms, owner.assigned
            )
            if self._generation.group_type is GroupType.SHARE:
                resumes = {each: TimeBounds(0, end.latest_ms, Evidence.GATEWAY) for each, end in resumes.items()}
            self._resumes[owner.member_id] = resumes
        return resumes
