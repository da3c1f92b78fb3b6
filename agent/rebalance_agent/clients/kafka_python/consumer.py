"""kafka-python's consumer, with its rebalances reported and the strategies of ``assignors`` by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import kafka
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener, ConsumerRebalanceListener
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from kafka.errors import InconsistentGroupProtocolError

from rebalance_agent.clients.held_copies import HeldStandbys
from rebalance_agent.clients.kafka_python.admin_thread import AdminThread
from rebalance_agent.clients.kafka_python.assignor import StrategyAssignor
from rebalance_agent.clients.kafka_python.assignor_list import all_cooperative, assignors, strategies
from rebalance_agent.clients.kafka_python.inconsistent_protocol import why_refused
from rebalance_agent.clients.kafka_python.internal_topics import InternalTopics
from rebalance_agent.clients.kafka_python.joining import finish_joins
from rebalance_agent.clients.kafka_python.lags import Lags
from rebalance_agent.clients.kafka_python.offset_hooks import tell_offsets, tell_waits
from rebalance_agent.clients.kafka_python.subscriptions import read_tolerantly
from rebalance_agent.clients.participant import Loads, Participant, settings_of
from rebalance_agent.clients.strategy_entries import entries
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.instrumentation import Instrumentation, Membership
from rebalance_agent.instrumentation.consumer_progress import Offsets, Partition
from rebalance_agent.instrumentation.instrumented_assignor import InstrumentedAssignor
from rebalance_agent.instrumentation.rebalance_listener import AsyncRebalanceListener, RebalanceListener
from rebalance_agent.model.partitions import TopicPartitions, pairs, topic_partitions

__all__ = ["DEFAULT_STRATEGIES", "KafkaConsumer"]

DEFAULT_STRATEGIES = ("range", "roundrobin")
"""kafka-python's own defaults, by the same names and to the same effect, without what goes wrong in them."""

FROM_START = ("earliest", "smallest")
"""Values of ``auto_offset_reset`` by which a group without offsets reads everything; the second is an old name."""

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
        assignor_config: Mapping[str, str | float] | None = None,
        loads: Loads | None = None,
        create_internal_topics: bool = False,
        held_standbys: HeldStandbys | None = None,
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
            loads: what each partition costs, for strategies that balance loads; see `Loads`. By default the group's
                lag. It may ask the cluster by connections of its own, never this consumer. If it raises, partitions
                count alike.
            create_internal_topics: whether the leader creates repartition and changelog topics that a strategy needs
                and that are missing; otherwise `poll` raises ``InternalTopicError`` there.
            held_standbys: which copies the application has, asked before each join; see `HeldStandbys`. It is called on
                kafka-python's thread and never asks this consumer. By default, and if it raises, the copies last
                assigned.
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
        wanted = entries(configs.get("partition_assignment_strategy", DEFAULT_STRATEGIES))
        ours = strategies(wanted)
        group = configs.get("group_id") or ""
        self._clock = clock or SystemClock()
        self._aside = AdminThread(configs)
        self._participant = Participant(
            ours.values(),
            settings_of(ours, assignor_config or {}),
            group=group,
            rack=configs.get("client_rack") or None,
            loads=loads or Lags(self._aside, group, from_start=configs.get("auto_offset_reset") in FROM_START),
            internal_topics=InternalTopics(self._aside),
            create_internal_topics=create_internal_topics,
            held_standbys=held_standbys,
        )
        self._instrumentation = Instrumentation(
            group=group,
            client_id=configs.get("client_id", self.DEFAULT_CONFIG["client_id"]),
            membership=self._membership,
            positions=self._positions if group else None,
            clock=self._clock,
            # Without a group there are no rebalances to tell of.
            events_url=events_url if group else "",
            events_token=events_token,
        )
        chosen = assignors(wanted, lambda each: StrategyAssignor(each, self._participant, self._held))
        self._group = group
        self._offered = [each.name for each in chosen]
        self._cooperative = all_cooperative(chosen)
        configs["partition_assignment_strategy"] = [self._instrumentation.assignor(each) for each in chosen]
        super().__init__(**configs)
        read_tolerantly(self._coordinator)
        finish_joins(self._coordinator)
        if (progress := self._instrumentation.progress) is not None:
            tell_offsets(self._coordinator, progress, from_start=configs.get("auto_offset_reset") in FROM_START)
            tell_waits(self._coordinator, self._instrumentation, self._clock)
        if topics:
            self.subscribe(topics, listener=listener)

    def standbys(self) -> set[kafka.TopicPartition]:
        """The partitions that this consumer is to have a copy of, by the last assignment."""
        return {kafka.TopicPartition(topic, number) for topic, number in pairs(self._participant.standbys)}

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

    def poll(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - kafka-python's
        """As ``kafka.KafkaConsumer.poll``; if the group refuses this member, the error says who offers what."""
        try:
            records = super().poll(*arguments, **named)
        except InconsistentGroupProtocolError as error:
            raise InconsistentGroupProtocolError(why_refused(self._aside, self._group, self._offered)) from error
        if (progress := self._instrumentation.progress) is not None:
            for partition, batch in records.items():
                progress.read(partition, batch[0].offset)
        return records

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

    def _positions(self, partitions: Collection[Partition]) -> Offsets:
        known = self._subscription.all_consumed_offsets()
        return {each: known[each].offset for each in partitions if each in known}

    def _held(self) -> TopicPartitions:
        # Who speaks the eager protocol has given everything back before it joins; who is in no generation has lost it.
        keeps = self._cooperative and self._membership().joined
        return topic_partitions(self.assignment()) if keeps else {}
