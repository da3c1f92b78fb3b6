"""A completed rebalance with the previous state, its members' reports and its members' names. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rebalance_agent.model.events import Callback, GenerationEvent, MemberEvent, MemberSnapshot
from rebalance_agent.model.member_changes import MemberChanges, identity, member_changes
from rebalance_agent.model.reported.client_metrics import ClientMetrics
from rebalance_agent.tracking.rebalance.slowness import REJOIN_SLACK_MS
from rebalance_agent.ui.words import plural

__all__ = ["ObservedRebalance"]


@dataclass(frozen=True)
class ObservedRebalance:
    """One completed rebalance.

    ``generations``: in order; the last generation completed the rebalance. ``before``: the previous generation, None if
    it was not observed. ``reports``: callbacks that members reported, oldest first. ``names``: identity -> display name
    of all members before, during and after the rebalance. ``aborted``: numbers of aborted generations.
    """

    generations: tuple[GenerationEvent, ...]
    before: GenerationEvent | None
    reports: tuple[MemberEvent, ...]
    names: Mapping[str, str]
    aborted: tuple[int, ...] = ()

    @property
    def closing(self) -> GenerationEvent:
        """The event of the last generation."""
        return self.generations[-1]

    @cached_property
    def by_id(self) -> Mapping[str, MemberSnapshot]:
        """Member id -> the newest snapshot of that member."""
        events = (self.before, *self.generations)
        return {member.member_id: member for event in events if event for member in event.members}

    @cached_property
    def changes(self) -> MemberChanges[MemberSnapshot]:
        """The members that joined, left or stayed between the previous generation and the last one."""
        return member_changes(self.before.members if self.before else (), self.closing.members)

    @property
    def joined(self) -> Sequence[MemberSnapshot]:
        """The members of the last generation that were not in the previous generation."""
        return self.changes.joined

    @property
    def gone(self) -> Sequence[MemberSnapshot]:
        """The members of the previous generation that are not in the last one."""
        return self.changes.gone

    @property
    def waited_longer(self) -> bool:
        """Whether the join phase lasted clearly longer than the wait for the slowest member that reported."""
        (first, *followups), slowest_seconds = self.generations, self.closing.slowest_seconds or 0
        return not followups and (first.join_seconds or 0) - slowest_seconds > REJOIN_SLACK_MS / 1000

    def name(self, member: MemberSnapshot) -> str:
        """Return the member's display name."""
        return self.names[identity(member)]

    def library(self, member_id: str) -> str:
        """Return the client library of the member's last report in this rebalance that names one; empty if none."""
        reports = (report for report in reversed(self.reports) if report.member_id == member_id and report.software)
        return next((str(report.software) for report in reports), "")

    def client_metrics(self, member_id: str) -> ClientMetrics | None:
        """Return what the member's client pushed last in this rebalance; None if its reports have no such values."""
        reports = (report for report in reversed(self.reports) if report.member_id == member_id)
        return next((report.client_metrics for report in reports if report.client_metrics), None)

    @property
    def bounds_from(self) -> str:
        """The sources of the bounds of the rebalance's stall."""
        measured = sum(report.callback_seconds is not None for report in self.reports)
        callbacks = f", and from {plural(measured, 'callback')} that clients measured" if measured else ""
        return f"the coordinator's records and commits{callbacks}"

    def reports_of(self, member_id: str, callbacks: Iterable[Callback]) -> list[MemberEvent]:
        """Return the member's reports of ``callbacks``, the longest callback first."""
        kinds = frozenset(callbacks)
        events = [event for event in self.reports if event.member_id == member_id and event.callback in kinds]
        return sorted(events, key=lambda event: event.started_ms - event.timestamp_ms)
