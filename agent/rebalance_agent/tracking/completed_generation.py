"""A completed generation with its times and evidence, and the episode that one or several generations form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rebalance_agent.model.episode import Source
from rebalance_agent.model.generation_diff import Partition, owners
from rebalance_agent.model.group import GroupSnapshot, GroupType, Member, RebalanceProtocol
from rebalance_agent.model.partitions import pairs
from rebalance_agent.tracking.evidence.known_times import (
    CoordinatorChange,
    Departure,
    FirstCommits,
    LastSeen,
    Outage,
    TimeBounds,
)

__all__ = [
    "GENERATIONS_MAX",
    "Episode",
    "Generation",
    "PartitionHandover",
    "TopicMetadataSeen",
    "announces_followup",
    "subscribed_topics",
]

GENERATIONS_MAX = 16
"""Maximum number of generations per episode. One or two follow-ups are usual; an episode that exceeds the maximum is
reported in parts."""


class TopicMetadataSeen(NamedTuple):
    """The coordinator's hash of the subscribed topics' metadata (see `GroupEpoch`), and the ids of assigned topics.

    ``topic_ids`` of a streams group: the ids of its subtopologies. ``validated_topology``: as in `GroupEpoch`.
    """

    metadata_hash: int
    topic_ids: frozenset[str]
    validated_topology: int = -1


@dataclass(frozen=True, slots=True)
class PartitionHandover:
    """The handover of one partition between members, as the coordinator recorded it (epoch milliseconds).

    The owner was asked to revoke the partition at ``asked_ms`` and had revoked it at ``released_ms``; the partition was
    assigned to the new owner at ``given_ms``. Each time is None if the step did not happen, or happened before the
    observer started. ``left_unowned``: no other member owned the partition when it was revoked, so the partition was
    stalled even if the old owner gets it back. ``earlier``: previous handovers in the same rebalance, where a newer
    epoch replaced the one that assigned the partition. ``consumed_ms`` (only in ``earlier``): the first commit by the
    owner that got the partition; None if this owner gave the partition up without a commit. ``departed``: the old owner
    left (perhaps temporarily) or was removed, even if it rejoined under its id. ``expelled``: the old owner was removed
    because it did not revoke in time; it detects the removal later. ``active_ms``: the time until which the old owner
    certainly worked; None if unknown.
    """

    asked_ms: int | None = None
    released_ms: int | None = None
    given_ms: int | None = None
    consumed_ms: int | None = None
    left_unowned: bool = False
    departed: bool = False
    expelled: bool = False
    active_ms: int | None = None
    earlier: tuple[PartitionHandover, ...] = ()

    def last_seen(self, seen: LastSeen, *, returned: bool) -> LastSeen:
        """Return when the old owner was last active before this handover; ``seen``: as recorded under its member id.

        A member that departed may have ``returned`` under its id, and may even have departed again: what was recorded
        after its return does not count.
        """
        if not self.departed or self.released_ms is None:
            return seen
        later = seen.worked_ms is not None and seen.worked_ms > self.released_ms
        return LastSeen(worked_ms=self.active_ms) if returned or later else seen


@dataclass(frozen=True, slots=True)
class Generation:
    """A ``GroupMetadata`` record with its context, or an epoch that all members of a non-classic group have reached.

    ``topics``: the known partition counts of subscribed topics. ``start``: when the coordinator asked members to
    rejoin. ``joined_ms``: end of the join phase; in epoch groups, the time of the latest target assignment.
    ``targeted_ms``: the time of the first target assignment since the start. ``assignor_wait_seconds``: how long such a
    group has waited for its assignor since then. ``returned``: a static member returned within the generation, without
    a rebalance. ``handovers`` and ``revoking_ms`` (member id -> how long it took to revoke, ms) are known where the
    coordinator records each step. ``replayed``: the record was
    written before this observer owned the group. ``source``: as in `GroupRecord`.

    ``last_seen``: when the members of the previous generation were last active; in epoch groups, it contains only
    members that departed or gave up partitions. ``departures``: how members left, if records show this. Both are keyed
    by the member's old id. ``first_commits``: the first commit of each partition after the generation assigned it.
    ``restarting``: members that revoke everything for each epoch because they still use the classic protocol with an
    eager assignor. ``unnamed``: topic ids whose names are unknown. ``incomplete``: compaction may have removed records
    of its handovers before they were read. ``surely_kept``: in that case, the partitions that no other member had in
    the meantime, according to the remaining records. ``coordinator_changes``: the recent changes of the group's
    coordinator, up to its record. ``outages``: the recent outages of brokers. ``patterns``: member id -> topics and
    pattern, for members that subscribe to a pattern. ``metadata``: in epoch groups, what the coordinator based the
    assignment on. ``subtopologies`` of a Kafka Streams group: id -> the topics that its tasks read. ``standby_hosts``:
    the members with standby or warm-up tasks, which do not count as idle; None if unknown. In classic groups,
    ``standby_hosts`` may omit members that also have active tasks.
    """

    value: GroupSnapshot
    timestamp_ms: int
    seen_ms: int
    protocol: RebalanceProtocol
    topics: Mapping[str, int] = field(default_factory=dict)
    start: TimeBounds | None = None
    joined_ms: int | None = None
    targeted_ms: int | None = None
    assignor_wait_seconds: float | None = None
    returned: bool = False
    incomplete: bool = False
    surely_kept: frozenset[Partition] = frozenset()
    group_type: GroupType = GroupType.CLASSIC
    handovers: Mapping[Partition, PartitionHandover] = field(default_factory=dict)
    revoking_ms: Mapping[str, int] = field(default_factory=dict)
    replayed: bool = False
    source: Source = Source.RECORDS
    last_seen: Mapping[str, LastSeen] = field(default_factory=dict)
    departures: Mapping[str, Departure] = field(default_factory=dict)
    restarting: frozenset[str] = frozenset()
    unnamed: frozenset[str] = frozenset()
    coordinator_changes: tuple[CoordinatorChange, ...] = ()
    outages: tuple[Outage, ...] = ()
    patterns: Mapping[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    metadata: TopicMetadataSeen | None = None
    subtopologies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    standby_hosts: frozenset[str] | None = frozenset()
    first_commits: FirstCommits = field(default_factory=FirstCommits, compare=False)

    @property
    def number(self) -> int:
        """The generation id, or the group epoch."""
        return self.value.generation

    @property
    def members(self) -> tuple[Member, ...]:
        """The members; empty if the group is Empty."""
        return self.value.members

    def given_ms(self, partition: Partition) -> int:
        """Return when the owner got the partition (epoch ms): in its handover, or with the whole generation."""
        handover = self.handovers.get(partition)
        return self.timestamp_ms if handover is None else self.given_since_ms(handover)

    def given_since_ms(self, handover: PartitionHandover) -> int:
        """Return when a partition with this ``handover`` was given to its owner (epoch ms)."""
        return self.timestamp_ms if handover.given_ms is None else handover.given_ms

    def assigned(self, owner: Member) -> bool:
        """Whether ``owner`` got its assignment in this generation; False if only other static members returned."""
        return not self.returned or not self.first_commits.awaited.isdisjoint(pairs(owner.assigned))

    @property
    def unanswered(self) -> tuple[Outage | CoordinatorChange, ...]:
        """The recent periods in which the coordinator may not have answered its members, ordered by start."""
        return tuple(sorted((*self.outages, *self.coordinator_changes), key=lambda span: span.after_ms))

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the members (ms): how long the coordinator waits for them.

        -1 if unknown, 0 if the group is Empty.
        """
        return max((member.rebalance_timeout_ms for member in self.members), default=0)


