"""One completed generation with what was known around it, and the episode that generations add up to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.generation_diff import Partition, owners
from rebalance_agent.model.group import GroupSnapshot, GroupType, Member, RebalanceProtocol, is_cooperative
from rebalance_agent.model.partitions import count_partitions

__all__ = [
    "GENERATIONS_MAX",
    "Departure",
    "Episode",
    "Generation",
    "LastSign",
    "PartitionHandover",
    "TimeBounds",
    "announces_followup",
    "infer_protocol",
    "subscribed_topics",
]

GENERATIONS_MAX = 16
"""Generations of one episode. Real follow-ups are one or two; a group that never settles is reported in slices."""


class Departure(StrEnum):
    """How a member went."""

    LEFT = "left"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LastSign:
    """A member that went: when the coordinator heard of it, at the earliest, and its last commit (epoch ms)."""

    heard_ms: int | None = None
    committed_ms: int | None = None


@dataclass(frozen=True, slots=True)
class TimeBounds:
    """A moment known to lie between two others (epoch milliseconds, the coordinator's clock), and who says so."""

    earliest_ms: int
    latest_ms: int
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class PartitionHandover:
    """One partition's way from one member to another, by the coordinator's records (epoch milliseconds).

    Its owner was asked to give it up at ``asked_ms`` and had done so at ``released_ms``; the new owner was given it at
    ``given_ms``. None: that did not happen, or before anybody watched. ``parted``: nobody else had it when it was given
    up, so that it stood still even if who had it before has it again. ``earlier``: how it stood still before in the
    same rebalance, because a newer epoch overtook the one that meant it for somebody.
    """

    asked_ms: int | None = None
    released_ms: int | None = None
    given_ms: int | None = None
    parted: bool = False
    earlier: tuple[PartitionHandover, ...] = ()


@dataclass(frozen=True, slots=True)
class Generation:
    """A ``GroupMetadata`` record in context, or an epoch that all members of another type of group have reached.

    ``topics``: partition count of each subscribed topic as far as known. ``start``: when the coordinator asked members
    to rejoin. ``joined_ms``: end of the join phase. ``returned``: not a rebalance but a static member that came back
    within the generation. ``handovers`` and ``revoking_ms`` (member id -> how long it was asked to give something up
    and did not) are known where the coordinator records each step. ``replayed``: as in `GroupRecord`.

    Of members that went or came back under a new id, by their old one: their ``last_signs``, and ``departures``, how
    they went, where the records show it. ``restarting``: members that put down all that they have for each epoch, since
    they still speak the classic protocol, and eagerly. ``unnamed``: ids that stand for topics whose names nobody knew.
    """

    value: GroupSnapshot
    timestamp_ms: int
    seen_ms: int
    protocol: RebalanceProtocol
    topics: Mapping[str, int] = field(default_factory=dict)
    start: TimeBounds | None = None
    joined_ms: int | None = None
    returned: bool = False
    group_type: GroupType = GroupType.CLASSIC
    handovers: Mapping[Partition, PartitionHandover] = field(default_factory=dict)
    revoking_ms: Mapping[str, int] = field(default_factory=dict)
    replayed: bool = False
    last_signs: Mapping[str, LastSign] = field(default_factory=dict)
    departures: Mapping[str, Departure] = field(default_factory=dict)
    restarting: frozenset[str] = frozenset()
    unnamed: frozenset[str] = frozenset()

    @property
    def number(self) -> int:
        """The coordinator's number of this generation."""
        return self.value.generation

    @property
    def members(self) -> tuple[Member, ...]:
        """Its members; none where the group is Empty."""
        return self.value.members

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest of the members' rebalance timeouts: how long the slowest is waited for. -1: not said."""
        return max((member.rebalance_timeout_ms for member in self.members), default=0)


@dataclass(slots=True)
class Episode:
    """A rebalance as users feel it: one generation, or several where a cooperative assignor needed follow-ups.

    ``before`` is the generation that it started from: None where the group is new (``known``) or where nobody was
    watching yet (not ``known``).
    """

    before: Generation | None
    known: bool
    generations: list[Generation] = field(default_factory=list)

    @property
    def last(self) -> Generation:
        """The generation that closed it, or the latest so far."""
        return self.generations[-1]

    @property
    def members_before(self) -> tuple[Member, ...]:
        """Who was there before it."""
        return self.before.members if self.before else ()

    @property
    def fresh(self) -> bool:
        """Nobody was there before: the group is new or was Empty."""
        return self.known and (self.before is None or not self.before.members)

    @property
    def followups(self) -> int:
        """Generations after the first."""
        return len({generation.number for generation in self.generations}) - 1

    @property
    def withheld(self) -> int:
        """Partitions that were taken from their owners and wait for the next generation to hand them out."""
        before = [generation.value for generation in (self.before, *self.generations[:-1]) if generation]
        had = {partition for value in before for partition in owners(value)}
        return len(had - owners(self.last.value).keys())

    @property
    def unseen_partition_seconds(self) -> float:
        """From a started group's first join to its first assignment: before that, nobody knows how many there are."""
        first = self.generations[0]
        if not self.fresh or first.start is None:
            return 0.0
        return len(owners(first.value)) * max(0, first.timestamp_ms - first.start.earliest_ms) / 1000

    @property
    def unnamed(self) -> frozenset[str]:
        """The ids of topics, of those before it too, whose names nobody knew yet."""
        return frozenset[str]().union(*(each.unnamed for each in (self.before, *self.generations) if each))

    def name(self, named: Callable[[Generation], Generation]) -> None:
        """Topics were named: let each generation be ``named`` anew."""
        self.before = self.before and named(self.before)
        self.generations[:] = map(named, self.generations)

    def steps(self) -> list[tuple[Generation | None, Generation]]:
        """Each generation with the one before it."""
        return list(zip([self.before, *self.generations], self.generations, strict=False))


def subscribed_topics(value: GroupSnapshot) -> set[str]:
    """Every topic that some member subscribes to or was given."""
    wanted = {topic for member in value.members if member.subscription for topic in member.subscription.topics}
    return wanted | {topic for member in value.members for topic in member.assigned}


def infer_protocol(before: Generation | None, value: GroupSnapshot) -> RebalanceProtocol:
    """How this group hands partitions over, as far as its records show (KIP-429).

    Cooperative members say what they own when they rejoin, under an assignor with a cooperative name; eager ones have
    revoked everything by then. (Some eager assignors send ownership as a hint, so it alone proves nothing.)
    """
    if value.protocol_type != "consumer" or not value.protocol:
        return before.protocol if before and not value.members else RebalanceProtocol.UNKNOWN
    if not is_cooperative(value.protocol):
        return RebalanceProtocol.EAGER
    if any(count_partitions(member.owned) for member in value.members):
        return RebalanceProtocol.COOPERATIVE
    had = {member.member_id for member in before.members if count_partitions(member.assigned)} if before else set()
    if any(member.member_id in had for member in value.members):
        return RebalanceProtocol.EAGER
    return before.protocol if before and before.value.protocol == value.protocol else RebalanceProtocol.UNKNOWN


def announces_followup(generation: Generation) -> bool:
    """Whether a member must give something up, and will rejoin for it (KIP-429); or nobody was given anything yet.

    A coordinator that assigns starts share and streams groups with nothing, while it prepares what they need.
    """
    if generation.group_type is not GroupType.CLASSIC and generation.members and generation.topics:
        return not owners(generation.value)
    return generation.protocol is RebalanceProtocol.COOPERATIVE and any(
        not set(numbers) <= set(member.assigned.get(topic, ()))
        for member in generation.members
        for topic, numbers in member.owned.items()
    )
