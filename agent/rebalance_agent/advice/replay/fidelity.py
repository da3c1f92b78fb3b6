"""Checks replays against records: each recorded input is assigned again and compared with the recorded assignment.

If the assignor defines the result exactly (see `implementations`), the two must be equal. Other decisions are counted
separately, with the reason and the number that are equal nevertheless.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rebalance_agent.advice.replay.eligible_strategies import SIZE_MAX, library_strategy
from rebalance_agent.advice.replay.implementations import ImplementationVerdict, members_with_claims, verdict
from rebalance_agent.advice.replay.move_counts import count_moves
from rebalance_agent.advice.replay.recorded_history import RecordedHistory, member_returned, owned_by, size_of
from rebalance_agent.assignors import Strategy, judge
from rebalance_agent.assignors.strategies.redundant import REDUNDANCY
from rebalance_agent.errors import AssignmentError
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.member_changes import identity
from rebalance_agent.model.partitions import TopicPartitions, count_partitions
from rebalance_agent.model.subscription import (
    UNKNOWN_GENERATION,
    GroupAssignment,
    GroupSubscription,
    MemberSubscription,
    TopicMetadata,
)

__all__ = ["Fidelity", "FidelityLine", "fidelity", "input_of"]

CLAIMS_BACK_MAX = 16
"""Maximum number of generations searched for the one that assigned a member its claims; events do not contain it."""


@dataclass(frozen=True, slots=True)
class FidelityLine:
    """Decisions of one assignor in one implementation.

    ``checked``: decisions that had to be equal; ``same_moves``, ``same_skew``, ``same_assignment``: how many of these
    had the recorded moves, skew or assignment. ``not_comparable``: decisions that need not be equal, for ``reason``;
    ``agreeing``: how many of these were equal. ``difference``: the first difference as text.
    """

    assignor: str
    implementation: str
    checked: int = 0
    same_moves: int = 0
    same_skew: int = 0
    same_assignment: int = 0
    not_comparable: int = 0
    agreeing: int = 0
    reason: str | None = None
    difference: str | None = None

    def __add__(self, other: FidelityLine) -> FidelityLine:
        """Add the lines of two parts of one history."""
        counts = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        texts = {name: getattr(self, name) or getattr(other, name) for name in ("reason", "difference")}
        return replace(self, **counts, **texts)


_COUNTS = ("checked", "same_moves", "same_skew", "same_assignment", "not_comparable", "agreeing")


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Lines by assignor and implementation, in the order of their first generation."""

    lines: tuple[FidelityLine, ...] = field(default=())

    @property
    def checked(self) -> int:
        """Number of decisions that had to be equal."""
        return sum(line.checked for line in self.lines)

    @property
    def not_comparable(self) -> int:
        """Number of decisions that need not be equal."""
        return sum(line.not_comparable for line in self.lines)

    @property
    def moves(self) -> float | None:
        """Share of the checked decisions with the recorded number of moves; None if none was checked."""
        return sum(line.same_moves for line in self.lines) / self.checked if self.checked else None

    @property
    def skew(self) -> float | None:
        """Share of the checked decisions with the recorded skew; None if none was checked."""
        return sum(line.same_skew for line in self.lines) / self.checked if self.checked else None


def fidelity(history: RecordedHistory, instrumented: Collection[int] = ()) -> Fidelity:
    """Repeat every recorded decision of ``history``; a history above `SIZE_MAX` has only decisions not comparable.

    ``instrumented``: the generations that `implementations.instrumented_generations` returned.
    """
    claiming = members_with_claims(history.generations)
    large = sum(map(size_of, history.generations)) > SIZE_MAX
    lines: dict[tuple[str, str], FidelityLine] = {}
    earlier: deque[_Given] = deque(maxlen=CLAIMS_BACK_MAX)
    before: GenerationEvent | None = None
    for event in history.generations:
        if event.members and history.counts(event) and not member_returned(event, before):  # otherwise no assignor ran
            judged = verdict(event, instrumented, claiming)
            line = _not_repeated(event, judged) if large else _check_generation(event, before, earlier, judged)
            key = line.assignor, line.implementation
            lines[key] = lines[key] + line if key in lines else line
        earlier.append(_given(event))
        before = event
    return Fidelity(tuple(lines.values()))


class _Given(NamedTuple):
    """The assignment of one generation, by member id."""

    generation: int
    assigned: Mapping[str, TopicPartitions]


def _given(event: GenerationEvent) -> _Given:
    return _Given(event.generation, {member.member_id: member.assigned for member in event.members})


def input_of(event: GenerationEvent, earlier: Sequence[GenerationEvent] = ()) -> GroupSubscription:
    """Return the assignor's input in this generation; ``earlier`` generations determine the age of members' claims."""
    return _input(event, list(map(_given, earlier)))


