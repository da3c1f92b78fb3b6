"""Turns a group's recorded generations into input of a what-if: rebalances in order, with the input of each decision.

Events do not contain racks and loads of partitions, so these count as unknown, like settings that only the leader has
(`eligible_strategies` and `fidelity` name the strategies that need them).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from rebalance_agent.advice.replay.reported_clients import ReportedClient, reported_clients
from rebalance_agent.assignors.roster import Roster, prepare_roster
from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.model.member_changes import identity
from rebalance_agent.model.partitions import TopicPartitions, count_partitions
from rebalance_agent.model.subscription import GroupSubscription, MemberSubscription, TopicMetadata

__all__ = [
    "GENERATIONS_MAX",
    "RecordedHistory",
    "RecordedRebalance",
    "history_of",
    "member_returned",
    "owned_by",
    "since_last_assignor",
    "size_of",
]

GENERATIONS_MAX = 100_000
"""Maximum number of generations in one history, of which the newest are kept: ten weeks of one rebalance per minute."""


@dataclass(frozen=True)
class RecordedRebalance:
    """One episode: its ``generations`` in order, the last of which closed it.

    ``before``: the event of the previous generation; None if no such generation was observed or existed.
    """

    generations: tuple[GenerationEvent, ...]
    before: GenerationEvent | None

    @property
    def closing(self) -> GenerationEvent:
        """The event of the last generation, which describes the whole episode."""
        return self.generations[-1]

    @property
    def returned(self) -> bool:
        """Whether a static member returned to its partitions, so that no assignor ran."""
        return member_returned(self.closing, self.before)

    @cached_property
    def roster(self) -> Roster:
        """The members and their subscriptions in order, without ownership and user data."""
        return prepare_roster(self.subscription)

    @property
    def subscription(self) -> GroupSubscription:
        """The members' subscriptions, with user data and without ownership."""
        members = [
            MemberSubscription(
                member.member_id,
                member.topics,
                member.instance_id,
                rack=member.rack or None,
                user_data=member.user_data,
            )
            for member in self.closing.members
        ]
        topics = {topic: TopicMetadata(count) for topic, count in self.closing.topics.items()}
        return GroupSubscription(topics, tuple(members), self.closing.group)

    @cached_property
    def identities(self) -> tuple[str, ...]:
        """The members' identities, in the order of ``roster``."""
        return tuple(map(identity, self.roster.members))

    @cached_property
    def fresh(self) -> bool:
        """Whether the group was empty before, so that all partitions waited for the end of the rebalance."""
        return self.before is not None and not self.before.members


@dataclass(frozen=True)
class RecordedHistory:
    """One group's past: all ended ``rebalances`` in order, and the ``generations`` of which they consist.

    ``lead``: ids of lead-in events: strategies are replayed through them, but another part of the history counts them.
    ``clients``: member id -> client, of the members that report.
    """

    cluster_id: str
    group: str
    generations: tuple[GenerationEvent, ...]
    rebalances: tuple[RecordedRebalance, ...]
    lead: frozenset[str] = frozenset()
    clients: Mapping[str, ReportedClient] = field(default_factory=dict)

    def counts(self, event: GenerationEvent) -> bool:
        """Return whether figures include this event."""
        return event.event_id not in self.lead

    @property
    def last(self) -> GenerationEvent | None:
        """The newest event; None if there is no event."""
        return self.generations[-1] if self.generations else None

    @cached_property
    def decided(self) -> tuple[RecordedRebalance, ...]:
        """Rebalances in which an assignor assigned partitions to members."""
        return tuple(rebalance for rebalance in self.rebalances if rebalance.closing.members and not rebalance.returned)

    @cached_property
    def assignor(self) -> str | None:
        """The assignor of the newest rebalance that had one."""
        return next(
            (rebalance.closing.assignor for rebalance in reversed(self.decided) if rebalance.closing.assignor), None
        )

    @cached_property
    def protocol(self) -> RebalanceProtocol:
        """The protocol of the newest rebalance in which it is known."""
        protocols = (rebalance.closing.protocol for rebalance in reversed(self.decided))
        return next(
            (protocol for protocol in protocols if protocol is not RebalanceProtocol.UNKNOWN), RebalanceProtocol.UNKNOWN
        )

    @cached_property
    def group_type(self) -> GroupType:
        """The group's type at the end."""
        return self.last.group_type if self.last else GroupType.CLASSIC

    @cached_property
    def size(self) -> int:
        """The number of members and partitions over all rebalances, which determines the work of a replay."""
        return sum(size_of(rebalance.closing) for rebalance in self.decided)


