"""Reads this principal's permissions from the brokers without changing anything (authorized operations, KIP-430).

To find out whether this principal may describe every topic or group, the module queries a name that does not exist:
brokers answer "not authorized" to a principal with permissions on only some names, and "no such group" to a principal
with permissions on all names.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic  # type: ignore[attr-defined]

from rebalance_agent.cluster.admin_answers import AdminAnswers
from rebalance_agent.cluster.describing.isolated_describer import IsolatedDescriber
from rebalance_agent.errors import ClusterError

__all__ = ["DENIED", "AccessCheck", "Existence", "Operations", "TopicAccess"]

DENIED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)
"""Error codes with which a cluster denies an operation to this principal."""

Operations = frozenset[str] | None
"""Allowed operations, as Kafka's names in lower case (``read``, ``describe``); None if brokers do not return them."""


class Existence(Enum):
    """Whether a topic or group exists, as far as this principal may describe it."""

    THERE = "there"
    ABSENT = "absent"
    HIDDEN = "hidden"
    """No operation on this name is allowed, whether or not it exists."""


@dataclass(frozen=True, slots=True)
class TopicAccess:
    """Whether a topic exists and, if so, the allowed ``operations``."""

    existence: Existence
    operations: Operations = None


class AccessCheck:
    """Asks brokers for this principal's permissions. Calls end within ``timeout`` seconds or raise `ClusterError`."""

    def __init__(self, admin: AdminClient, describer: IsolatedDescriber, timeout: float) -> None:
        """Set the clients; requests are sent later, with ``admin`` and ``describer``."""
        self._admin = admin
        self._describer = describer
        self._ask = AdminAnswers(timeout)

    def topics(self, names: Iterable[str]) -> Mapping[str, TopicAccess]:
        """Return topic name -> whether the topic exists, and the allowed operations."""
        topics = sorted(set(names))
        if not topics:
            return {}
        futures = self._ask(self._admin.describe_topics, TopicCollection(topics), include_authorized_operations=True)
        access = {}
        for topic in topics:
            try:
                access[topic] = TopicAccess(Existence.THERE, _operations(futures[topic].result()))
            except KafkaException as error:
                access[topic] = TopicAccess(_existence(error, f"describing topic {topic}"))
        return access

    def sees_every_topic(self) -> bool:
        """Whether topics of any name may be described."""
        name = _no_such_name()
        return self.topics([name])[name].existence is not Existence.HIDDEN

    def sees_every_group(self) -> bool:
        """Whether groups of any name may be described, and so are listed."""
        return self.group(_no_such_name()) is not Existence.HIDDEN

    def reads_settings_of_every_group(self) -> bool | None:
        """Whether settings of groups of any name may be read; None if these brokers have none."""
        resource = ConfigResource("group", _no_such_name())
        future = self._ask(self._admin.describe_configs, [resource])[resource]
        try:
            future.result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.INVALID_REQUEST:
                return None
            return _existence(error, "reading the settings of a group") is not Existence.HIDDEN
        return True

    def group(self, name: str) -> Operations | Existence:
        """Return the allowed operations on a group, existing or not; `Existence.HIDDEN` if describing it is denied."""
        future = self._describer([name], operations=True)[name]
        try:
            return future.result().operations
        except KafkaException as error:
            hidden = _existence(error, f"describing group {name}") is Existence.HIDDEN
            return Existence.HIDDEN if hidden else None

    def may_create(self, topic: str, partitions: int) -> bool:
        """Whether the topic exists or may be created; brokers validate the request and do not carry it out."""
        new = NewTopic(topic, num_partitions=partitions, replication_factor=-1)
        future = self._ask(self._admin.create_topics, [new], validate_only=True)[topic]
        try:
            future.result()
        except KafkaException as error:
            return _existence(error, f"asking whether topic {topic} may be created") is Existence.THERE
        return True


def _operations(answer: Any) -> Operations:  # noqa: ANN401 - one of several descriptions of the client
    operations = answer.authorized_operations
    return None if operations is None else frozenset(operation.name.lower() for operation in operations)


def _no_such_name() -> str:
    # Without the agent's name as prefix, since permissions may be granted for that prefix.
    return f"{uuid.uuid4().hex}-asked-by-rebalance-agent"


_EXISTENCE = {
    **dict.fromkeys(DENIED, Existence.HIDDEN),
    KafkaError.UNKNOWN_TOPIC_OR_PART: Existence.ABSENT,
    KafkaError.GROUP_ID_NOT_FOUND: Existence.ABSENT,
    KafkaError.TOPIC_ALREADY_EXISTS: Existence.THERE,
}


def _existence(error: KafkaException, doing: str) -> Existence:
    cause = error.args[0]
    if cause.code() not in _EXISTENCE:
        raise ClusterError(f"{doing}: {cause.str()}") from None
    return _EXISTENCE[cause.code()]
