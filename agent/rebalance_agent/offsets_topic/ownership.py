"""Decides on which partitions of the offsets topic, and so on which groups, this observer reports.

Observers with the same group id share the partitions as members of that group, like the instances of any consumer. They
use the group only for the assignment: assigned partitions stay paused and nothing is committed; `OffsetsTail` reads the
owned partitions by manual assignment. So a slow tail does not lose its membership, and a rebalance of the observers
does not interrupt the reading of kept partitions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, TopicPartition

from rebalance_agent.cluster.acls import allow_command, principal_of
from rebalance_agent.cluster.admin_client import raise_cluster_error
from rebalance_agent.cluster.tokens.token_login import with_token_callback
from rebalance_agent.cluster.worker import Worker
from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC, offsets_partition
from rebalance_agent.health import Health

__all__ = ["OWNERSHIP_PART", "Ownership", "SharedOwnership"]

OWNERSHIP_PART = "ownership"
"""The part's name in readiness."""

CLASSIC_TUNING = {
    # Only partitions that change their owner move; the others are read without a pause.
    "partition.assignment.strategy": "cooperative-sticky",
    # Longest time (ms) in which no replica reads the partitions of a failed one; their records are read later.
    "session.timeout.ms": "10000",
    "heartbeat.interval.ms": "2000",
}
"""librdkafka settings of the classic protocol; under ``group.protocol=consumer`` (KIP-848) brokers decide these."""

POLL_S = 0.5
"""Seconds that one poll of the group's consumer takes, and the delay after which a stop is detected."""

ABSENT_WAIT_S = 0.5
"""Seconds between checks for a topic that does not exist yet."""


HANDOVER_S = 3.0
"""Longest time (seconds) for which a revocation waits for the partitions' first snapshot; far below any session
timeout."""

HANDOVER_LOOK_S = 0.05
"""Seconds between checks for these snapshots."""


class Ownership:
    """The share of the offsets topic that one observer owns: all partitions, unless it shares them.

    Methods may be called from any thread.
    """

    def __init__(self) -> None:
        """Start with an unknown number of partitions."""
        self._count: int | None = None

    def on_partition_count(self, partitions: int) -> None:
        """Set the topic's number of partitions; 0 if the topic does not exist yet."""
        self._count = partitions

    def topic_denied(self, *, yes: bool) -> None:
        """Set whether reading the topic is denied (``yes``): then no work is shared, and every group is described."""

    def partitions(self) -> frozenset[int] | None:
        """Return the partitions that this observer owns now; None while they are unknown."""
        return None if self._count is None else frozenset(range(self._count))

    def owns(self, _group: str) -> bool:
        """Whether this observer reports on the group."""
        return True


@dataclass(eq=False)
class SharedOwnership(Ownership):
    """The share of one of several observers with the same ``group_id``; empty before the first assignment.

    The group is joined when ``worker`` starts. ``stored``: returns whether each of the partitions has a snapshot, or
    never gets a snapshot.
    """

    properties: Mapping[str, str]
    group_id: str
    health: Health
    stored: Callable[[Collection[int]], bool] = lambda _partitions: True

    def __post_init__(self) -> None:
        """Start without an assignment."""
        super().__init__()
        self._owned: frozenset[int] | None = None
        self._topic_denied = False
        self.worker = Worker(OWNERSHIP_PART, self._follow, self.health)

    def topic_denied(self, *, yes: bool) -> None:
        """Set whether reading the topic is denied (``yes``): then this observer reports on every group."""
        self._topic_denied = yes

    def partitions(self) -> frozenset[int] | None:
        """Return the assigned partitions; None before the first assignment."""
        return self._owned

    def owns(self, group: str) -> bool:
        """Whether the group's partition is in the share."""
        owned, count = self._owned, self._count
        return self._topic_denied or bool(owned and count and offsets_partition(group, count) in owned)

    def _follow(self, stop: threading.Event) -> None:
        # librdkafka checks for a missing subscribed topic again only after minutes.
        while not self._count:
            self.health.ready(OWNERSHIP_PART)
            if stop.wait(ABSENT_WAIT_S):
                return
        self.health.busy(OWNERSHIP_PART, "joining the other replicas")
        classic = self.properties.get("group.protocol", "classic").lower() == "classic"
        settings = {
            **(CLASSIC_TUNING if classic else {}),
            **with_token_callback(self.properties),
            "group.id": self.group_id,
            "enable.auto.commit": "false",
            "enable.auto.offset.store": "false",
            "auto.offset.reset": "latest",
        }
        try:
            consumer = Consumer(settings)
        except KafkaException as error:  # incompatible properties
            raise_cluster_error(error, f"sharing {OFFSETS_TOPIC} in group {self.group_id}")
        try:
            consumer.subscribe([OFFSETS_TOPIC], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)
            while not stop.is_set():
                if (message := consumer.poll(POLL_S)) is not None and (problem := message.error()) is not None:
                    self._check(problem)
        except KafkaException as error:
            raise_cluster_error(error, f"sharing {OFFSETS_TOPIC} in group {self.group_id}")
        finally:
            self._owned = frozenset()
            consumer.close()

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # Assign them at their end and paused, so that no records are fetched.
        consumer.incremental_assign([TopicPartition(pair.topic, pair.partition, OFFSET_END) for pair in partitions])
        consumer.pause(partitions)
        self._owned = (self._owned or frozenset()) | {pair.partition for pair in partitions}
        self.health.ready(OWNERSHIP_PART)
        self.worker.working()

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        numbers, pause = [pair.partition for pair in partitions], threading.Event()
        # The next owner reports what follows the snapshots. Without a snapshot, it reports nothing from before its
        # start.
        for _ in range(round(HANDOVER_S / HANDOVER_LOOK_S)):
            if not self._owned or self.stored(numbers):
                break
            pause.wait(HANDOVER_LOOK_S)
        self._lost(consumer, partitions)

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._owned = (self._owned or frozenset()) - {pair.partition for pair in partitions}
        consumer.incremental_unassign(partitions)

    def _check(self, error: KafkaError) -> None:
        try:
            raise_cluster_error(error, f"sharing {OFFSETS_TOPIC} in group {self.group_id}")
        except AccessDeniedError as denied:
            if error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
                raise
            principal, servers = principal_of(self.properties), self.properties.get("bootstrap.servers", "")
            command = allow_command("Read", "Group", self.group_id, principal, servers)
            raise AccessDeniedError(f"{denied}; allow it: {command}") from None
        except ClusterError:
            # librdkafka recovers by itself unless the error is fatal.
            if error.fatal():
                raise
