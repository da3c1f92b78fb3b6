"""The methods of kafka-python's consumer that report its rebalances, for new consumers and for existing ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import kafka
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener, ConsumerRebalanceListener
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor

from rebalance_agent.clients.kafka_python.offset_hooks import hook_join_times, hook_leading, hook_offsets
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.instrumentation import Instrumentation, Membership
from rebalance_agent.instrumentation.consumer_progress import FROM_START, Offsets, Partition
from rebalance_agent.instrumentation.instrumented_assignor import InstrumentedAssignor
from rebalance_agent.instrumentation.rebalance_listener import AsyncRebalanceListener, RebalanceListener
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = ["SOFTWARE", "KafkaPythonHooks", "instrument"]

SOFTWARE = ClientSoftware("kafka-python", kafka.__version__)
"""Name and version as kafka-python sends them to brokers."""

# kafka-python checks for instances of its own classes; these have the same methods.
ConsumerRebalanceListener.register(RebalanceListener)
AsyncConsumerRebalanceListener.register(AsyncRebalanceListener)
AbstractPartitionAssignor.register(InstrumentedAssignor)


class KafkaPythonHooks(kafka.KafkaConsumer):  # type: ignore[misc] # kafka-python is untyped
    """``kafka.KafkaConsumer`` that reports to its ``_instrumentation``. It changes nothing else."""

    _instrumentation: Instrumentation

    def subscribe(
        self,
        topics: Sequence[str] = (),
        pattern: str | None = None,
        listener: Any | None = None,  # noqa: ANN401
    ) -> None:
        """Like ``kafka.KafkaConsumer.subscribe``; the listener is timed."""
        if listener is None or isinstance(listener, ConsumerRebalanceListener | AsyncConsumerRebalanceListener):
            listener = self._instrumentation.listener(listener)  # kafka-python refuses any other type
        super().subscribe(topics=topics, pattern=pattern, listener=listener)

    def poll(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - kafka-python's
        """Like ``kafka.KafkaConsumer.poll``."""
        records = super().poll(*arguments, **named)
        if (progress := self._instrumentation.progress) is not None:
            for partition, batch in records.items():
                progress.read(partition, batch[0].offset)
        return records

    def unsubscribe(self) -> None:
        """Like ``kafka.KafkaConsumer.unsubscribe``: the group is left without a callback."""
        with self._instrumentation.leaving(self.assignment() or ()):
            super().unsubscribe()

    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        """Like ``kafka.KafkaConsumer.close``."""
        with self._instrumentation.leaving():
            super().close(autocommit=autocommit, timeout_ms=timeout_ms)

    def _hook_coordinator(self, clock: Clock, *, from_start: bool) -> None:
        if (progress := self._instrumentation.progress) is not None:
            hook_offsets(self._coordinator, progress, from_start=from_start)
            hook_join_times(self._coordinator, self._instrumentation, clock)
            if (leading := self._instrumentation.leading) is not None:
                hook_leading(self._coordinator, leading)

    def _hook_existing(self) -> None:
        """Wrap the assignors and the listener that the consumer has already."""
        assignors = self._coordinator._assignors  # noqa: SLF001 - read by kafka-python at each join
        for name, assignor in assignors.items():
            assignors[name] = self._instrumentation.assignor(assignor)
        subscription = self._subscription
        subscription.rebalance_listener = self._instrumentation.listener(subscription.rebalance_listener)

    def _membership(self) -> Membership:
        metadata = self.group_metadata()
        return Membership(
            metadata.generation_id, metadata.member_id, metadata.group_instance_id, self._cluster.cluster_id or ""
        )

    def _positions(self, partitions: Collection[Partition]) -> Offsets:
        consumed = self._subscription.all_consumed_offsets()
        return {partition: consumed[partition].offset for partition in partitions if partition in consumed}


def instrument(consumer: kafka.KafkaConsumer, clock: Clock | None = None, **reporting: Any) -> Any:  # noqa: ANN401
    """Let ``consumer`` report its rebalances, and return it. ``reporting``: arguments of `Instrumentation`.

    Raises:
        InvalidInputError: it has no group, or has joined it.
    """
    group = consumer.config["group_id"]
    if not group:
        raise InvalidInputError("consumer", "has no group_id, so it has no rebalances")
    if consumer.group_metadata().member_id:
        raise InvalidInputError("consumer", "has joined its group: call instrument() before the first poll()")
    clock = clock or SystemClock()
    kind = type(consumer)
    consumer.__class__ = type(kind.__name__, (KafkaPythonHooks, kind), {})
    consumer._instrumentation = Instrumentation(  # noqa: SLF001
        group=group,
        client_id=consumer.config["client_id"],
        software=SOFTWARE,
        membership=consumer._membership,  # noqa: SLF001
        positions=consumer._positions,  # noqa: SLF001
        clock=clock,
        **reporting,
    )
    consumer._hook_coordinator(clock, from_start=consumer.config["auto_offset_reset"] in FROM_START)  # noqa: SLF001
    consumer._hook_existing()  # noqa: SLF001
    return consumer