@dataclass(slots=True)
class Episode:
    """A rebalance as users experience it: one generation, or several if a cooperative assignor needed follow-ups.

    ``before`` is the generation before the episode. It is None if the group is new (``known`` is True), or if the
    observer did not read that generation (``known`` is False). If ``known`` is False, ``before`` may also be an older
    generation, the last one that the observer read: compaction may have removed the records of later ones.
    """

    before: Generation | None
    known: bool
    generations: list[Generation] = field(default_factory=list)
    _member_ids: tuple[int, frozenset[str]] = field(default=(0, frozenset()), compare=False)

    @property
    def last(self) -> Generation:
        """The latest generation, which closes the episode unless it announces a follow-up."""
        return self.generations[-1]

    @property
    def members_before(self) -> tuple[Member, ...]:
        """The members before the episode."""
        return self.before.members if self.before else ()

    @property
    def fresh(self) -> bool:
        """Whether the group is known to have had no members before: it is new or was Empty."""
        return self.known and (self.before is None or not self.before.members)

    @property
    def followups(self) -> int:
        """The number of generations after the first."""
        return len({generation.number for generation in self.generations}) - 1

    @property
    def withheld(self) -> int:
        """The number of partitions that were revoked and are not assigned yet; the follow-up will assign them."""
        before = [generation.value for generation in (self.before, *self.generations[:-1]) if generation]
        had = {partition for value in before for partition in owners(value)}
        return len(had - owners(self.last.value).keys())

    @property
    def unseen_partition_seconds(self) -> float:
        """Partition-seconds between the first join of a started group and its first assignment.

        They are counted afterwards, since the number of partitions is unknown before the assignment.
        """
        first = self.generations[0]
        if not self.fresh or first.start is None:
            return 0.0
        return len(owners(first.value)) * max(0, first.timestamp_ms - first.start.earliest_ms) / 1000

    @property
    def unnamed(self) -> frozenset[str]:
        """The topic ids without a known name in the episode's generations and in the generation before it."""
        return frozenset[str]().union(
            *(generation.unnamed for generation in (self.before, *self.generations) if generation)
        )

    def name_topics(self, rename: Callable[[Generation], Generation]) -> None:
        """Apply ``rename`` to each generation, after topic names became known."""
        self.before = self.before and rename(self.before)
        self.generations[:] = map(rename, self.generations)

    def has(self, member_id: str) -> bool:
        """Whether the member was in the group before the episode, or is in one of its generations."""
        if self._member_ids[0] != len(self.generations):
            generations = filter(None, (self.before, *self.generations))
            ids = frozenset(member.member_id for generation in generations for member in generation.members)
            self._member_ids = len(self.generations), ids
        return member_id in self._member_ids[1]

    def add_outages(self, outages: Collection[Outage]) -> None:
        """Add outages that began before a generation's record and were detected after it."""
        for index, generation in enumerate(self.generations):
            known, written_ms = generation.outages, generation.timestamp_ms
            if more := tuple(away for away in outages if away.after_ms < written_ms and away not in known):
                self.generations[index] = replace(generation, outages=(*known, *more))

    def steps(self) -> list[tuple[Generation | None, Generation]]:
        """Return each generation after its previous generation."""
        return list(zip([self.before, *self.generations], self.generations, strict=False))


def subscribed_topics(value: GroupSnapshot) -> set[str]:
    """Return every topic that at least one member subscribes to or is assigned."""
    topics = {topic for member in value.members if member.subscription for topic in member.subscription.topics}
    return topics | {topic for member in value.members for topic in member.assigned}


def announces_followup(generation: Generation) -> bool:
    """Whether another generation must follow: a member has partitions to revoke and will rejoin (KIP-429).

    In a non-classic group, another generation must follow if no member has an assignment yet. The coordinator starts
    share and streams groups with empty assignments while it prepares their topics and state.
    """
    if generation.group_type is not GroupType.CLASSIC and generation.members and generation.topics:
        return not owners(generation.value)
    return generation.protocol is RebalanceProtocol.COOPERATIVE and any(
        not set(numbers) <= set(member.assigned.get(topic, ()))
        for member in generation.members
        for topic, numbers in member.owned.items()
    )