def history_of(events: Iterable[Event], lead: Collection[str] = ()) -> RecordedHistory:
    """Return the history in one group's ``events``: the newest revision of each generation.

    Member events, oldest first, name the members' clients; other kinds are ignored.

    ``lead``: ids of lead-in events, see `RecordedHistory`. The history leaves out parts of an event that was split by
    member and not merged again, generations before a change of the group's type, and an episode that has not ended.
    """
    newest: dict[str, GenerationEvent] = {}
    events = tuple(events)
    for event in events:
        if isinstance(event, GenerationEvent) and event.parts == 1:
            earlier_revision = newest.get(event.event_id)
            if earlier_revision is None or event.revision > earlier_revision.revision:
                newest[event.event_id] = event
    ordered = sorted(newest.values(), key=lambda event: (event.timestamp_ms, event.generation))[-GENERATIONS_MAX:]
    kept = _since_last_type(ordered)
    rebalances = tuple(_rebalances(kept))
    last = kept[-1] if kept else None
    names = (last.cluster_id, last.group) if last else ("", "")
    return RecordedHistory(*names, tuple(kept), rebalances, frozenset(lead), reported_clients(events))


def size_of(event: GenerationEvent) -> int:
    """Return the number of members plus partitions of one generation.

    Partitions without an owner count: an assignor assigns all partitions of the topics.
    """
    assigned = sum(count_partitions(member.assigned) for member in event.members)
    return len(event.members) + max(assigned, sum(event.topics.values()))


def member_returned(event: GenerationEvent, before: GenerationEvent | None) -> bool:
    """Return whether the generation stayed the same; ``before`` is the previous event if observed."""
    if event.previous_generation is None:
        return False  # the first generation of a group, or of a recreated one
    return event.generation in {event.previous_generation, before.generation if before else None}


def since_last_assignor(history: RecordedHistory) -> RecordedHistory:
    """Return the history since the last change of assignor: mixed figures of two assignors would describe neither."""
    for index in range(len(history.rebalances) - 1, -1, -1):
        rebalance = history.rebalances[index]
        if rebalance.closing.members and rebalance.closing.assignor not in {None, history.assignor}:
            return replace(history, rebalances=history.rebalances[index + 1 :])
    return history


def _since_last_type(events: Sequence[GenerationEvent]) -> Sequence[GenerationEvent]:
    """Return the events since the last change of group type: a classic past does not show how a broker assigns."""
    for index in range(len(events) - 1, 0, -1):
        if events[index].group_type is not events[index - 1].group_type:
            return events[index:]
    return events


def _rebalances(events: Sequence[GenerationEvent]) -> Iterable[RecordedRebalance]:
    before: GenerationEvent | None = None
    running: list[GenerationEvent] = []
    for event in events:
        if running and event.episode_generation != running[0].episode_generation:
            running = []  # its end is missing
        if not running and before and event.previous_generation != before.generation:
            before = None  # the event before is missing, or the group was deleted and created again
        running.append(event)
        if event.closes_episode:
            yield RecordedRebalance(tuple(running), before)
            before, running = event, []


def owned_by(event: GenerationEvent) -> dict[str, TopicPartitions]:
    """Return identity -> partitions of the recorded assignment."""
    return {identity(member): member.assigned for member in event.members}
