"""aiokafka's consumer with instrumentation and with the eager strategies of ``assignors`` by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import aiokafka
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import InconsistentGroupProtocolError

from rebalance_agent.assignors import Strategy
from rebalance_agent.clients.aiokafka.assignors import Assignor, PlainAssignor, StrategyAssignor
from rebalance_agent.clients.aiokafka.async_listener import AiokafkaListener
from rebalance_agent.clients.aiokafka.inconsistent_protocol import why_refused
from rebalance_agent.clients.aiokafka.internal_topics import TopicsBeforeAssign
from rebalance_agent.clients.aiokafka.joining import Joining
from rebalance_agent.clients.aiokafka.offset_hooks import OffsetHooks
from rebalance_agent.clients.held_copies import HeldStandbys
from rebalance_agent.clients.participant import Loads, Participant, settings_of
from rebalance_agent.clients.strategy_entries import entries, refuse_equal_names
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.errors import AssignmentError, InvalidInputError
from rebalance_agent.instrumentation import Instrumentation, Membership, OnEvent
from rebalance_agent.instrumentation.consumer_progress import Offsets, Partition
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import pairs

__all__ = ["DEFAULT_STRATEGIES", "AIOKafkaConsumer"]

DEFAULT_STRATEGIES = ("roundrobin",)
"""aiokafka's own default, in this package's implementation."""

FROM_START = ("earliest", "smallest")
"""Values of ``auto_offset_reset`` with which a group without offsets reads from the start; the second is deprecated."""

# aiokafka checks for instances of its own class; this has the same methods.
ConsumerRebalanceListener.register(AiokafkaListener)


class AIOKafkaConsumer(aiokafka.AIOKafkaConsumer):  # type: ignore[misc] # aiokafka is untyped
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
        """As ``aiokafka.AIOKafkaConsumer(*topics, **configs)``.

        Args:
            topics: topics to subscribe to; or call `subscribe` later, with a list or a pattern.
            listener: rebalance listener for ``topics``.
            assignor_config: settings of the strategies, such as ``{"assignment.consumer.weight": 900}``.
            loads: load of each partition, for strategies that balance loads; see `Loads`. It must not block: the event
                loop waits for it. If it raises, all partitions count the same.
            held_standbys: returns the application's copies before each join; see `HeldStandbys`. It must not block.
                By default, and if it raises, the copies last assigned.
            events_url: the sidecar's URL; see `Instrumentation`.
            events_token: bearer token for the sidecar.
            on_event: called with each event; see `Instrumentation`.
            clock: for the times in the events.
            configs: settings of ``aiokafka.AIOKafkaConsumer``.

        Raises:
            AssignmentError: an unknown strategy or setting, a value out of bounds, or a cooperative strategy.
            InvalidInputError: a listener without topics, or an object that is no rebalance listener.

        """
        if listener is not None and not topics:
            raise InvalidInputError("listener", "requires topics; without topics, pass it to subscribe()")
        if not _accepted(listener):
            raise InvalidInputError("listener", "must be an aiokafka.ConsumerRebalanceListener")
        listed = _entries(configs.pop("partition_assignment_strategy", DEFAULT_STRATEGIES))
        strategies = {entry.name: entry for entry in listed if isinstance(entry, Strategy)}
        group = configs.get("group_id") or ""
        self._group, self._offered = group, tuple(entry.name for entry in listed)
        self._instance_id: str | None = configs.get("group_instance_id")
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
        clock = clock or SystemClock()
        self._instrumentation = Instrumentation(
            group=group,
            client_id=configs.get("client_id", f"aiokafka-{aiokafka.__version__}"),
            membership=self._membership,
            positions=self._positions if group else None,
            clock=clock,
            # Without a group there are no rebalances.
            events_url=events_url if group else "",
            events_token=events_token,
            on_event=on_event,
        )
        joining = Joining(self._client, topics_ahead)
        OffsetHooks(
            self._client, self._instrumentation, clock, from_start=configs.get("auto_offset_reset") in FROM_START
        )
        self._partition_assignment_strategy = tuple(
            self._assignor(entry, group, joining, last=entry is listed[-1]) for entry in listed
        )
        if topics:
            self.subscribe(topics, listener=listener)

    def subscribe(
        self,
        topics: Iterable[str] = (),
        pattern: str | None = None,
        listener: Any | None = None,  # noqa: ANN401
    ) -> None:
        """As ``aiokafka.AIOKafkaConsumer.subscribe``; the listener is timed."""
        if _accepted(listener):  # aiokafka refuses any other type
            listener = AiokafkaListener(self._instrumentation.listener(listener), lambda: self._membership().joined)
        super().subscribe(topics=topics, pattern=pattern, listener=listener)

    async def start(self) -> None:
        """As ``aiokafka.AIOKafkaConsumer.start``; if the group refuses this member, the error says why."""
        try:
            await super().start()
        except InconsistentGroupProtocolError as error:
            raise await self._explained() from error

    async def getone(self, *partitions: Any) -> Any:  # noqa: ANN401 - aiokafka's
        """As ``aiokafka.AIOKafkaConsumer.getone``; if the group refuses this member, the error says why."""
        try:
            record = await super().getone(*partitions)
        except InconsistentGroupProtocolError as error:
            raise await self._explained() from error
        if (progress := self._instrumentation.progress) is not None:
            progress.read((record.topic, record.partition), record.offset)
        return record

    async def getmany(self, *partitions: Any, **named: Any) -> Any:  # noqa: ANN401
        """As ``aiokafka.AIOKafkaConsumer.getmany``; if the group refuses this member, the error says why."""
        try:
            records = await super().getmany(*partitions, **named)
        except InconsistentGroupProtocolError as error:
            raise await self._explained() from error
        if (progress := self._instrumentation.progress) is not None:
            for partition, batch in records.items():
                if batch:
                    progress.read(partition, batch[0].offset)
        return records

    def unsubscribe(self) -> None:
        """As ``aiokafka.AIOKafkaConsumer.unsubscribe``: the group is left without a callback."""
        with self._instrumentation.leaving(self.assignment()):
            super().unsubscribe()

    async def stop(self) -> None:
        """As ``aiokafka.AIOKafkaConsumer.stop``: the group is left without a callback."""
        with self._instrumentation.leaving(self.assignment()):
            await super().stop()

    def standbys(self) -> set[aiokafka.TopicPartition]:
        """The partitions that this consumer has to keep a copy of, by the last assignment."""
        return {aiokafka.TopicPartition(topic, number) for topic, number in pairs(self._participant.standbys)}

    def enforce_rebalance(self) -> None:
        """Join again soon, for example when copies are complete that units wait for.

        As Java's ``enforceRebalance``. Without a group it does nothing.
        """
        # The coordinator of a consumer without a group does not have this method.
        if rejoin := getattr(self._coordinator, "request_rejoin", None):
            rejoin()

    async def _explained(self) -> InconsistentGroupProtocolError:
        return InconsistentGroupProtocolError(await why_refused(self._client, self._group, self._offered))

    def _assignor(self, entry: Any, group: str, joining: Joining, *, last: bool) -> Assignor:  # noqa: ANN401
        inner = (
            StrategyAssignor(entry, self._participant, self.enforce_rebalance)
            if isinstance(entry, Strategy)
            else PlainAssignor(entry, self._participant, group)
        )
        instrumented = self._instrumentation.assignor(inner)
        return Assignor(instrumented, joining, lambda: self._membership().generation, last=last)

    def _positions(self, partitions: Collection[Partition]) -> Offsets:
        subscription = self._subscription.subscription
        if subscription is None or subscription.assignment is None:
            return {}
        consumed = subscription.assignment.all_consumed_offsets()
        return {partition: consumed[partition].offset for partition in partitions if partition in consumed}

    def _membership(self) -> Membership:
        # The coordinator of a consumer without a group has neither of these attributes.
        generation = getattr(self._coordinator, "generation", -1)
        return Membership(generation, getattr(self._coordinator, "member_id", ""), self._instance_id)


def _accepted(listener: object) -> bool:
    return listener is None or isinstance(listener, ConsumerRebalanceListener)


def _entries(option: Any) -> list[Any]:  # noqa: ANN401 - names, strategies, and classes of aiokafka
    """The entries of ``partition_assignment_strategy``; `AssignmentError` if one is cooperative."""
    listed = entries(option)
    refuse_equal_names(listed)
    for entry in listed:
        if isinstance(entry, Strategy) and entry.protocol is not RebalanceProtocol.EAGER:
            raise AssignmentError(
                f"partition_assignment_strategy: {entry.name!r} is cooperative, and aiokafka supports only the eager "
                "protocol: it revokes all partitions at the start of each rebalance"
            )
    return listed
