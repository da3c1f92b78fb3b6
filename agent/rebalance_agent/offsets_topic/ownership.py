"""Which partitions of the offsets topic, and so which groups, this observer speaks for.

Observers that share a group id share the partitions as members of that group, like the instances of any consumer. They
are members only: what they are assigned stays paused and nothing is ever committed; `OffsetsTail` reads, by hand, what
its observer owns. So a slow tail costs no membership, and a rebalance of the observers no reading of what they keep.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, TopicPartition

from rebalance_agent.cluster.acls import allow_command, principal_of
from rebalance_agent.cluster.admin_client import raise_cluster_error
from rebalance_agent.cluster.worker import Worker
from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from rebalance_agent.health import Health

__all__ = ["OWNERSHIP_PART", "FullOwnership", "Ownership", "SharedOwnership"]

OWNERSHIP_PART = "ownership"
"""Its name in readiness."""

CLASSIC_TUNING = {
    # One partition less or more moves that one partition; all others are read on.
    "partition.assignment.strategy": "cooperative-sticky",
    # How long the groups of a dead replica go unseen, at most; what they did meanwhile is read afterwards.
    "session.timeout.ms": "10000",
    "heartbeat.interval.ms": "2000",
}
"""Under ``group.protocol=consumer`` (KIP-848) brokers decide all of this, and clients must not."""

POLL_S = 0.1
ABSENT_WAIT_S = 0.5

HANDOVER_S = 3.0
"""Longest wait with partitions that go to another replica for their first snapshot. Far below any session timeout."""

HANDOVER_LOOK_S = 0.05


class Ownership(Protocol):
    """What either kind is told and asked. From any thread."""

    def on_partition_count(self, partitions: int) -> None:
        """The topic has so many partitions; 0: there is none yet."""
        ...

    def topic_denied(self, *, yes: bool) -> None:
        """Whether the topic may not be read: then there is nothing to share, and every group is described."""
        ...

    def partitions(self) -> frozenset[int] | None:
        """The partitions that are this observer's now; None while nobody knows."""
        ...

    def owns(self, group: str) -> bool:
        """Whether this observer speaks for the group."""
        ...


class FullOwnership:
    """One observer for all groups: the default."""

    def __init__(self) -> None:
        """Begin knowing of no partition."""
        self._count: int | None = None

    def on_partition_count(self, partitions: int) -> None:
        """The topic has so many partitions; 0: there is none yet."""
        self._count = partitions

    def topic_denied(self, *, yes: bool) -> None:
        """Nothing changes: it is alone."""

    def partitions(self) -> frozenset[int] | None:
        """All of them."""
        return None if self._count is None else frozenset(range(self._count))

    def owns(self, _group: str) -> bool:
        """Yes."""
        return True


class SharedOwnership:
    """The observer's share among those of the same ``group_id``.

    Before it is told its share it owns nothing.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        topic: str,
        group_id: str,
        health: Health,
        stored: Callable[[Collection[int]], bool] = lambda _partitions: True,
    ) -> None:
        """``topic`` is shared; nothing is joined before ``worker`` starts.

        ``stored``: whether there is a snapshot of each of these partitions, or will be none.
        """
        self._properties = properties
        self._topic = topic
        self._group_id = group_id
        self._health = health
        self._stored = stored
        self._count = 0
        self._owned: frozenset[int] | None = None
        self._topic_denied = False
        self.worker = Worker(OWNERSHIP_PART, self._follow, health)

    def on_partition_count(self, partitions: int) -> None:
        """The topic has so many partitions; 0: there is none yet."""
        self._count = partitions

    def topic_denied(self, *, yes: bool) -> None:
        """Whether the topic may not be read: then it speaks for every group, as an observer that shares nothing."""
        self._topic_denied = yes

    def partitions(self) -> frozenset[int] | None:
        """The share; None before the first assignment."""
        return self._owned

    def owns(self, group: str) -> bool:
        """Whether the group's partition is in the share."""
        if self._topic_denied:
            return True
        owned, count = self._owned, self._count
        return bool(owned and count) and offsets_partition(group, count) in (owned or ())

    def _follow(self, stop: threading.Event) -> None:
        # Subscribed to a topic that is not there, librdkafka would look for it again only after minutes.
        while not self._count:
            self._health.ready(OWNERSHIP_PART)
            if stop.wait(ABSENT_WAIT_S):
                return
        self._health.unready(OWNERSHIP_PART, "joining the other replicas")
        classic = self._properties.get("group.protocol", "classic").lower() == "classic"
        settings = {
            **(CLASSIC_TUNING if classic else {}),
            **self._properties,
            "group.id": self._group_id,
            "enable.auto.commit": "false",
            "enable.auto.offset.store": "false",
            "auto.offset.reset": "latest",
        }
        try:
            consumer = Consumer(settings)
        except KafkaException as error:  # properties that do not go together
            raise_cluster_error(error, f"sharing {self._topic} in group {self._group_id}")
        try:
            consumer.subscribe([self._topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)
            while not stop.is_set():
                if (message := consumer.poll(POLL_S)) is not None and (trouble := message.error()) is not None:
                    self._check(trouble)
        except KafkaException as error:
            raise_cluster_error(error, f"sharing {self._topic} in group {self._group_id}")
        finally:
            self._owned = frozenset()
            consumer.close()

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # From the end, and paused: not a record is fetched for a membership.
        consumer.incremental_assign([TopicPartition(each.topic, each.partition, OFFSET_END) for each in partitions])
        consumer.pause(partitions)
        self._owned = (self._owned or frozenset()) | {each.partition for each in partitions}
        self._health.ready(OWNERSHIP_PART)
        self.worker.working()

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        numbers, pause = [each.partition for each in partitions], threading.Event()
        # Who takes them over tells what came after their snapshots. Without any, all that was before is past to it.
        for _ in range(round(HANDOVER_S / HANDOVER_LOOK_S)):
            if not self._owned or self._stored(numbers):
                break
            pause.wait(HANDOVER_LOOK_S)
        self._lost(consumer, partitions)

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._owned = (self._owned or frozenset()) - {each.partition for each in partitions}
        consumer.incremental_unassign(partitions)

    def _check(self, error: KafkaError) -> None:
        try:
            raise_cluster_error(error, f"sharing {self._topic} in group {self._group_id}")
        except AccessDeniedError as denied:
            if error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
                raise
            principal, servers = principal_of(self._properties), self._properties.get("bootstrap.servers", "")
            command = allow_command("Read", "Group", self._group_id, principal, servers)
            raise AccessDeniedError(f"{denied}; allow it: {command}") from None
        except ClusterError:
            # librdkafka goes on by itself, unless it says that it cannot.
            if error.fatal():
                raise
