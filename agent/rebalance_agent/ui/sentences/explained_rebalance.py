"""A completed rebalance with the state before it, its members' reports and their names. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rebalance_agent.api.shapes import RebalanceDetail, RebalanceKind
from rebalance_agent.model.events import Callback, GenerationEvent, MemberEvent, MemberSnapshot
from rebalance_agent.model.member_changes import MemberChanges, identity, member_changes
from rebalance_agent.ui.sentences.named_members import member_names
from rebalance_agent.ui.words import printable

__all__ = ["ExplainedRebalance", "explained_rebalances"]


ABORTED_MAX = 1_000
"""Aborted generations in a row that are kept; a malformed record may claim any number."""


@dataclass(frozen=True)
class ExplainedRebalance:
    """One completed rebalance.

    ``generations``: in order; the last one completed it. ``before``: the generation it began from, None if that was not
    observed. ``reports``: callbacks that members reported, oldest first. ``aborted``: numbers of aborted generations.
    """

    generations: tuple[GenerationEvent, ...]
    before: GenerationEvent | None
    reports: tuple[MemberEvent, ...]
    aborted: tuple[int, ...] = ()

    @property
    def closing(self) -> GenerationEvent:
        """The event of the last generation."""
        return self.generations[-1]

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Identity -> name, of all members before, during and after."""
        return member_names(self._all_members())

    @cached_property
    def by_id(self) -> Mapping[str, MemberSnapshot]:
        """Member id -> the newest snapshot of that member."""
        return {each.member_id: each for each in self._all_members()}

    @cached_property
    def changes(self) -> MemberChanges[MemberSnapshot]:
        """Members that joined, left or stayed, from the generation before to the last one."""
        return member_changes(self.before.members if self.before else (), self.closing.members)

    @property
    def joined(self) -> Sequence[MemberSnapshot]:
        """Members of the last generation that were not in the one before."""
        return self.changes.joined

    @property
    def gone(self) -> Sequence[MemberSnapshot]:
        """Members of the generation before that are not in the last one."""
        return self.changes.gone

    @property
    def replaced(self) -> Sequence[MemberSnapshot]:
        """Static members that came back with another member id."""
        return [new for _, new in self.changes.replaced]

    def name(self, member: MemberSnapshot) -> str:
        """The member's name for people."""
        return self.names[identity(member)]

    def described(self, member: MemberSnapshot) -> str:
        """The member's name, client and node or host: ``orders-2 (client rdkafka, 10.0.0.7)``."""
        name, where = self.name(member), member.where
        places = (
            f"client {member.client_id}" if printable(member.client_id) not in ("", name.partition(" (")[0]) else "",
            f"node {where.node}" if where and where.node else member.host.removeprefix("/"),
        )
        details = ", ".join(printable(place) for place in places if place)
        return f"{name} ({details})" if details else name

    def reports_of(self, member_id: str, callbacks: Iterable[Callback]) -> list[MemberEvent]:
        """The member's reports of ``callbacks``, the longest callback first."""
        kinds = frozenset(callbacks)
        events = [event for event in self.reports if event.member_id == member_id and event.callback in kinds]
        return sorted(events, key=lambda event: event.started_ms - event.timestamp_ms)

    def _all_members(self) -> Iterator[MemberSnapshot]:
        for event in (self.before, *self.generations):
            yield from event.members if event else ()


def explained_rebalances(details: Sequence[RebalanceDetail], last: int) -> list[ExplainedRebalance]:
    """The ``last`` completed rebalances among ``details`` (newest first), in order, oldest first."""
    completed = [each for each in details if each.rebalance.kind is RebalanceKind.COMPLETED]
    aborted = [each.rebalance for each in details if each.rebalance.kind is RebalanceKind.ABORTED]
    result = []
    for index, detail in enumerate(completed[:last]):
        generations = _generations(detail)
        if not generations:
            continue
        first = generations[0].previous_generation
        earlier = _generations(completed[index + 1]) if index + 1 < len(completed) else ()
        before = earlier[-1] if earlier and earlier[-1].generation == first else None
        lost = tuple(
            sorted(
                number
                for each in aborted
                if (first or 0) < each.generation < generations[-1].generation
                for number in range((each.previous_generation or 0) + 1, each.generation + 1)[-ABORTED_MAX:]
            )
        )
        reports = tuple(each for each in detail.reports if isinstance(each, MemberEvent))
        result.append(ExplainedRebalance(generations, before, reports, lost))
    return result[::-1]


def _generations(detail: RebalanceDetail) -> tuple[GenerationEvent, ...]:
    return tuple(each for each in detail.events if isinstance(each, GenerationEvent))
