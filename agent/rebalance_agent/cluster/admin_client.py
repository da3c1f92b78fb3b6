"""The admin API for collectors, which returns plain values and raises `ClusterError` if the cluster does not answer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from rebalance_agent.cluster.access import DENIED, AccessCheck, Existence
from rebalance_agent.cluster.admin_answers import NO_ANSWER, AdminAnswers, answered_offset, answered_offsets
from rebalance_agent.cluster.describing.answer_lines import GroupAnswer
from rebalance_agent.cluster.describing.broker_client import BrokerClient, client_settings
from rebalance_agent.cluster.describing.connection_errors import ConnectionErrors
from rebalance_agent.cluster.describing.isolated_describer import IsolatedDescriber
from rebalance_agent.cluster.group_answers import STATES, group_description, listed_group
from rebalance_agent.cluster.tokens.token_login import with_token_callback
from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.observations import DescribedGroup, ListedGroup

__all__ = ["ANSWER_TIMEOUT_S", "Cluster", "GroupListing", "raise_cluster_error"]

ANSWER_TIMEOUT_S = 3.0
"""Longest wait for an answer, in seconds. A broker that is up answers within milliseconds."""

_TUNING = {
    # librdkafka 2.16 waits for the coordinator that it has cached even after that broker was restarted: forever, if
    # requests follow each other (librdkafka's issue 5511). librdkafka looks up a coordinator again if it was not used
    # for this long, which is shorter than the interval of our polls.
    "metadata.max.age.ms": "1000",
    # Otherwise one request to a broker that refuses connections makes librdkafka 2.16 reconnect without a pause, which
    # takes half of a processor. Connections to all brokers cost little, since listing groups needs them all.
    "enable.sparse.connections": "false",
}

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

_LATEST = OffsetSpec.latest()  # type: ignore[no-untyped-call]

DESCRIBED_MAX = 500
"""Maximum number of topics described in one request: an answer of a few hundred kilobytes."""


@dataclass(frozen=True, slots=True)
class GroupListing:
    """A ListGroups answer from all brokers; ``complete``: whether every broker answered."""

    groups: tuple[ListedGroup, ...]
    complete: bool


def raise_cluster_error(error: KafkaException | KafkaError, doing: str) -> NoReturn:
    """Raise ``error`` as an error of this package that names the operation (``doing``).

    Raises:
        AccessDeniedError: this principal lacks a permission.
        ClusterError: any other error.
    """
    cause = error.args[0] if isinstance(error, KafkaException) else error
    kind = AccessDeniedError if cause.code() in DENIED else ClusterError
    raise kind(f"{doing}: {cause.str()}") from None


class Cluster:
    """One Kafka cluster. Thread-safe; calls return within `ANSWER_TIMEOUT_S` or raise `ClusterError`.

    Descriptions of groups may take `isolated_describer.DESCRIBE_S`.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Create the client with librdkafka's ``properties``; it connects in the background."""
        self._errors = ConnectionErrors(properties.get("security.protocol", ""))
        tuned = {**properties, **_TUNING}
        self._admin = AdminClient({"error_cb": self._errors} | with_token_callback(tuned))
        self._properties = properties
        self._ask = AdminAnswers(ANSWER_TIMEOUT_S)
        self._describer = IsolatedDescriber(tuned, ANSWER_TIMEOUT_S)

    @property
    def servers(self) -> str:
        """The bootstrap servers, separated by commas."""
        return self._properties["bootstrap.servers"]

    @property
    def access(self) -> AccessCheck:
        """The object that reads this principal's permissions in this cluster."""
        return AccessCheck(self._admin, self._describer, ANSWER_TIMEOUT_S)

    def identify(self) -> tuple[str, dict[str, int]]:
        """Return the cluster id, and the partition count of every topic that this principal may describe."""
        with self._doing("reading metadata"):
            metadata = self._admin.list_topics(timeout=ANSWER_TIMEOUT_S)
        counts = {name: len(topic.partitions) for name, topic in metadata.topics.items() if topic.error is None}
        return metadata.cluster_id or "", counts

    def brokers(self) -> dict[int, tuple[str, int]]:
        """Return node id -> host and port of every broker."""
        with self._doing("reading metadata"):
            metadata = self._admin.list_topics("", timeout=ANSWER_TIMEOUT_S)
        return {node: (str(broker.host), broker.port) for node, broker in metadata.brokers.items()}

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Return topic name -> topic id as Kafka prints it; without topics that could not be described."""
        names = sorted(topics)
        ids = {}
        for start in range(0, len(names), DESCRIBED_MAX):
            for name, future in self._topics(names[start : start + DESCRIBED_MAX]).items():
                with contextlib.suppress(KafkaException):
                    ids[name] = _id_text(future.result().topic_id)
        return ids

    def topic_id(self, topic: str) -> str:
        """Return the id of ``topic`` as Kafka prints it; a topic that was deleted and recreated has another id."""
        with self._doing(f"asking for the id of {topic}"):
            return _id_text(self._topics([topic])[topic].result().topic_id)

    def _topics(self, names: list[str]) -> dict[str, Future[Any]]:
        return self._ask(self._admin.describe_topics, TopicCollection(names))

    def list_groups(self, states: Collection[GroupState] = ()) -> GroupListing:
        """List groups in any of ``states`` (empty: all), without groups in states that `GroupState` does not have."""
        options = {"states": {STATES[state] for state in states}} if states else {}
        with self._doing("listing groups"):
            answer = self._ask.for_one(self._admin.list_consumer_groups, **options)
        groups = tuple(group for listed in answer.valid if (group := listed_group(listed)))
        if answer.errors and not answer.valid:
            self._fail(answer.errors[0], "listing groups")
        return GroupListing(groups, complete=not answer.errors)

    def describe_groups(self, groups: Sequence[str]) -> list[DescribedGroup]:
        """Return the descriptions of ``groups``; without groups that do not exist or cannot be described."""
        answers = self._describe(groups).values()
        return [answer.description for answer in answers if answer and answer.description]

    def broker_client(self) -> BrokerClient:
        """Return new connections through kafka-python, for requests that librdkafka does not have.

        Raises:
            InvalidInputError: kafka-python is not installed, or cannot log in with this client's properties.
        """
        return BrokerClient(client_settings(self._properties, ANSWER_TIMEOUT_S), ANSWER_TIMEOUT_S)

    def absent_groups(self, groups: Sequence[str]) -> frozenset[str]:
        """Return the ``groups`` that, according to their coordinators, are neither classic nor consumer groups."""
        answers = self._describe(groups).items()
        return frozenset(name for name, answer in answers if answer is None or answer.state is GroupState.DEAD)

    def _describe(self, groups: Sequence[str]) -> dict[str, GroupAnswer | None]:
        """Return group -> its coordinator's answer; None if the coordinator has no such group."""
        return self._answered(self._describer(groups), group_description, "describing groups")

    def end_offsets(self, topic: str, partitions: Iterable[int], *, stable: bool = False) -> dict[int, int]:
        """Return partition -> end offset; with ``stable`` the last stable offset, before the first open transaction."""
        level = IsolationLevel.READ_COMMITTED if stable else IsolationLevel.READ_UNCOMMITTED
        return self._list_offsets(topic, partitions, _LATEST, isolation_level=level)

    def start_offsets(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """Return partition -> the first offset that can still be read."""
        return self._list_offsets(topic, partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    def offsets_since(self, topic: str, partitions: Iterable[int], since_ms: int) -> dict[int, int]:
        """Return partition -> the first offset of ``since_ms`` or later; partitions without one are missing."""
        offsets = self._list_offsets(topic, partitions, OffsetSpec.for_timestamp(since_ms))
        return {number: offset for number, offset in offsets.items() if offset >= 0}

    def _list_offsets(
        self, topic: str, partitions: Iterable[int], spec: OffsetSpec, **options: IsolationLevel
    ) -> dict[int, int]:
        specs = {(topic, number): spec for number in partitions}
        with self._doing(f"asking for offsets of {topic}"):
            answers = answered_offsets(lambda: self._offsets(specs, **options))
            return {number: offset for (_, number), offset in answers.items()}

    def offsets_at(self, times: Mapping[Partition, int]) -> dict[Partition, int]:
        """Return partition -> the first offset with a record of this time (epoch ms) or later; -1 if there is none.

        Partitions that have no leader, do not exist, or may not be described are missing.
        """
        futures = self._offsets({partition: OffsetSpec.for_timestamp(at_ms) for partition, at_ms in times.items()})
        return self._answered(futures, answered_offset, "asking for offsets by time")

    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the end offsets of partitions of any topics, in one call; partitions without a leader are missing."""
        futures = self._offsets(dict.fromkeys(partitions, _LATEST))
        return self._answered(futures, answered_offset, "asking for the end offsets of partitions")

    def committed(self, groups: Iterable[str]) -> dict[str, dict[Partition, int]]:
        """Return group -> committed offsets outside open transactions, without groups whose coordinator failed."""
        answers = self._describer.committed(list(groups))
        return self._answered(answers, Future.result, "asking for committed offsets")

    def _offsets(
        self, specs: Mapping[Partition, OffsetSpec], **options: IsolationLevel
    ) -> dict[Partition, Future[Any]]:
        asked = {TopicPartition(*partition): spec for partition, spec in specs.items()}
        futures = self._ask(self._admin.list_offsets, asked, **options) if asked else {}
        return {(partition.topic, partition.partition): future for partition, future in futures.items()}

    def topic_setting(self, topic: str, name: str) -> str | None:
        """Return the effective value of a topic's setting; None if brokers do not have it. Errors: see `settings`."""
        return self.settings("topic", topic).get(name)

    def settings(self, kind: str, name: str) -> dict[str, str]:
        """Return the effective settings with a value, of the ``topic``, ``broker`` or ``group`` (``kind``) ``name``.

        Raises: AccessDeniedError: this principal has no DescribeConfigs permission on it. ClusterError: the cluster
        does not answer, or has no such topic or broker.
        """
        resource = ConfigResource(kind, name)
        future = self._ask(self._admin.describe_configs, [resource])[resource]
        with self._doing(f"reading the settings of {name}"):
            return {key: str(entry.value) for key, entry in future.result().items() if entry.value is not None}

    def leader(self, topic: str, partition: int) -> int:
        """Return the id of the broker that leads a partition; -1 if there is none."""
        with self._doing("reading metadata"):
            known = self._admin.list_topics(topic, timeout=ANSWER_TIMEOUT_S).topics[topic].partitions.get(partition)
        return -1 if known is None else int(known.leader)

    def create_topic(self, name: str, partitions: int, config: Mapping[str, str]) -> bool:
        """Create a topic with the brokers' default replication; return False if it already exists."""
        topic = NewTopic(name, num_partitions=partitions, replication_factor=-1, config=dict(config))
        future = self._ask(self._admin.create_topics, [topic])[name]
        try:
            future.result()
        except KafkaException as error:
            code = error.args[0].code()
            if code == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            # Brokers deny creation even if the topic exists, which is all that is needed.
            if code in DENIED and self.access.topics([name])[name].existence is Existence.THERE:
                return False
            self._fail(error, f"creating topic {name}")
        return True

    def lost(self) -> bool:
        """Return whether all connections went down since the last call. It sends no request."""
        self._admin.poll(0)
        return self._errors.lost()

    def _answered(
        self, futures: Mapping[_Key, Future[Any]], read: Callable[[Future[Any]], _Value], doing: str
    ) -> dict[_Key, _Value]:
        """Return the results of ``read`` for the answers that are not errors; raise an error if all are errors."""
        values: dict[_Key, _Value] = {}
        failure = None
        for key, future in futures.items():
            try:
                values[key] = read(future)
            except KafkaException as error:
                failure = error
        if failure is not None and not values:
            self._fail(failure, doing)
        self._errors.answered()
        return values

    @contextlib.contextmanager
    def _doing(self, what: str) -> Iterator[None]:
        """Raise the client's errors as errors of this package."""
        try:
            yield
        except KafkaException as error:
            self._fail(error, what)
        self._errors.answered()

    def _fail(self, error: KafkaException | KafkaError, doing: str) -> NoReturn:
        # "Timed out" alone does not help: only the error callback gets the connections' own errors.
        cause = error.args[0] if isinstance(error, KafkaException) else error
        unanswered = cause.code() in NO_ANSWER
        if not unanswered:
            self._errors.answered()
        self._admin.poll(0)
        text = self._errors.text
        if text and unanswered:
            raise ClusterError(f"{doing}: {text}") from None
        raise_cluster_error(error, f"{doing} ({text})" if text else doing)


def _id_text(topic_id: object) -> str:
    """Return a topic id as Kafka prints it: in the URL-safe alphabet of base64, which librdkafka does not use."""
    return str(topic_id).replace("+", "-").replace("/", "_")
