"""The latest record of each key of a consumer, share or streams group, and what follows from all of them.

A live record is always the latest record of its key. A backfill may read older records after the tail has read newer
ones; then the record with the newest timestamp counts. The cost of a record depends on what it changes, since an epoch
of a large group consists of thousands of records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from functools import partial

from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochFact,
    EpochMember,
    GroupEpoch,
    MemberTarget,
    ResolvedPattern,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.group import Member
from rebalance_agent.model.partitions import TopicPartitions, pairs, partitions_read
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.tracking.cluster_topics import ClusterTopics
from rebalance_agent.tracking.completed_generation import TopicMetadataSeen
from rebalance_agent.tracking.epoch.backlog import Backlog
from rebalance_agent.tracking.epoch.claimed_partitions import ClaimedPartitions
from rebalance_agent.tracking.epoch.facts import set_fact
from rebalance_agent.tracking.epoch.settled_epochs import SettledEpochs
from rebalance_agent.tracking.evidence.last_seen import SESSION_TIMEOUT_MS
from rebalance_agent.tracking.members.shared_counts import add_count
from rebalance_agent.tracking.observations import EpochRecord

__all__ = ["EpochGroupRecords"]

_Key = tuple[type[EpochFact], str]


class EpochGroupRecords:
    """The records of one group, by kind. ``backlog``: the group's partitions (or tasks) with a target or an owner."""

    def __init__(self) -> None:
        """Start without records."""
        self.epoch: GroupEpoch | None = None
        self.target_epoch = -1
        self.dissolving = False
        self.members: dict[str, EpochMember] = {}
        self.topology: Topology | None = None
        self._currents: dict[str, CurrentAssignment] = {}
        self._patterns: dict[str, ResolvedPattern] = {}
        self._targets: dict[str, MemberTarget] = {}
        self._at_ms: dict[_Key, int] = {}
        self._settled = SettledEpochs()
        self._claimed = ClaimedPartitions()
        self._subscribed: Counter[str] = Counter()
        self._subscribed_patterns: Counter[str] = Counter()
        self._topics: frozenset[str] | None = None
        self._assignors: Counter[str] = Counter()
        self._subscriptions: dict[tuple[tuple[str, ...], str | None], tuple[str, ...]] = {}
        self._changed: set[str] = set()
        self._all_changed = False
        self.backlog = Backlog()

    def take(self, record: EpochRecord) -> bool:
        """Store a record; return False if a newer one with its key was stored before."""
        key = (record.kind, record.subject)
        if not record.live and record.timestamp_ms < self._at_ms.get(key, record.timestamp_ms):
            return False
        self._at_ms[key] = record.timestamp_ms
        self._put(record.kind, record.subject, self._bounded(record.kind, record.subject, record.value))
        return True

    def keep(self, since_ms: int) -> None:
        """Drop the times of tombstones from before ``since_ms``."""
        self._at_ms = {key: at_ms for key, at_ms in self._at_ms.items() if at_ms >= since_ms or self._has(*key)}

    @property
    def unread(self) -> bool:
        """Whether the members claim too many partitions: then none of them are shown (see `ClaimedPartitions`)."""
        return self._claimed.unread

    def current(self, member_id: str) -> CurrentAssignment | None:
        """Return a member's current assignment."""
        return self._currents.get(member_id)

    def targeted(self, member_id: str) -> TopicPartitions:
        """Return the partitions of a member's target assignment."""
        return target.assigned if (target := self._targets.get(member_id)) else {}

    @property
    def standby_hosts(self) -> frozenset[str]:
        """The members with standby or warm-up tasks (streams groups)."""
        return frozenset(name for name, current in self._currents.items() if current.standbys or current.warmups)

    def uses_classic_protocol(self, member_id: str) -> bool:
        """Whether the member still uses the classic protocol: the coordinator then does not revoke step by step."""
        member = self.members.get(member_id)
        return member is not None and member.classic

    def is_eager(self, member_id: str) -> bool:
        """Whether the member revokes all its partitions whenever it has to rejoin."""
        member = self.members.get(member_id)
        return member is not None and member.eager

    @property
    def eager(self) -> frozenset[str]:
        """The members that revoke all their partitions whenever they have to rejoin."""
        return frozenset(member_id for member_id, member in self.members.items() if member.eager)

    @property
    def patterns(self) -> dict[str, tuple[tuple[str, ...], str]]:
        """The topics and the pattern of each member that subscribes to a pattern, by member id."""
        if not self._subscribed_patterns:
            return {}
        return {
            member_id: (member.topics, member.pattern)
            for member_id, member in self.members.items()
            if member.pattern is not None
        }

    @property
    def metadata(self) -> TopicMetadataSeen:
        """The topics' metadata that the coordinator based the newest epoch on."""
        epoch = self.epoch or GroupEpoch(-1)
        return TopicMetadataSeen(epoch.metadata_hash, frozenset(self._keys), epoch.validated_topology)

    @property
    def reached(self) -> bool:
        """Whether every member has reached the newest epoch and its target assignment.

        Static members that left temporarily (negative epoch) do not count.
        """
        if self.epoch is None or not self.members:
            return self.epoch is not None
        return self.target_epoch >= self.epoch.epoch and self._settled.reached(self.epoch.epoch) == len(self.members)

    @property
    def away(self) -> bool:
        """Whether a static member left temporarily, and has neither returned nor been removed."""
        return self._settled.away

    @property
    def held_for_absent(self) -> set[tuple[str, int]]:
        """The partitions in the targets of static members that left temporarily; these partitions have no owner."""
        away = (member_id for member_id, current in self._currents.items() if current.epoch < 0) if self.away else ()
        return set[tuple[str, int]]().union(*(pairs(self.targeted(name)) for name in away))

    @property
    def ready(self) -> bool:
        """Whether the coordinator has validated that a streams group's topics fit its topology.

        Brokers before 4.2 do not record the validation; for them, any assigned task proves it.
        """
        validated = self.epoch.validated_topology if self.epoch else -1
        needed = self.topology.epoch if self.topology else None
        return validated == needed or (validated < 0 and any(target.assigned for target in self._targets.values()))

    @property
    def topics(self) -> frozenset[str]:
        """Every topic that at least one member subscribes to; the same object is returned until the topics change."""
        if self._topics is None:
            resolved = (topic for name in self._subscribed_patterns for topic in self._resolved(name))
            sources = (topic for topics in self.subtopologies.values() for topic in topics)
            self._topics = frozenset((*self._subscribed, *resolved, *sources))
        return self._topics

    def named_topics(self, cluster_topics: ClusterTopics) -> set[str]:
        """Return the known names of the topics in which members have partitions."""
        return {topic for key in self._keys for topic in self._topics_of(cluster_topics, key)}

    def unnamed(self, had: Collection[str], cluster_topics: ClusterTopics) -> frozenset[str]:
        """Return the ids of topics without a known name in which members have, or ``had``, partitions."""
        keys = self._keys.union(had)
        return frozenset(key for key in keys if key not in self.subtopologies and not cluster_topics.has_name(key))

    @property
    def assignor(self) -> str | None:
        """The assignor that members ask for; None if members name no assignor or different assignors."""
        return next(iter(self._assignors)) if len(self._assignors) == 1 else None

    def take_changed(self) -> set[str]:
        """Return the ids of members, including removed ones, whose `member` may have changed since the last call."""
        changed = self._changed | self.members.keys() if self._all_changed else self._changed
        self._changed, self._all_changed, self._subscriptions = set(), False, {}
        return changed

    def member(self, member_id: str, cluster_topics: ClusterTopics) -> Member | None:
        """Return a member with its current assignment by topic name; None if there is no member with this id."""
        member = self.members.get(member_id)
        if member is None:
            return None
        current = self._currents.get(member_id)
        held = current.held if current else {}
        subscription = member.topics, member.pattern
        if (topics := self._subscriptions.get(subscription)) is None:
            tasks = (topic for topics in self.subtopologies.values() for topic in topics)
            topics = tuple(sorted({*member.topics, *self._resolved(member.pattern), *tasks}))
            self._subscriptions[subscription] = topics
        return Member(
            member_id=member_id,
            instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            session_timeout_ms=member.session_timeout_ms or SESSION_TIMEOUT_MS,
            session_assumed=member.session_timeout_ms is None,
            subscription=None if self.unread else ConsumerSubscription(version=-1, topics=topics, rack_id=member.rack),
            assignment=None if self.unread else ConsumerAssignment(-1, self.by_topic_name(held, cluster_topics)),
            streams=member.streams(None if self.unread else current),
        )

    def by_topic_name(self, partitions: TopicPartitions, cluster_topics: ClusterTopics) -> TopicPartitions:
        """Return ``partitions`` by topic name: look up ids, and expand a task to its partition of each topic."""
        return partitions_read(partitions, partial(self._topics_of, cluster_topics), cluster_topics.count)

    def _topics_of(self, cluster_topics: ClusterTopics, key: str) -> tuple[str, ...]:
        """Return the topics of a subtopology, or the topic with an id."""
        return self.subtopologies.get(key, (cluster_topics.name(key),))

    # One fact at a time

    def _bounded(self, kind: type[EpochFact], subject: str, value: EpochFact | None) -> EpochFact | None:
        """Return a record's value, without partitions if the group claims too many."""
        unread = self.unread
        if isinstance(value, CurrentAssignment | MemberTarget):
            value = self._claimed.bounded(subject, value, self.subtopologies)
        else:
            self._claimed.remove(kind, subject)
        self._all_changed = self._all_changed or unread != self.unread
        return value

    def _put(self, kind: type[EpochFact], subject: str, value: EpochFact | None) -> None:
        if kind is CurrentAssignment:
            current, now = set_fact(self._currents, subject, value, CurrentAssignment)
            self.backlog.set_owned(current.held if current else {}, now.held if now else {})
            self._changed.add(subject)
            self._settle(subject)
        elif kind is MemberTarget:
            old, new = set_fact(self._targets, subject, value, MemberTarget)
            self.backlog.set_target(old.assigned if old else {}, new.assigned if new else {})
        elif kind is EpochMember:
            before, after = set_fact(self.members, subject, value, EpochMember)
            self._count_subscription(before, -1)
            self._count_subscription(after, 1)
            self._changed.add(subject)
            self._settle(subject)
        elif kind is ResolvedPattern:
            set_fact(self._patterns, subject, value, ResolvedPattern)
            self._topics, self._all_changed = None, True
        elif kind is Topology:
            known, self.topology = self.subtopologies, value if isinstance(value, Topology) else None
            self._topics, self._all_changed = None, True
            read = [] if known == self.subtopologies else [*filter(self._claimed.has_read, self._currents)]
            for name in read:  # its tasks read other topics now
                self._put(CurrentAssignment, name, self._bounded(CurrentAssignment, name, self._currents[name]))
        elif kind is TargetEpoch:
            self.target_epoch = value.epoch if isinstance(value, TargetEpoch) else -1
            self.dissolving = value is None
        else:
            self.epoch = value if isinstance(value, GroupEpoch) else None

    def _settle(self, member_id: str) -> None:
        self._settled.update(member_id, self._currents.get(member_id) if member_id in self.members else None)

    def _count_subscription(self, member: EpochMember | None, by: int) -> None:
        if member is None:
            return
        if member.assignor:
            add_count(self._assignors, member.assignor, by)
        changed = [add_count(self._subscribed, topic, by) for topic in set(member.topics)]
        if member.pattern is not None:
            changed.append(add_count(self._subscribed_patterns, member.pattern, by))
        if any(changed):
            self._topics = None

    def _resolved(self, pattern: str | None) -> tuple[str, ...]:
        resolved = self._patterns.get(pattern) if pattern is not None else None
        return resolved.topics if resolved else ()

    @property
    def _keys(self) -> set[str]:
        """The keys of members' assignments: topic ids, or ids of subtopologies."""
        return {key for current in self._currents.values() for key in (*current.assigned, *current.revoking)}

    @property
    def subtopologies(self) -> Mapping[str, tuple[str, ...]]:
        """The topics that tasks of a streams group read, by the id of their subtopology; empty for other groups."""
        return self.topology.sources if self.topology else {}

    def _has(self, kind: type[EpochFact], subject: str) -> bool:
        facts: dict[type[EpochFact], Mapping[str, EpochFact]] = {
            EpochMember: self.members,
            CurrentAssignment: self._currents,
            MemberTarget: self._targets,
            ResolvedPattern: self._patterns,
        }
        return kind not in facts or subject in facts[kind]
