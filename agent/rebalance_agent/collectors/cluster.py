"""The admin API as the collectors need it: plain values out, `ClusterError` where the cluster does not answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupType,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.model.partitions import topic_partitions
from rebalance_agent.rebalances.observations import DescribedGroup, DescribedMember, ListedGroup

__all__ = ["ANSWER_TIMEOUT_S", "Cluster", "GroupListing", "raise_cluster_error"]

ANSWER_TIMEOUT_S = 3.0
"""Longest wait for an answer. A broker that is up answers within milliseconds."""

DESCRIBED_MAX = 500
"""Topics described in one request: an answer of some hundred kilobytes."""

_STATES = {
    ConsumerGroupState.PREPARING_REBALANCING: GroupState.PREPARING_REBALANCE,
    ConsumerGroupState.COMPLETING_REBALANCING: GroupState.COMPLETING_REBALANCE,
    ConsumerGroupState.STABLE: GroupState.STABLE,
    ConsumerGroupState.DEAD: GroupState.DEAD,
    ConsumerGroupState.EMPTY: GroupState.EMPTY,
}
_STATES_BACK = {ours: theirs for theirs, ours in _STATES.items()}
_TYPES = {ConsumerGroupType.CLASSIC: GroupType.CLASSIC, ConsumerGroupType.CONSUMER: GroupType.CONSUMER}
_DENIED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)


@dataclass(frozen=True, slots=True)
class GroupListing:
    """A ListGroups answer over all brokers. ``complete``: every broker answered."""

    groups: tuple[ListedGroup, ...]
    complete: bool


def raise_cluster_error(error: KafkaException | KafkaError, doing: str) -> NoReturn:
    """Raise ``error`` as one of ours, saying what was being done.

    Raises:
        AccessDeniedError: a right is missing.
        ClusterError: anything else.
    """
    cause = error.args[0] if isinstance(error, KafkaException) else error
    kind = AccessDeniedError if cause.code() in _DENIED else ClusterError
    raise kind(f"{doing}: {cause.str()}") from None


class Cluster:
    """One Kafka cluster. Thread-safe; calls return within `ANSWER_TIMEOUT_S` or raise `ClusterError`."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Connect in the background with librdkafka ``properties``."""
        self._trouble = ""
        self._lost = False
        settings: dict[str, Any] = {**properties, "error_cb": self._on_error}
        self._admin = AdminClient(settings)

    def identify(self) -> tuple[str, dict[str, int]]:
        """Cluster id, and partition counts of every topic that this principal may describe."""
        try:
            metadata = self._admin.list_topics(timeout=ANSWER_TIMEOUT_S)
        except KafkaException as error:
            self._fail(error, "reading metadata")
        counts = {name: len(topic.partitions) for name, topic in metadata.topics.items() if topic.error is None}
        return metadata.cluster_id or "", counts

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Ids of ``topics`` as Kafka prints them, by name; without those that this principal may not describe."""
        names = sorted(topics)
        ids = {}
        for start in range(0, len(names), DESCRIBED_MAX):
            some = TopicCollection(names[start : start + DESCRIBED_MAX])
            for name, future in self._admin.describe_topics(some, request_timeout=ANSWER_TIMEOUT_S).items():
                try:
                    # Kafka prints ids in the URL-safe alphabet, librdkafka in the other one.
                    ids[name] = str(future.result().topic_id).replace("+", "-").replace("/", "_")
                except KafkaException:
                    continue
        return ids

    def list_groups(self, states: Iterable[GroupState] = ()) -> GroupListing:
        """Groups in ``states`` (none given: in any). Those in a state that librdkafka has no name for are left out."""
        wanted = {_STATES_BACK[state] for state in states}
        try:
            answer = self._admin.list_consumer_groups(
                request_timeout=ANSWER_TIMEOUT_S, **({"states": wanted} if wanted else {})
            ).result()
        except KafkaException as error:
            self._fail(error, "listing groups")
        groups = tuple(
            ListedGroup(each.group_id, _STATES[each.state], _TYPES.get(each.type, GroupType.CLASSIC))
            for each in answer.valid
            if each.state in _STATES
        )
        if answer.errors and not answer.valid:
            self._fail(answer.errors[0], "listing groups")
        return GroupListing(groups, complete=not answer.errors)

    def describe_groups(self, groups: Sequence[str]) -> list[DescribedGroup]:
        """What DescribeGroups says of ``groups``; those that cannot be described are left out."""
        futures = self._admin.describe_consumer_groups(list(groups), request_timeout=ANSWER_TIMEOUT_S)
        described, failure = [], None
        for future in futures.values():
            try:
                answer = future.result()
            except KafkaException as error:
                failure = error
                continue
            if answer.state in _STATES:
                described.append(_described(answer))
        if failure is not None and not described:
            self._fail(failure, "describing groups")
        return described

    def end_offsets(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """The offset after the last record of each partition, whether or not its transaction is still open."""
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = {TopicPartition(topic, number): latest for number in partitions}
        if not asked:
            return {}
        futures = self._admin.list_offsets(
            asked, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=ANSWER_TIMEOUT_S
        )
        try:
            return {partition.partition: future.result().offset for partition, future in futures.items()}
        except KafkaException as error:
            self._fail(error, f"asking for the end of {topic}")

    def create_topic(self, name: str, partitions: int, config: Mapping[str, str]) -> bool:
        """Create a topic with the brokers' default replication; False if it was there."""
        topic = NewTopic(name, num_partitions=partitions, replication_factor=-1, config=dict(config))
        future = self._admin.create_topics([topic], request_timeout=ANSWER_TIMEOUT_S)[name]
        try:
            future.result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            self._fail(error, f"creating topic {name}")
        return True

    def lost(self) -> bool:
        """Whether all connections have gone down since the last time it was asked. Asks no broker."""
        self._admin.poll(0)
        lost, self._lost = self._lost, False
        return lost

    def _on_error(self, error: KafkaError) -> None:
        self._trouble = error.str()
        if error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - librdkafka's own codes begin so
            self._lost = True

    def _fail(self, error: KafkaException | KafkaError, doing: str) -> NoReturn:
        # "Timed out" alone helps nobody: what the connections ran into is told to the error callback only.
        self._trouble = ""
        self._admin.poll(0)
        raise_cluster_error(error, f"{doing} ({self._trouble})" if self._trouble else doing)


def _described(answer: Any) -> DescribedGroup:  # noqa: ANN401 - the client's own type has no annotations
    members = (
        DescribedMember(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.host,
            topic_partitions((each.topic, each.partition) for each in member.assignment.topic_partitions),
        )
        for member in answer.members
    )
    return DescribedGroup(
        answer.group_id,
        _STATES[answer.state],
        _TYPES.get(answer.type, GroupType.CLASSIC),
        answer.partition_assignor or None,
        tuple(sorted(members, key=lambda member: member.member_id)),
    )
