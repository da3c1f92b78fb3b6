"""kafka-python's consumer, with its rebalances reported and the strategies of ``assignors`` by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import kafka
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener, ConsumerRebalanceListener
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor

from rebalance_agent.assignors import Strategy, strategy
from rebalance_agent.clients.kafka_python.assignor import StrategyAssignor
from rebalance_agent.clients.kafka_python.joining import finish_joins
from rebalance_agent.clients.kafka_python.subscriptions import read_tolerantly
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.errors import AssignmentError, InvalidInputError
from rebalance_agent.instrumentation import Instrumentation, Membership
from rebalance_agent.instrumentation.assignor import InstrumentedAssignor
from rebalance_agent.instrumentation.listener import AsyncRebalanceListener, RebalanceListener
from rebalance_agent.model.partitions import TopicPartitions, topic_partitions

__all__ = ["DEFAULT_STRATEGIES", "KafkaConsumer"]

DEFAULT_STRATEGIES = ("range", "roundrobin")
"""kafka-python's own defaults, by the same names and to the same effect, without what goes wrong in them."""

# kafka-python asks for its own classes; these have their methods.
ConsumerRebalanceListener.register(RebalanceListener)
AsyncConsumerRebalanceListener.register(AsyncRebalanceListener)
AbstractPartitionAssignor.register(InstrumentedAssignor)


class KafkaConsumer(kafka.KafkaConsumer):  # type: ignore[misc] # kafka-python is untyped
    """``kafka.KafkaConsumer`` in everything, with two things more.

    - ``partition_assignment_strategy`` may be or contain names of our strategies, configured by ``assignor_config``;
    - what happens to it in rebalances goes to the sidecar. That never delays it and never raises into it.
    """

    def __init__(
        self,
        *topics: str,
        listener: Any | None = None,  # noqa: ANN401 - kafka-python's listeners, sync or async
        assignor_config: Mapping[str, str | int] | None = None,
        events_url: str | None = None,
        events_token: str | None = None,
        clock: Clock | None = None,
        **configs: Any,  # noqa: ANN401
    ) -> None:
        """As ``kafka.KafkaConsumer(*topics, **configs)``.

        Args:
            topics: to subscribe to; or `subscribe` later, by list or pattern.
            listener: rebalance listener for ``topics``.
            assignor_config: settings of the strategies, such as ``{"assignment.consumer.weight": 900}``.
            events_url: the sidecar's; see `Instrumentation`.
            events_token: bearer token for it.
            clock: for the times in the events.
            configs: kafka-python's.

        Raises:
            AssignmentError: a strategy or setting that there is not, or a value out of bounds.
            InvalidInputError: a listener without topics.

        """
        if listener is not None and not topics:
            raise InvalidInputError("listener", "goes with topics; without them, give it to subscribe()")
        group = configs.get("group_id")
        self._clock = clock or SystemClock()
        self._instrumentation = Instrumentation(
            group=group or "",
            client_id=configs.get("client_id", self.DEFAULT_CONFIG["client_id"]),
            membership=self._membership,
            clock=self._clock,
            # Without a group there are no rebalances to tell of.
            events_url=events_url if group else "",
            events_token=events_token,
        )
        chosen = _assignors(
            configs.get("partition_assignment_strategy", DEFAULT_STRATEGIES),
            {name: str(value) for name, value in (assignor_config or {}).items()},
            lambda chosen, config: StrategyAssignor(
                chosen, config, self._ownership, group=group or "", rack=configs.get("client_rack") or None
            ),
        )
        configs["partition_assignment_strategy"] = [self._instrumentation.assignor(each) for each in chosen]
        super().__init__(**configs)
        read_tolerantly(self._coordinator)
        finish_joins(self._coordinator)
        if topics:
            self.subscribe(topics, listener=listener)

    def subscribe(
        self,
        topics: Sequence[str] = (),
        pattern: str | None = None,
        listener: Any | None = None,  # noqa: ANN401
    ) -> None:
        """As ``kafka.KafkaConsumer.subscribe``; the listener is timed."""
        if listener is None or isinstance(listener, ConsumerRebalanceListener | AsyncConsumerRebalanceListener):
            listener = self._instrumentation.listener(listener)  # kafka-python refuses anything else itself
        super().subscribe(topics=topics, pattern=pattern, listener=listener)

    def unsubscribe(self) -> None:
        """As ``kafka.KafkaConsumer.unsubscribe``: the group is left without a callback."""
        with self._instrumentation.leaving(self.assignment() or ()):
            super().unsubscribe()

    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        """As ``kafka.KafkaConsumer.close``."""
        with self._instrumentation.leaving():
            super().close(autocommit=autocommit, timeout_ms=timeout_ms)

    def _membership(self) -> Membership:
        now = self.group_metadata()
        return Membership(now.generation_id, now.member_id, now.group_instance_id, self._cluster.cluster_id or "")

    def _ownership(self) -> tuple[TopicPartitions, int]:
        return topic_partitions(self.assignment()), self.group_metadata().generation_id


def _assignors(
    wanted: Any,  # noqa: ANN401 - what kafka-python takes, and names
    config: Mapping[str, str],
    ours: Callable[[Strategy, Mapping[str, str]], StrategyAssignor],
) -> list[Any]:
    """An instance for every entry of ``partition_assignment_strategy``."""
    entries = [wanted] if isinstance(wanted, str) else list(wanted)
    strategies = {name: strategy(name) for name in entries if isinstance(name, str)}
    known = {setting.name for each in strategies.values() for setting in each.config}
    if unknown := sorted(config.keys() - known):
        raise AssignmentError(f"assignor_config: {unknown[0]!r} is no setting of {', '.join(strategies) or 'these'}")
    return [
        ours(strategies[entry], config)
        if isinstance(entry, str)
        else entry
        if isinstance(entry, AbstractPartitionAssignor)
        else entry()
        for entry in entries
    ]
