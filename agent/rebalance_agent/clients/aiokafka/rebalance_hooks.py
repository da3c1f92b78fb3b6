"""The methods of aiokafka's consumer that report its rebalances, for new consumers and for existing ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
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
from rebalance_agent.clients.participant import Participant
from rebalance_agent.clients.strategy_entries import refuse_equal_names
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.instrumentation import Instrumentation, Membership
from rebalance_agent.instrumentation.consumer_progress import FROM_START, Offsets, Partition
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = ["AiokafkaHooks", "accepted", "instrument"]

_SOFTWARE = ClientSoftware("aiokafka", aiokafka.__version__)
"""Name and version; aiokafka itself sends neither to brokers."""

# aiokafka checks for instances of its own class; this has the same methods.
ConsumerRebalanceListener.register(AiokafkaListener)


class AiokafkaHooks(aiokafka.AIOKafkaConsumer):  # type: ignore[misc] # aiokafka is untyped
    """``aiokafka.AIOKafkaConsumer`` that reports to its ``_instrumentation``, and explains why a group refuses it.

    ``_participant`` runs strategies of this package, if the consumer lists some.
    """

    _instrumentation: Instrumentation
    _participant: Participant

    def subscribe(
        self,
        topics: Iterable[str] = (),
        pattern: str | None = None,
        listener: Any | None = None,  # noqa: ANN401
    ) -> None:
        """Like ``aiokafka.AIOKafkaConsumer.subscribe``; the listener is timed."""
        if accepted(listener):  # aiokafka refuses any other type
            listener = self._timed(listener)
        super().subscribe(topics=topics, pattern=pattern, listener=listener)

    async def start(self) -> None:
        """Like ``aiokafka.AIOKafkaConsumer.start``; if the group refuses this member, the error explains it."""
        try:
            await super().start()
        except InconsistentGroupProtocolError as error:
            raise await self._explained() from error

    async def getone(self, *partitions: Any) -> Any:  # noqa: ANN401 - aiokafka's
        """Like ``aiokafka.AIOKafkaConsumer.getone``; if the group refuses this member, the error explains it."""
        try:
            record = await super().getone(*partitions)
        except InconsistentGroupProtocolError as error:
            raise await self._explained() from error
        if (progress := self._instrumentation.progress) is not None:
            progress.read((record.topic, record.partition), record.offset)
        return record

    async def getmany(self, *partitions: Any, **named: Any) -> Any:  # noqa: ANN401
        """Like ``aiokafka.AIOKafkaConsumer.getmany``; if the group refuses this member, the error explains it."""
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
        """Like ``aiokafka.AIOKafkaConsumer.unsubscribe``: the group is left without a callback."""
        with self._instrumentation.leaving(self.assignment()):
            super().unsubscribe()

    async def stop(self) -> None:
        """Like ``aiokafka.AIOKafkaConsumer.stop``: the group is left without a callback."""
        with self._instrumentation.leaving(self.assignment()):
            await super().stop()

    def enforce_rebalance(self) -> None:
        """Join again soon, for example when copies are complete that units wait for.

        Like Java's ``enforceRebalance``. Without a group, it does nothing.
        """
        # The coordinator of a consumer without a group does not have this method.
        if rejoin := getattr(self._coordinator, "request_rejoin", None):
            rejoin()

    def _report_rebalances(
        self,
        listed: Sequence[Any],
        topics_ahead: TopicsBeforeAssign,
        clock: Clock | None,
        **reporting: Any,  # noqa: ANN401
    ) -> None:
        """Report from now on. ``listed``: strategies and assignors, for which ``_participant`` is set already."""
        clock = clock or SystemClock()
        group = self._group_id or ""
        self._instrumentation = Instrumentation(
            group=group,
            client_id=self._client._client_id,  # noqa: SLF001
            software=_SOFTWARE,
            membership=self._membership,
            positions=self._positions if group else None,
            clock=clock,
            **reporting,
        )
        joining = Joining(self._client, topics_ahead, self._instrumentation.leading)
        OffsetHooks(self._client, self._instrumentation, clock, from_start=self._auto_offset_reset in FROM_START)
        self._offered = tuple(entry.name for entry in listed)
        self._partition_assignment_strategy = tuple(
            self._assignor(entry, group, joining, last=entry is listed[-1]) for entry in listed
        )

    def _timed(self, listener: Any | None) -> AiokafkaListener:  # noqa: ANN401
        return AiokafkaListener(self._instrumentation.listener(listener), lambda: self._membership().joined)

    async def _explained(self) -> InconsistentGroupProtocolError:
        return InconsistentGroupProtocolError(await why_refused(self._client, self._group_id or "", self._offered))

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
        return Membership(generation, getattr(self._coordinator, "member_id", ""), self._group_instance_id)


def instrument(consumer: aiokafka.AIOKafkaConsumer, clock: Clock | None = None, **reporting: Any) -> Any:  # noqa: ANN401
    """Let ``consumer`` report its rebalances, and return it. ``reporting``: arguments of `Instrumentation`.

    Raises:
        InvalidInputError: it has no group, or was started.
        AssignmentError: two of its assignors have the same name.
    """
    group = consumer._group_id  # noqa: SLF001 - aiokafka has no public attribute for these
    if not group:
        raise InvalidInputError("consumer", "has no group_id, so it has no rebalances")
    if consumer._coordinator is not None:  # noqa: SLF001
        raise InvalidInputError("consumer", "was started: call instrument() before start()")
    listed = list(consumer._partition_assignment_strategy)  # noqa: SLF001
    refuse_equal_names(listed)
    kind = type(consumer)
    consumer.__class__ = type(kind.__name__, (AiokafkaHooks, kind), {})
    consumer._participant = Participant((), {}, group=group)  # noqa: SLF001
    consumer._report_rebalances(listed, TopicsBeforeAssign(()), clock, **reporting)  # noqa: SLF001
    subscription = consumer._subscription  # noqa: SLF001
    subscription._listener = consumer._timed(subscription.listener)  # noqa: SLF001
    return consumer


def accepted(listener: object) -> bool:
    """Whether aiokafka accepts ``listener``; it also accepts None."""
    return listener is None or isinstance(listener, ConsumerRebalanceListener)
