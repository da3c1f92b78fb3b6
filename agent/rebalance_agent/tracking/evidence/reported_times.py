"""The times when members stopped and resumed in one rebalance by their own reports, read once for each member."""

from __future__ import annotations

from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import Member
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.evidence.known_times import TimeBounds
from rebalance_agent.tracking.evidence.member_reports import Interruption, MemberReports, ReportSpan

__all__ = ["ReportedTimes"]


class ReportedTimes:
    """Members' reports about the rebalance to ``generation``; ``span``: when they stopped, None if unknown."""

    def __init__(self, reports: MemberReports, span: ReportSpan | None, generation: Generation) -> None:
        """Read nothing yet."""
        self._reports, self._span, self._generation = reports, span, generation
        self._stops: dict[str, dict[Partition, TimeBounds]] = {}
        self._interruptions: dict[str, dict[Partition, list[Interruption]]] = {}
        self._resumes: dict[str, dict[Partition, TimeBounds]] = {}

    def stops(self, owner: Member) -> dict[Partition, TimeBounds]:
        """Return `MemberReports.stops` of a member of the generation before."""
        stops = self._stops.get(owner.member_id)
        if stops is None:
            stops = self._reports.stops(owner, self._span) if self._span else {}
            self._stops[owner.member_id] = stops
        return stops

    def interruptions(self, owner: Member) -> dict[Partition, list[Interruption]]:
        """Return `MemberReports.interruptions` of a member of the generation before."""
        found = self._interruptions.get(owner.member_id)
        if found is None:
            found = self._reports.interruptions(owner, self._span) if self._span else {}
            self._interruptions[owner.member_id] = found
        return found

    def tells_apart(self, partition: Partition, owner: Member) -> bool:
        """Whether a member of the generation before reported anything about when it stopped this partition."""
        return partition in self.stops(owner) or partition in self.interruptions(owner)

    def resumes(self, owner: Member) -> dict[Partition, TimeBounds]:
        """Return `MemberReports.resumes` of a member of the generation."""
        resumes = self._resumes.get(owner.member_id)
        if resumes is None:
            resumes = self._resumes[owner.member_id] = self._reports.resumes(owner.member_id, self._generation)
        return resumes