def _input(event: GenerationEvent, earlier: Sequence[_Given]) -> GroupSubscription:
    """Return the assignor's input, like `input_of`.

    Racks and loads of partitions and the leader's own settings are not known. The redundancy of a redundant strategy is
    derived from its assignment.
    """
    return GroupSubscription(
        topics={topic: TopicMetadata(count) for topic, count in event.topics.items()},
        members=tuple(
            MemberSubscription(
                member.member_id,
                member.topics,
                member.instance_id,
                member.owned,
                _dated(member.member_id, member.owned, earlier),
                member.rack or None,
                member.user_data or None,
            )
            for member in event.members
        ),
        group=event.group,
        config=_shared(event),
    )


def _dated(member_id: str, claim: TopicPartitions, earlier: Sequence[_Given]) -> int:
    """Return the newest generation in which the member was assigned all that it claims."""
    for generation in reversed(earlier):
        given = generation.assigned.get(member_id)
        if given is not None and all(
            had is numbers or set(numbers).issubset(had)
            for topic, numbers in claim.items()
            for had in (given.get(topic, ()),)
        ):
            return generation.generation
    return UNKNOWN_GENERATION


def _shared(event: GenerationEvent) -> Mapping[str, str]:
    if event.assignor != "redundant":
        return {}
    times: dict[tuple[str, int], int] = {}
    for member in event.members:
        for topic, numbers in member.assigned.items():
            for number in numbers:
                times[topic, number] = times.get((topic, number), 0) + 1
    return {REDUNDANCY.name: str(max(times.values(), default=1))}


def _not_repeated(event: GenerationEvent, implementation: ImplementationVerdict) -> FidelityLine:
    reason = f"the history is too large: more than {SIZE_MAX} members and partitions over all rebalances"
    return FidelityLine(event.assignor or "", implementation.implementation, not_comparable=1, reason=reason)


def _check_generation(
    event: GenerationEvent,
    before: GenerationEvent | None,
    earlier: Sequence[_Given],
    implementation: ImplementationVerdict,
) -> FidelityLine:
    line = FidelityLine(event.assignor or "", implementation.implementation)
    strategy = library_strategy(event.assignor)
    comparison = None
    # A strategy refuses an input with an error, in its assignment or in its promise.
    with suppress(AssignmentError):
        comparison = _compare(event, before, earlier, strategy) if strategy and event.assignor else None
    if implementation.reason or comparison is None:
        reason = implementation.reason or "the strategy rejects the recorded group"
        return replace(line, not_comparable=1, agreeing=int(bool(comparison and comparison.assignment)), reason=reason)
    return replace(
        line,
        checked=1,
        same_moves=int(comparison.moves),
        same_skew=int(comparison.skew),
        same_assignment=int(comparison.assignment),
        difference=None if comparison.assignment else comparison.difference,
    )


@dataclass(frozen=True, slots=True)
class _Same:
    assignment: bool
    moves: bool = True
    skew: bool = True
    difference: str = ""


def _compare(
    event: GenerationEvent, before: GenerationEvent | None, earlier: Sequence[_Given], chosen: Strategy
) -> _Same:
    """Run the recorded strategy on the recorded input.

    Raises:
        AssignmentError: the strategy refuses the input.
    """
    group = _input(event, earlier)
    result = chosen.assign(group).members
    recorded = {member.member_id: _without_empty(member.assigned) for member in event.members}
    ours = {name: _without_empty(given) for name, given in result.items()}
    if ours == recorded:
        return _Same(assignment=True)
    names = {member.member_id: identity(member) for member in event.members}
    had = owned_by(before) if before else {}
    moves = [count_moves(had, {names[key]: given for key, given in some.items()}).changed for some in (recorded, ours)]
    skews = [judge(group, GroupAssignment(some, some), chosen).skew_ratio for some in (recorded, ours)]
    return _Same(
        assignment=False,
        moves=moves[0] == moves[1],
        skew=skews[0] == skews[1],
        difference=_words(event.generation, recorded, ours),
    )


def _without_empty(given: TopicPartitions) -> dict[str, tuple[int, ...]]:
    return {topic: tuple(numbers) for topic, numbers in given.items() if numbers}


def _words(generation: int, recorded: Mapping[str, TopicPartitions], ours: Mapping[str, TopicPartitions]) -> str:
    other = sorted(name for name in recorded if recorded[name] != ours.get(name))
    loads = [_loads(some.get(name, {}) for name in other) for some in (recorded, ours)]
    return (
        f"in generation {generation}, the replay gives other partitions to {len(other)} members (partition counts: "
        f"recorded {loads[0]}; replayed {loads[1]})"
    )


def _loads(assignments: Iterable[TopicPartitions]) -> str:
    return ", ".join(str(count_partitions(assignment)) for _, assignment in zip(range(8), assignments, strict=False))
