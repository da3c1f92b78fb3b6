"""A group's recorded generations as a what-if needs them: rebalances in order, and what each one decided from.

What events do not say is not guessed: the racks and loads of partitions are unknown, and so are settings that only the
leader knows (`serving` and `fidelity` say which strategies that concerns).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rebalance_agent.assignors.roster import Roster, prepare_roster
from rebalance_agent.model.events import Event, GenerationEvent, MemberSnapshot
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.model.partitions import TopicPartitions, count_partitions
from rebalance_agent.model.subscription import GroupSubscription, MemberSubscription, TopicMetadata

__all__ = [
    "GENERATIONS_MAX",
    "RecordedHistory",
    "RecordedRebalance",
    "history_of",
    "identity",
    "member_returned",
    "owned_by",
    "since_last_assignor",
]

GENERATIONS_MAX = 100_000
"""Generations of one history; of more the newest count. A group that rebalances every minute has as many in ten weeks.
"""


@dataclass(frozen=True)
class RecordedRebalance:
    """One episode: ``generations`` in order, of which the last one closed it.

    ``before``: the event that it began from, None where that was not seen, or there was none.
    """

    generations: tuple[GenerationEvent, ...]
    before: GenerationEvent | None

    @property
    def closing(self) -> GenerationEvent:
        """The event that speaks for the whole."""
        return self.generations[-1]

    @property
    def returned(self) -> bool:
        """Whether a static member came back into its place, so that nobody decided anything."""
        return member_returned(self.closing, self.before)

    @cached_property
    def roster(self) -> Roster:
        """The members and what each asked for, in order; who owned what, and what they told, is left out."""
        members = [
            MemberSubscription(member.member_id, member.topics, member.instance_id, rack=member.rack or None)
            for member in self.closing.members
        ]
        topics = {topic: TopicMetadata(count) for topic, count in self.closing.topics.items()}
        return prepare_roster(GroupSubscription(topics, tuple(members), self.closing.group))

    @cached_property
    def identities(self) -> tuple[str, ...]:
        """The members' identities, in the order of ``roster``."""
        return tuple(map(identity, self.roster.members))

    @cached_property
    def fresh(self) -> bool:
        """Whether it began from an empty group, so that all partitions waited for its end."""
        return self.before is not None and not self.before.members


@dataclass(frozen=True)
class RecordedHistory:
    """One group's past: ``rebalances`` in order, each of them ended; ``generations`` they consist of.

    ``lead``: ids of events that lead in: strategies go through them, and another part of the past counts them.
    """

    cluster_id: str
    group: str
    generations: tuple[GenerationEvent, ...]
    rebalances: tuple[RecordedRebalance, ...]
    lead: frozenset[str] = frozenset()

    def counts(self, event: GenerationEvent) -> bool:
        """Whether figures are to speak of it."""
        return event.event_id not in self.lead

    @property
    def last(self) -> GenerationEvent | None:
        """The newest event."""
        return self.generations[-1] if self.generations else None

    @cached_property
    def decided(self) -> tuple[RecordedRebalance, ...]:
        """Rebalances in which somebody assigned partitions to somebody."""
        return tuple(rebalance for rebalance in self.rebalances if rebalance.closing.members and not rebalance.returned)

    @cached_property
    def assignor(self) -> str | None:
        """The assignor of the newest rebalance that had one."""
        return next(
            (rebalance.closing.assignor for rebalance in reversed(self.decided) if rebalance.closing.assignor), None
        )

    @cached_property
    def protocol(self) -> RebalanceProtocol:
        """The protocol of the newest rebalance that showed one."""
        protocols = (rebalance.closing.protocol for rebalance in reversed(self.decided))
        return next(
            (protocol for protocol in protocols if protocol is not RebalanceProtocol.UNKNOWN), RebalanceProtocol.UNKNOWN
        )

    @cached_property
    def group_type(self) -> GroupType:
        """Who assigned in the end."""
        return self.last.group_type if self.last else GroupType.CLASSIC

    @cached_property
    def size(self) -> int:
        """Members and owned partitions over all rebalances: what a replay has to look at."""
        return sum(
            len(rebalance.closing.members)
            + sum(count_partitions(member.assigned) for member in rebalance.closing.members)
            for rebalance in self.decided
        )


def history_of(events: Iterable[Event], lead: Collection[str] = ()) -> RecordedHistory:
    """The history in one group's ``events`` (other kinds are passed over), of each event the newest revision.

    ``lead``: ids of those that only lead in, see `RecordedHistory`.

    Left out are the parts of an event that was split by member and not put together again, what comes before a change
    of the group's type, and an episode that has not ended.
    """
    newest: dict[str, GenerationEvent] = {}
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
    return RecordedHistory(*names, tuple(kept), rebalances, frozenset(lead))


def identity(member: MemberSnapshot | MemberSubscription) -> str:
    """What stays the same when a static member restarts (KIP-345)."""
    return member.member_id if member.instance_id is None else member.instance_id


def member_returned(event: GenerationEvent, before: GenerationEvent | None) -> bool:
    """Whether the generation stayed what it was; ``before`` is the event before, where that was seen."""
    if event.previous_generation is None:
        return False  # the first of a group, or of one that was deleted and made again
    return event.generation in {event.previous_generation, before.generation if before else None}


def since_last_assignor(history: RecordedHistory) -> RecordedHistory:
    """The same without what was before the last change of assignor: figures of two would speak of neither."""
    for index in range(len(history.rebalances) - 1, -1, -1):
        rebalance = history.rebalances[index]
        if rebalance.closing.members and rebalance.closing.assignor not in {None, history.assignor}:
            return replace(history, rebalances=history.rebalances[index + 1 :])
    return history


def _since_last_type(events: Sequence[GenerationEvent]) -> Sequence[GenerationEvent]:
    """From the last change of type on: a classic group's past says nothing about how a broker would go on."""
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
            before = None  # what it began from is missing, or the group was deleted and made again
        running.append(event)
        if event.closes_episode:
            yield RecordedRebalance(tuple(running), before)
            before, running = event, []


def owned_by(event: GenerationEvent) -> dict[str, TopicPartitions]:
    """Identity -> what the recorded assignment gave it."""
    return {identity(member): member.assigned for member in event.members}
