"""kafka-python's consumer with instrumentation and with the strategies of ``assignors`` by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import kafka
from kafka.errors import InconsistentGroupProtocolError

from rebalance_agent.clients.held_copies import HeldStandbys
from rebalance_agent.clients.kafka_python.admin_thread import AdminThread
from rebalance_agent.clients.kafka_python.assignor import StrategyAssignor
from rebalance_agent.clients.kafka_python.assignor_list import all_cooperative, assignors, strategies
from rebalance_agent.clients.kafka_python.inconsistent_protocol import why_refused
from rebalance_agent.clients.kafka_python.internal_topics import InternalTopics
from rebalance_agent.clients.kafka_python.joining import finish_joins
from rebalance_agent.clients.kafka_python.lags import Lags
from rebalance_agent.clients.kafka_python.rebalance_hooks import SOFTWARE, KafkaPythonHooks
from rebalance_agent.clients.kafka_python.subscriptions import read_tolerantly
from rebalance_agent.clients.participant import Loads, Participant, settings_of
from rebalance_agent.clients.strategy_entries import entries
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.instrumentation import Instrumentation, OnEvent
from rebalance_agent.instrumentation.consumer_progress import FROM_START
from rebalance_agent.model.partitions import TopicPartitions, pairs, topic_partitions

__all__ = ["DEFAULT_STRATEGIES", "KafkaConsumer"]

DEFAULT_STRATEGIES = ("range", "roundrobin")
"""The same defaults as in kafka-python, in the implementation of this package, without kafka-python's defects."""


class KafkaConsumer(KafkaPythonHooks):
    """``kafka.KafkaConsumer`` with this package's strategies and with reporting.

    - ``partition_assignment_strategy`` takes names of this package's strategies, configured by ``assignor_config``.
    - The consumer's rebalances are reported to the sidecar. Reporting never delays the consumer or fails in it.
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
        on_event: OnEvent | None = None,
        clock: Clock | None = None,
        **configs: Any,  # noqa: ANN401
    ) -> None:
        """Like ``kafka.KafkaConsumer(*topics, **configs)``.

        Args:
            topics: topics to subscribe to; or call `subscribe` later, with a list or a pattern.
            listener: rebalance listener for ``topics``.
            assignor_config: settings of the strategies, such as ``{"assignment.consumer.weight": 900}``.
            loads: load of each partition, for strategies that balance loads; see `Loads`. By default the group's lag.
                It may use connections of its own, but must not call this consumer. If it raises, all partitions count
                the same.
            create_internal_topics: whether the leader creates missing repartition and changelog topics that a strategy
                needs; otherwise the leader's `poll` raises ``InternalTopicError``.
            held_standbys: returns the application's copies before each join; see `HeldStandbys`. It is called on
                kafka-python's thread and must not call this consumer. By default, and if it raises, the copies last
                assigned.
            events_url: the sidecar's URL; see `Instrumentation`.
            events_token: bearer token for the sidecar.
            on_event: called with each event; see `Instrumentation`.
            clock: for the times in the events.
            configs: settings of ``kafka.KafkaConsumer``.

        Raises:
            AssignmentError: an unknown strategy or setting, or a value out of bounds.
            InvalidInputError: a listener without topics.

        """
        if listener is not None and not topics:
            raise InvalidInputError("listener", "requires topics; without topics, pass it to subscribe()")
        listed = entries(configs.get("partition_assignment_strategy", DEFAULT_STRATEGIES))
        ours = strategies(listed)
        group = configs.get("group_id") or ""
        self._clock = clock or SystemClock()
        self._admin_thread = AdminThread(configs)
        self._participant = Participant(
            ours.values(),
            settings_of(ours, assignor_config or {}),
            group=group,
            rack=configs.get("client_rack") or None,
            loads=loads or Lags(self._admin_thread, group, from_start=configs.get("auto_offset_reset") in FROM_START),
            internal_topics=InternalTopics(self._admin_thread),
            create_internal_topics=create_internal_topics,
            held_standbys=held_standbys,
        )
        self._instrumentation = Instrumentation(
            group=group,
            client_id=configs.get("client_id", self.DEFAULT_CONFIG["client_id"]),
            software=SOFTWARE,
            membership=self._membership,
            positions=self._positions if group else None,
            clock=self._clock,
            # Without a group there are no rebalances.
            events_url=events_url if group else "",
            events_token=events_token,
            on_event=on_event,
        )
        made = assignors(listed, lambda strategy: StrategyAssignor(strategy, self._participant, self._held))
        self._group = group
        self._offered = [assignor.name for assignor in made]
        self._cooperative = all_cooperative(made)
        configs["partition_assignment_strategy"] = [self._instrumentation.assignor(assignor) for assignor in made]
        super().__init__(**configs)
        read_tolerantly(self._coordinator)
        finish_joins(self._coordinator)
        self._hook_coordinator(self._clock, from_start=configs.get("auto_offset_reset") in FROM_START)
        if topics:
            self.subscribe(topics, listener=listener)

    def standbys(self) -> set[kafka.TopicPartition]:
        """Return the partitions that this consumer has to keep a copy of, by the last assignment."""
        return {kafka.TopicPartition(topic, number) for topic, number in pairs(self._participant.standbys)}

    def enforce_rebalance(self) -> None:
        """Join again in the next `poll`, for example when copies are complete that units wait for. It does not block.

        As Java's ``enforceRebalance``.
        """
        self._coordinator.request_rejoin()

    def poll(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - kafka-python's
        """Like ``kafka.KafkaConsumer.poll``; if the group refuses this member, the error names the strategies."""
        try:
            records = super().poll(*arguments, **named)
        except InconsistentGroupProtocolError as error:
            raise InconsistentGroupProtocolError(why_refused(self._admin_thread, self._group, self._offered)) from error
        if self._participant.takes_units():
            self.enforce_rebalance()
        return records

    def _held(self) -> TopicPartitions:
        # An eager member has given up everything before it joins; a member in no generation has lost everything.
        keeps = self._cooperative and self._membership().joined
        return topic_partitions(self.assignment()) if keeps else {}
