"""What the records of a consumer, share or streams group say at this moment, put together.

Facts come in any order: a backfill reads old ones after the tail has read new ones. Of each fact the newest counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rebalance_agent.model.epochs import (
    CurrentAssignment,
    EpochFact,
    EpochMember,
    GroupEpoch,
    MemberState,
    MemberTarget,
    ResolvedPattern,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.group import ClassicGroup, ClassicMember
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.rebalances.observations import EpochRecord
from rebalance_agent.rebalances.topics import TopicCatalogue

__all__ = ["SESSION_TIMEOUT_MS", "Roll"]

SESSION_TIMEOUT_MS = 45_000
"""``group.consumer.session.timeout.ms`` by default: the broker's own setting is in no record."""

_Key = tuple[type[EpochFact], str]


class Roll:
    """The facts of one group."""

    def __init__(self) -> None:
        """Begin knowing nothing."""
        self._facts: dict[_Key, EpochFact] = {}
        self._at_ms: dict[_Key, int] = {}

    def take(self, record: EpochRecord) -> bool:
        """Take a fact; False if a newer one of its kind is known."""
        key = (record.kind, record.subject)
        if record.timestamp_ms < self._at_ms.get(key, record.timestamp_ms):
            return False
        self._at_ms[key] = record.timestamp_ms
        if record.value is None:
            self._facts.pop(key, None)
        else:
            self._facts[key] = record.value
        return True

    def keep(self, since_ms: int) -> None:
        """Forget when facts that are no longer true ended, if that was before ``since_ms``."""
        self._at_ms = {key: at_ms for key, at_ms in self._at_ms.items() if key in self._facts or at_ms >= since_ms}

    @property
    def epoch(self) -> int | None:
        """The group's epoch; None where the group does not exist (any more)."""
        fact = self._facts.get((GroupEpoch, ""))
        return fact.epoch if isinstance(fact, GroupEpoch) else None

    @property
    def target_epoch(self) -> int:
        """The epoch that the targets are of."""
        fact = self._facts.get((TargetEpoch, ""))
        return fact.epoch if isinstance(fact, TargetEpoch) else -1

    @property
    def members(self) -> dict[str, EpochMember]:
        """The members by id."""
        return {name: fact for (_, name), fact in self._facts.items() if isinstance(fact, EpochMember)}

    def current(self, member_id: str) -> CurrentAssignment | None:
        """What a member has."""
        fact = self._facts.get((CurrentAssignment, member_id))
        return fact if isinstance(fact, CurrentAssignment) else None

    def reached(self) -> bool:
        """Whether every member that is there has what the newest epoch meant for it.

        A static member that left for a while (its epoch is negative) is not waited for.
        """
        if self.epoch is None:
            return False
        members = self.members
        if not members:
            return True
        return self.target_epoch >= self.epoch and all(
            current is not None
            and (current.epoch < 0 or (current.epoch >= self.epoch and current.state is MemberState.STABLE))
            for current in map(self.current, members)
        )

    def topics(self) -> set[str]:
        """Every topic that some member subscribes to."""
        patterns = {name: fact.topics for (_, name), fact in self._facts.items() if isinstance(fact, ResolvedPattern)}
        wanted = {topic for member in self.members.values() for topic in member.topics}
        for member in self.members.values():
            wanted.update(patterns.get(member.pattern or "", ()))
        return wanted | {topic for topics in self._sources().values() for topic in topics}

    def snapshot(self, group: str, catalogue: TopicCatalogue, assigned_ms: int) -> ClassicGroup:
        """The group as one generation: the members with what they have now, partitions by their topics' names."""
        patterns = {name: fact.topics for (_, name), fact in self._facts.items() if isinstance(fact, ResolvedPattern)}
        sources = self._sources()
        everything = tuple(sorted({topic for topics in sources.values() for topic in topics}))
        members = tuple(
            ClassicMember(
                member_id=member_id,
                instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                session_timeout_ms=SESSION_TIMEOUT_MS,
                subscription=ConsumerSubscription(
                    version=-1,
                    topics=tuple(sorted({*member.topics, *patterns.get(member.pattern or "", ()), *everything})),
                    rack_id=member.rack,
                ),
                assignment=ConsumerAssignment(-1, self.named(self._working_on(member_id), catalogue)),
            )
            for member_id, member in sorted(self.members.items())
        )
        named = {member.assignor for member in self.members.values() if member.assignor}
        return ClassicGroup(
            group=group,
            protocol_type="consumer",
            generation=self.epoch or 0,
            protocol=min(named) if len(named) == 1 else None,
            leader=None,
            current_state_timestamp_ms=assigned_ms,
            members=members,
        )

    def named(self, partitions: TopicPartitions, catalogue: TopicCatalogue) -> TopicPartitions:
        """``partitions`` by topic name: ids are looked up, a task stands for that partition of all its topics."""
        sources = self._sources()
        numbers: dict[str, set[int]] = {}
        for key, some in partitions.items():
            for topic in sources.get(key, (catalogue.name(key),)):
                count = catalogue.count(topic)
                numbers.setdefault(topic, set()).update(number for number in some if not count or number < count)
        return {topic: tuple(sorted(numbers[topic])) for topic in sorted(numbers) if numbers[topic]}

    def _working_on(self, member_id: str) -> TopicPartitions:
        current = self.current(member_id)
        if current is None or current.epoch < 0:
            return {}
        return {
            key: tuple(sorted({*current.assigned.get(key, ()), *current.revoking.get(key, ())}))
            for key in current.assigned.keys() | current.revoking.keys()
        }

    def waiting(self) -> int:
        """Partitions (or tasks) that are meant for a member and that nobody works on."""
        wanted = _pairs(fact.assigned for fact in self._facts.values() if isinstance(fact, MemberTarget))
        return len(wanted - _pairs(self._working_on(member_id) for member_id in self.members))

    def _sources(self) -> Mapping[str, tuple[str, ...]]:
        fact = self._facts.get((Topology, ""))
        return fact.sources if isinstance(fact, Topology) else {}


def _pairs(many: Iterable[TopicPartitions]) -> set[tuple[str, int]]:
    return {(key, number) for partitions in many for key, numbers in partitions.items() for number in numbers}
