"""The member: kafka-python's consumer, which joins, sends heartbeats, assigns and commits, and fetches nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
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
from rebalance_agent.instrumentation.rebalance_listener import Partitions, RebalanceListener

__all__ = ["MemberConsumer"]

_LOOK_SECONDS = 1.0
"""How often who waits for the application looks whether it still polls: its poll may have ended since."""


class MemberConsumer(KafkaConsumer):
    """A consumer whose rebalance callbacks run on another thread, and are reported as they run there."""

    def __init__(
        self,
        callbacks: Rebalancing,
        handover: ThreadHandover,
        watch: PollInterval,
        *,
        cooperative: bool,
        **configs: Any,  # noqa: ANN401
    ) -> None:
        """Connect, which takes a moment.

        Args:
            callbacks: what to do on the application's thread, as a rebalance listener.
            handover: the way there.
            watch: whether the application still polls.
            cooperative: the protocol of the strategies.
            configs: as `KafkaConsumer`.

        """
        self._callbacks = callbacks
        try:
            super().__init__(**configs)
        except BaseException:
            # kafka-python leaves its thread and connections behind; there may be many more attempts.
            if client := getattr(self, "_client", None):
                client.close()
            raise
        timed = self._instrumentation.listener(callbacks, cooperative=cooperative)
        self._listener = _Listener(self, timed, handover, watch, WakeupNotifier(self._net))

    @property
    def lost_callback(self) -> Callable[[Partitions], object]:
        """What to call on the application's thread with partitions that were lost while this member was away."""
        return self._listener.timed.on_partitions_lost

    @property
    def revoked_callback(self) -> Callable[[Partitions], object]:
        """What to call on the application's thread with partitions that it gives up itself."""
        return self._listener.timed.on_partitions_revoked

    @property
    def joined(self) -> bool:
        """Whether the member is in a generation."""
        return bool(self._membership().joined)

    def known_topics(self) -> Iterable[str]:
        """The cluster's topics, internal ones left out.

        Raises:
            ClusterError: it does not answer.
        """
        return self._aside.ask(_visible_topics)

    def follow(self, topics: Sequence[str]) -> None:
        """Subscribe to exactly ``topics``."""
        # Not by our own class's `subscribe`: that would time the wait for the application, and not its callback.
        kafka.KafkaConsumer.subscribe(self, topics=topics, listener=self._listener)

    def _positions(self, partitions: Collection[Partition]) -> Offsets:
        # What it reads itself is nothing: the application's records come by another consumer.
        return self._callbacks.positions(partitions)

    def leave(self) -> None:
        """Leave the group without a callback; a static member stays in it until its session times out (KIP-345)."""
        with self._instrumentation.leaving():
            kafka.KafkaConsumer.unsubscribe(self)

    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        """As `KafkaConsumer.close`, without a callback: what the application owned it has given up already."""
        self._listener.muted = True
        super().close(autocommit=autocommit, timeout_ms=timeout_ms)


def _visible_topics(admin: KafkaAdminClient) -> list[str]:
    return [each["name"] for each in admin.describe_topics() if not each["is_internal"]]


class _Listener(AsyncConsumerRebalanceListener):  # type: ignore[misc] # kafka-python is untyped
    """Runs on kafka-python's IO loop, which goes on sending heartbeats while the application is waited for."""

    def __init__(
        self,
        member: MemberConsumer,
        timed: RebalanceListener,
        handover: ThreadHandover,
        watch: PollInterval,
        wakeup: WakeupNotifier,
    ) -> None:
        self.timed = timed
        self.muted = False
        self._member = member
        self._handover = handover
        self._watch = watch
        self._wakeup = wakeup

    async def on_partitions_revoked(self, revoked: Iterable[kafka.TopicPartition]) -> None:
        if revoked and not self.muted:
            await self._on_application_thread(partial(self.timed.on_partitions_revoked, frozenset(revoked)))

    async def on_partitions_assigned(self, assigned: Iterable[kafka.TopicPartition]) -> None:
        # Neither fetched here nor positioned: that spares the brokers requests for offsets nobody wants.
        self._member.pause(*assigned)
        for partition in assigned:
            self._member.seek(partition, 0)
        await self._on_application_thread(partial(self.timed.on_partitions_assigned, frozenset(assigned)))

    async def on_partitions_lost(self, lost: Iterable[kafka.TopicPartition]) -> None:
        if not self.muted:
            await self._on_application_thread(partial(self.timed.on_partitions_lost, frozenset(lost)))

    async def _on_application_thread(self, run: Callable[[], object]) -> None:
        task = Task(run, self._wakeup.notify)
        self._handover.offer(task)
        while not task.done:
            if self._watch.exceeded and self._handover.withdraw(task):
                raise Abandoned
            await self._wakeup(min(_LOOK_SECONDS, max(self._watch.remaining_seconds, 0.001)))
