"""What this principal may do, asked of the brokers without changing anything: KIP-430's authorized operations.

A name that nothing has tells rights to everything of a kind from rights to some: brokers answer "not authorized" or "no
such group", so that nobody can find out names that are hidden from him.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from rebalance_agent.cluster.admin_answers import AdminAnswers
from rebalance_agent.errors import ClusterError

__all__ = ["DENIED", "AccessCheck", "Existence", "Operations", "TopicAccess"]

DENIED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)
"""Errors that mean: the cluster answers, and this principal may not."""

Operations = frozenset[str] | None
"""Kafka's names in lower case (``read``, ``describe``); None where the brokers do not tell."""


class Existence(Enum):
    """What is known of a topic by its name."""

    THERE = "there"
    ABSENT = "absent"
    HIDDEN = "hidden"
    """Not one operation on it is allowed, whether or not there is one."""


@dataclass(frozen=True, slots=True)
class TopicAccess:
    """``operations`` are only known of topics that are there."""

    existence: Existence
    operations: Operations = None


class AccessCheck:
    """Asks with ``admin``. Every call ends within ``timeout`` seconds or raises `ClusterError`."""

    def __init__(self, admin: AdminClient, timeout: float) -> None:
        """Nothing is asked yet."""
        self._admin = admin
        self._ask = AdminAnswers(timeout)

    def topics(self, names: Iterable[str]) -> Mapping[str, TopicAccess]:
        """Of each topic whether it is there, and what is allowed on it."""
        wanted = sorted(set(names))
        if not wanted:
            return {}
        futures = self._ask(self._admin.describe_topics, TopicCollection(wanted), include_authorized_operations=True)
        found = {}
        for name in wanted:
            try:
                found[name] = TopicAccess(Existence.THERE, _operations(futures[name].result()))
            except KafkaException as error:
                found[name] = TopicAccess(self._absent(error, f"describing topic {name}"))
        return found

    def sees_every_topic(self) -> bool:
        """Whether topics of any name may be described."""
        name = _no_such_name()
        return self.topics([name])[name].existence is not Existence.HIDDEN

    def sees_every_group(self) -> bool:
        """Whether groups of any name may be described, and so are listed."""
        return self.group(_no_such_name()) is not Existence.HIDDEN

    def group(self, name: str) -> Operations | Existence:
        """What is allowed on a group, whether or not it is there; `Existence.HIDDEN`: not even to describe it."""
        future = self._ask(self._admin.describe_consumer_groups, [name], include_authorized_operations=True)[name]
        try:
            answer = future.result()
        except KafkaException as error:
            cause = error.args[0]
            if cause.code() in DENIED:
                return Existence.HIDDEN
            if cause.code() != KafkaError.GROUP_ID_NOT_FOUND:
                raise _failure(cause, f"describing group {name}") from None
            return None
        return _operations(answer)

    def may_create(self, topic: str, partitions: int) -> bool:
        """Whether the topic may be created: the request is checked by the brokers and not carried out."""
        new = NewTopic(topic, num_partitions=partitions, replication_factor=-1)
        future = self._ask(self._admin.create_topics, [new], validate_only=True)[topic]
        try:
            future.result()
        except KafkaException as error:
            code = error.args[0].code()
            if code not in (*DENIED, KafkaError.TOPIC_ALREADY_EXISTS):
                raise _failure(error.args[0], f"asking whether topic {topic} may be created") from None
            return bool(code == KafkaError.TOPIC_ALREADY_EXISTS)
        return True

    @staticmethod
    def _absent(error: KafkaException, doing: str) -> Existence:
        cause = error.args[0]
        if cause.code() in DENIED:
            return Existence.HIDDEN
        if cause.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return Existence.ABSENT
        raise _failure(cause, doing)


def _operations(answer: Any) -> Operations:  # noqa: ANN401 - one of several descriptions of the client
    told = answer.authorized_operations
    return None if told is None else frozenset(each.name.lower() for each in told)


def _no_such_name() -> str:
    # Not beginning like anything of ours, for which there may be rights by prefix.
    return f"{uuid.uuid4().hex}-asked-by-rebalance-agent"


def _failure(error: KafkaError, doing: str) -> ClusterError:
    return ClusterError(f"{doing}: {error.str()}")
