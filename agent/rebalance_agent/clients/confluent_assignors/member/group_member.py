"""The group member: kafka-python's consumer, which joins, sends heartbeats, assigns and commits, but never fetches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import kafka
from kafka.admin import KafkaAdminClient
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.net.wakeup_notifier import WakeupNotifier

from rebalance_agent.clients.confluent_assignors.member.poll_interval import PollInterval
from rebalance_agent.clients.confluent_assignors.member.thread_handover import Abandoned, Task, ThreadHandover
from rebalance_agent.clients.confluent_assignors.rebalancing import Rebalancing
from rebalance_agent.clients.kafka_python import KafkaConsumer
from rebalance_agent.instrumentation.consumer_progress import Offsets, Partition
from rebalance_agent.instrumentation.rebalance_listener import RebalanceListener

__all__ = ["MemberConsumer"]

_CHECK_SECONDS = 1.0
"""Interval (seconds) at which a waiting callback checks whether the application still polls."""


class MemberConsumer(KafkaConsumer):
    """A consumer whose rebalance callbacks run, and are timed, on the application's thread."""

    def __init__(
        self,
        callbacks: Rebalancing,
        handover: ThreadHandover,
        poll_interval: PollInterval,
        *,
        cooperative: bool,
        **configs: Any,  # noqa: ANN401
    ) -> None:
        """Connect to the cluster; this blocks.

        Args:
            callbacks: rebalance listener whose methods run on the application's thread.
            handover: passes them to that thread.
            poll_interval: detects whether the application still polls.
            cooperative: whether the strategies are cooperative.
            configs: as `KafkaConsumer`.

        """
        self._callbacks = callbacks
        try:
            super().__init__(**configs)
        except BaseException:
            # kafka-python leaves its thread and connections open; this may be retried many times.
            if client := getattr(self, "_client", None):
                client.close()
            raise
        # Its methods are to be called on the application's thread.
        self.timed = self._instrumentation.listener(callbacks, cooperative=cooperative)
        self._listener = _Listener(self, self.timed, handover, poll_interval, WakeupNotifier(self._net))

    @property
    def joined(self) -> bool:
        """Whether the member is in a generation."""
        return bool(self._membership().joined)

    def list_topics(self) -> Iterable[str]:
        """Yield the cluster's topics without internal ones.

        Raises:
            ClusterError: the cluster does not answer.
        """
        return self._admin_thread.ask(_visible_topics)

    def follow(self, topics: Sequence[str]) -> None:
        """Subscribe to ``topics`` instead of the previous ones."""
        # `KafkaConsumer.subscribe` would time the wait for the application as well, not its callback only.
        kafka.KafkaConsumer.subscribe(self, topics=topics, listener=self._listener)

    def _positions(self, partitions: Collection[Partition]) -> Offsets:
        # The member reads no records; the application's positions are those of the data consumer.
        return self._callbacks.positions(partitions)

    def leave(self) -> None:
        """Leave the group without a callback; a static member stays in it until its session times out (KIP-345)."""
        with self._instrumentation.leaving():
            kafka.KafkaConsumer.unsubscribe(self)

    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        """Like `KafkaConsumer.close`, without callbacks: the application has already released its partitions."""
        self._listener.muted = True
        super().close(autocommit=autocommit, timeout_ms=timeout_ms)


def _visible_topics(admin: KafkaAdminClient) -> list[str]:
    return [topic["name"] for topic in admin.describe_topics() if not topic["is_internal"]]


@dataclass(eq=False)
class _Listener(AsyncConsumerRebalanceListener):  # type: ignore[misc] # kafka-python is untyped
    """Rebalance listener on kafka-python's I/O loop, which sends heartbeats while it waits for the application."""

    member: MemberConsumer
    timed: RebalanceListener
    handover: ThreadHandover
    poll_interval: PollInterval
    wakeup: WakeupNotifier
    muted: bool = False

    async def on_partitions_revoked(self, revoked: Iterable[kafka.TopicPartition]) -> None:
        if revoked and not self.muted:
            await self._on_application_thread(partial(self.timed.on_partitions_revoked, frozenset(revoked)))

    async def on_partitions_assigned(self, assigned: Iterable[kafka.TopicPartition]) -> None:
        # Pause them and set a position, so that kafka-python requests neither records nor offsets.
        self.member.pause(*assigned)
        for partition in assigned:
            self.member.seek(partition, 0)
        await self._on_application_thread(partial(self.timed.on_partitions_assigned, frozenset(assigned)))

    async def on_partitions_lost(self, lost: Iterable[kafka.TopicPartition]) -> None:
        if not self.muted:
            await self._on_application_thread(partial(self.timed.on_partitions_lost, frozenset(lost)))

    async def _on_application_thread(self, run: Callable[[], object]) -> None:
        task = Task(run, self.wakeup.notify)
        self.handover.offer(task)
        while not task.done:
            if self.poll_interval.exceeded and self.handover.withdraw(task):
                raise Abandoned
            await self.wakeup(min(_CHECK_SECONDS, max(self.poll_interval.remaining_seconds, 0.001)))
