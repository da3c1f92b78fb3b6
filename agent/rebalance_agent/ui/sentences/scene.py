"""One rebalance with what was before it, and by which names people know its members. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rebalance_agent.api.shapes import RebalanceDetail, RebalanceKind
from rebalance_agent.model.events import Callback, GenerationEvent, MemberEvent, MemberSnapshot
from rebalance_agent.ui.sentences.members import identity, member_names
from rebalance_agent.ui.words import printable

__all__ = ["Scene", "scenes"]


ABORTED_MAX = 1_000
"""Aborted generations in a row that are named; a record may claim any number."""


@dataclass(frozen=True)
class Scene:
    """``generations`` in order, the last one closed it; ``before``: the generation it began from, if that was seen.

    ``reports``: what members said of themselves, oldest first. ``aborted``: generations begun and given up on the way.
    """

    generations: tuple[GenerationEvent, ...]
    before: GenerationEvent | None
    reports: tuple[MemberEvent, ...]
    aborted: tuple[int, ...] = ()

    @property
    def closing(self) -> GenerationEvent:
        """The event that speaks for the whole."""
        return self.generations[-1]

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Identity -> name, of everybody who was there before or after."""
        return member_names(self._everyone())

    @cached_property
    def by_id(self) -> Mapping[str, MemberSnapshot]:
        """Member id -> the member as it was seen last."""
        return {each.member_id: each for each in self._everyone()}

    @property
    def joined(self) -> list[MemberSnapshot]:
        """Who is there now and was not before."""
        had = {identity(each) for each in self.before.members} if self.before else set()
        return [each for each in self.closing.members if identity(each) not in had]

    @property
    def gone(self) -> list[MemberSnapshot]:
        """Who was there before and is not now."""
        has = {identity(each) for each in self.closing.members}
        return [each for each in self.before.members if identity(each) not in has] if self.before else []

    @property
    def replaced(self) -> list[MemberSnapshot]:
        """Static members that came back under another member id."""
        had = {identity(each): each.member_id for each in self.before.members} if self.before else {}
        return [each for each in self.closing.members if had.get(identity(each), each.member_id) != each.member_id]

    def name(self, member: MemberSnapshot) -> str:
        """What people call it."""
        return self.names[identity(member)]

    def described(self, member: MemberSnapshot) -> str:
        """Its name, and where to find it: ``orders-2 (client rdkafka, 10.0.0.7)``."""
        name, where = self.name(member), member.where
        places = (
            f"client {member.client_id}" if printable(member.client_id) not in ("", name.partition(" (")[0]) else "",
            f"node {where.node}" if where and where.node else member.host.removeprefix("/"),
        )
        told = ", ".join(printable(each) for each in places if each)
        return f"{name} ({told})" if told else name

    def said(self, member_id: str, callbacks: Iterable[Callback]) -> list[MemberEvent]:
        """What a member reported of these callbacks, the longest first."""
        wanted = frozenset(callbacks)
        events = [each for each in self.reports if each.member_id == member_id and each.callback in wanted]
        return sorted(events, key=lambda each: each.started_ms - each.timestamp_ms)

    def _everyone(self) -> Iterator[MemberSnapshot]:
        for event in (self.before, *self.generations):
            yield from event.members if event else ()


def scenes(details: Sequence[RebalanceDetail], last: int) -> list[Scene]:
    """The ``last`` completed rebalances of ``details`` (newest first), oldest first."""
    whole = [each for each in details if each.rebalance.kind is RebalanceKind.COMPLETED]
    aborted = [each.rebalance for each in details if each.rebalance.kind is RebalanceKind.ABORTED]
    found = []
    for index, detail in enumerate(whole[:last]):
        generations = _generations(detail)
        if not generations:
            continue
        first = generations[0].previous_generation
        earlier = _generations(whole[index + 1]) if index + 1 < len(whole) else ()
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
        found.append(Scene(generations, before, reports, lost))
    return found[::-1]


def _generations(detail: RebalanceDetail) -> tuple[GenerationEvent, ...]:
    return tuple(each for each in detail.events if isinstance(each, GenerationEvent))
