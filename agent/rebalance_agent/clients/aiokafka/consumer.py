"""aiokafka's consumer, with its rebalances reported and the eager strategies of ``assignors`` by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import aiokafka
from aiokafka.abc import ConsumerRebalanceListener

from rebalance_agent.assignors import Strategy
from rebalance_agent.clients.aiokafka.assignors import Assignor, PlainAssignor, StrategyAssignor
from rebalance_agent.clients.aiokafka.async_listener import AiokafkaListener
from rebalance_agent.clients.aiokafka.internal_topics import TopicsBeforeAssign
from rebalance_agent.clients.aiokafka.joining import Joining
from rebalance_agent.clients.aiokafka.offset_hooks import OffsetHooks
from rebalance_agent.clients.held_copies import HeldStandbys
from rebalance_agent.clients.participant import Loads, Participant, settings_of
from rebalance_agent.clients.strategy_entries import entries, refuse_equal_names
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.errors import AssignmentError, InvalidInputError
from rebalance_agent.instrumentation import Instrumentation, Membership
from rebalance_agent.instrumentation.consumer_progress import Offsets, Partition
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import pairs

__all__ = ["DEFAULT_STRATEGIES", "AIOKafkaConsumer"]

DEFAULT_STRATEGIES = ("roundrobin",)
"""aiokafka's own default, by the same name."""

FROM_START = ("earliest", "smallest")
"""Values of ``auto_offset_reset`` by which a group without offsets reads everything; the second is an old name."""

# aiokafka asks for its own class; this has its methods.
ConsumerRebalanceListener.register(AiokafkaListener)


class AIOKafkaConsumer(aiokafka.AIOKafkaConsumer):  # type: ignore[misc] # aiokafka is untyped
    """``aiokafka.AIOKafkaConsumer`` in everything, with two things more.

    - ``partition_assignment_strategy`` may be or contain names of our strategies, or strategies of
      one's own, configured by ``assignor_config``;
    - what happens to it in rebalances goes to the sidecar. That never delays it and never raises into it.
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
        clock: Clock | None = None,
        **configs: Any,  # noqa: ANN401
    ) -> None:
        """As ``aiokafka.AIOKafkaConsumer(*topics, **configs)``.

        Args:
            topics: to subscribe to; or `subscribe` later, by list or pattern.
            listener: rebalance listener for ``topics``.
            assignor_config: settings of the strategies, such as ``{"assignment.consumer.weight": 900}``.
            loads: what each partition costs, for strategies that balance loads; see `Loads`. It must not block: the
                event loop waits for it. If it raises, partitions count alike.
            held_standbys: which copies the application has, asked before each join; see `HeldStandbys`. It must not
                block either. By default, and if it raises, the copies last assigned.
            events_url: the sidecar's; see `Instrumentation`.
            events_token: bearer token for it.
            clock: for the times in the events.
            configs: aiokafka's.

        Raises:
            AssignmentError: a strategy or setting that there is not, a value out of bounds, or a cooperative strategy.
            InvalidInputError: a listener without topics, or one that is none.

        """
        if listener is not None and not topics:
            raise InvalidInputError("listener", "goes with topics; without them, give it to subscribe()")
        if not _known(listener):
            raise InvalidInputError("listener", "must be an aiokafka.ConsumerRebalanceListener")
        wanted = configs.pop("partition_assignment_strategy", DEFAULT_STRATEGIES)
        listed = _entries(wanted)
        strategies = {each.name: each for each in listed if isinstance(each, Strategy)}
        group = configs.get("group_id") or ""
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
            # Without a group there are no rebalances to tell of.
            events_url=events_url if group else "",
            events_token=events_token,
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
        if _known(listener):  # all else aiokafka refuses itself
            listener = AiokafkaListener(self._instrumentation.listener(listener), lambda: self._membership().joined)
        super().subscribe(topics=topics, pattern=pattern, listener=listener)

    async def getone(self, *partitions: Any) -> Any:  # noqa: ANN401 - aiokafka's
        """As ``aiokafka.AIOKafkaConsumer.getone``."""
        record = await super().getone(*partitions)
        if (progress := self._instrumentation.progress) is not None:
            progress.read((record.topic, record.partition), record.offset)
        return record

    async def getmany(self, *partitions: Any, **named: Any) -> Any:  # noqa: ANN401
        """As ``aiokafka.AIOKafkaConsumer.getmany``."""
        records = await super().getmany(*partitions, **named)
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
        """The partitions that this consumer is to have a copy of, by the last assignment."""
        return {aiokafka.TopicPartition(topic, number) for topic, number in pairs(self._participant.standbys)}

    def _assignor(self, entry: Any, group: str, joining: Joining, *, last: bool) -> Assignor:  # noqa: ANN401
        inner = (
            StrategyAssignor(entry, self._participant)
            if isinstance(entry, Strategy)
            else PlainAssignor(entry, self._participant, group)
        )
        watched = self._instrumentation.assignor(inner)
        return Assignor(watched, joining, lambda: self._membership().generation, last=last)

    def _positions(self, partitions: Collection[Partition]) -> Offsets:
        subscription = self._subscription.subscription
        if subscription is None or subscription.assignment is None:
            return {}
        known = subscription.assignment.all_consumed_offsets()
        return {each: known[each].offset for each in partitions if each in known}

    def _membership(self) -> Membership:
        # A consumer without a group has a coordinator, too, which has neither of the two.
        generation = getattr(self._coordinator, "generation", -1)
        return Membership(generation, getattr(self._coordinator, "member_id", ""), self._instance_id)


def _known(listener: object) -> bool:
    return listener is None or isinstance(listener, ConsumerRebalanceListener)


def _entries(wanted: Any) -> list[Any]:  # noqa: ANN401 - names, strategies, and classes of aiokafka's
    """The entries of ``partition_assignment_strategy``, all of them eager."""
    listed = entries(wanted)
    refuse_equal_names(listed)
    for each in listed:
        if isinstance(each, Strategy) and each.protocol is not RebalanceProtocol.EAGER:
            raise AssignmentError(
                f"partition_assignment_strategy: {each.name!r} is cooperative, and aiokafka speaks the eager protocol "
                "only: it gives back everything at the start of each rebalance"
            )
    return listed
