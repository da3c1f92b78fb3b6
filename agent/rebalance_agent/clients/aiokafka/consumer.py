"""aiokafka's consumer with instrumentation and with the eager strategies of ``assignors`` by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aiokafka

from rebalance_agent.assignors import Strategy
from rebalance_agent.clients.aiokafka.internal_topics import TopicsBeforeAssign
from rebalance_agent.clients.aiokafka.rebalance_hooks import AiokafkaHooks, accepted
from rebalance_agent.clients.held_copies import HeldStandbys
from rebalance_agent.clients.participant import Loads, Participant, settings_of
from rebalance_agent.clients.strategy_entries import entries, refuse_equal_names
from rebalance_agent.clock import Clock
from rebalance_agent.errors import AssignmentError, InvalidInputError
from rebalance_agent.instrumentation import OnEvent
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import pairs

__all__ = ["DEFAULT_STRATEGIES", "AIOKafkaConsumer"]

DEFAULT_STRATEGIES = ("roundrobin",)
"""aiokafka's own default, in this package's implementation."""


class AIOKafkaConsumer(AiokafkaHooks):
    """``aiokafka.AIOKafkaConsumer`` with two additions.

    - ``partition_assignment_strategy`` takes names of this package's strategies, or `Strategy` objects, configured by
      ``assignor_config``.
    - Its rebalances are reported to the sidecar. Reporting does not delay the consumer and raises nothing into it.
    """

    def __init__(
        self,
        *topics: str,
        listener: Any | None = None,  # noqa: ANN401 - aiokafka's
        assignor_config: Mapping[str, str | float] | None = None,
        loads: Loads | None = None,
        held_standbys: HeldStandbys | None = None,
        events_url: str | None = None,
        events_token: str | None = None,
        on_event: OnEvent | None = None,
        clock: Clock | None = None,
        **configs: Any,  # noqa: ANN401
    ) -> None:
        """Like ``aiokafka.AIOKafkaConsumer(*topics, **configs)``.

        Args:
            topics: topics to subscribe to; or call `subscribe` later, with a list or a pattern.
            listener: rebalance listener for ``topics``.
            assignor_config: settings of the strategies, such as ``{"assignment.consumer.weight": 900}``.
            loads: load of each partition, for strategies that balance loads; see `Loads`. It must not block: the event
                loop waits for it. If it raises, all partitions count the same.
            held_standbys: returns the application's copies before each join; see `HeldStandbys`. It must not block.
                By default, and if it raises, the copies that were assigned last.
            events_url: the sidecar's URL; see `Instrumentation`.
            events_token: bearer token for the sidecar.
            on_event: called with each event; see `Instrumentation`.
            clock: for the times in the events.
            configs: settings of ``aiokafka.AIOKafkaConsumer``.

        Raises:
            AssignmentError: an unknown strategy or setting, a value out of bounds, or a cooperative strategy.
            InvalidInputError: a listener without topics, or an object that is not a rebalance listener.

        """
        if listener is not None and not topics:
            raise InvalidInputError("listener", "requires topics; without topics, pass it to subscribe()")
        if not accepted(listener):
            raise InvalidInputError("listener", "must be an aiokafka.ConsumerRebalanceListener")
        listed = _entries(configs.pop("partition_assignment_strategy", DEFAULT_STRATEGIES))
        strategies = {entry.name: entry for entry in listed if isinstance(entry, Strategy)}
        group = configs.get("group_id") or ""
        topics_ahead = TopicsBeforeAssign(strategies.values())
        self._participant = Participant(
            strategies.values(),
            settings_of(strategies, assignor_config or {}),
            group=group,
            rack=configs.get("client_rack") or None,
            loads=loads,
            held_standbys=held_standbys,
            internal_topics=topics_ahead,
        )
        super().__init__(**configs)
        self._report_rebalances(
            listed,
            topics_ahead,
            clock,
            # Without a group there are no rebalances.
            events_url=events_url if group else "",
            events_token=events_token,
            on_event=on_event,
        )
        if topics:
            self.subscribe(topics, listener=listener)

    def standbys(self) -> set[aiokafka.TopicPartition]:
        """Return the partitions that this consumer has to keep a copy of, by the last assignment."""
        return {aiokafka.TopicPartition(topic, number) for topic, number in pairs(self._participant.standbys)}


def _entries(option: Any) -> list[Any]:  # noqa: ANN401 - names, strategies, and classes of aiokafka
    """Return the entries of ``partition_assignment_strategy``; `AssignmentError` if one is cooperative."""
    listed = entries(option)
    refuse_equal_names(listed)
    for entry in listed:
        if isinstance(entry, Strategy) and entry.protocol is not RebalanceProtocol.EAGER:
            raise AssignmentError(
                f"partition_assignment_strategy: {entry.name!r} is cooperative, and aiokafka supports only the eager "
                "protocol: it revokes all partitions at the start of each rebalance"
            )
    return listed
