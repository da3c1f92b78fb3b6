"""confluent-kafka's consumer, with its rebalances reported. Who is assigned what stays librdkafka's business."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import confluent_kafka

from rebalance_agent.clients.confluent_kafka.group_position import membership_of
from rebalance_agent.clients.confluent_kafka.statistics import Statistics
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.instrumentation import Instrumentation, Membership
from rebalance_agent.instrumentation.consumer_progress import ConsumerProgress, Offsets, Partition
from rebalance_agent.instrumentation.suppress import quietly
from rebalance_agent.model.events import Callback

__all__ = ["Consumer", "OnRebalance"]

OnRebalance = Callable[[confluent_kafka.Consumer, list[confluent_kafka.TopicPartition]], Any]
"""``on_assign``, ``on_revoke`` or ``on_lost``."""

INTERVAL = "statistics.interval.ms"
OFF = ("false", "f", "0", "no", "n", "off")
"""How librdkafka's booleans say no, in any case of letters."""


class Consumer(confluent_kafka.Consumer):
    """``confluent_kafka.Consumer`` in everything; what happens to it in rebalances goes to the sidecar.

    That never delays it and never raises into it. What the application's own callbacks raise passes through.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        /,
        *,
        events_url: str | None = None,
        events_token: str | None = None,
        clock: Clock | None = None,
        **configs: Any,  # noqa: ANN401
    ) -> None:
        """As ``confluent_kafka.Consumer(config, **configs)``.

        Args:
            config: confluent-kafka's. Where it asks for statistics (``statistics.interval.ms``), they are read, too.
            events_url: the sidecar's; see `Instrumentation`.
            events_token: bearer token for it.
            clock: for the times in the events.
            configs: confluent-kafka's, too; they win over ``config``.

        """
        settings = {**(config or {}), **configs}
        instance_id = settings.get("group.instance.id")
        itself = weakref.ref(self)  # not the consumer: one that its application has dropped is gone at once

        def membership() -> Membership:
            consumer = itself()
            return Membership() if consumer is None else membership_of(consumer, instance_id)

        def positions(partitions: Collection[Partition]) -> Offsets:
            consumer = itself()
            wanted = [confluent_kafka.TopicPartition(*each) for each in partitions]
            return {} if consumer is None else _offsets(consumer.position(wanted))

        self._instrumentation = Instrumentation(
            group=str(settings.get("group.id", "")),
            client_id=str(settings.get("client.id", "rdkafka")),
            membership=membership,
            positions=positions,
            clock=clock or SystemClock(),
            events_url=events_url,
            events_token=events_token,
        )
        progress = self._instrumentation.progress
        settings["on_commit"] = _heard(progress, settings.get("on_commit"))
        self._auto_commit = str(settings.get("enable.auto.commit", True)).lower() not in OFF
        # Offsets that the application stores itself are not the positions, and librdkafka does not tell them.
        self._auto_commit &= str(settings.get("enable.auto.offset.store", True)).lower() not in OFF
        self._cooperative = _cooperative(settings)
        self._unsubscribing = False
        if settings.get(INTERVAL) is not None:
            statistics = Statistics(partial(_explain, self._instrumentation, self._cooperative))
            settings["stats_cb"] = _both(statistics.read, settings.get("stats_cb"))
        super().__init__(settings)

    def subscribe(
        self,
        topics: list[str],
        on_assign: OnRebalance | None = None,
        on_revoke: OnRebalance | None = None,
        on_lost: OnRebalance | None = None,
    ) -> None:
        """As ``confluent_kafka.Consumer.subscribe``; the callbacks are timed."""
        given = {Callback.ASSIGNED: on_assign, Callback.REVOKED: on_revoke, Callback.LOST: on_lost}
        own = {callback: function for callback, function in given.items() if function is not None}
        super().subscribe(
            topics,
            # What cannot be called is for confluent-kafka to refuse.
            **{
                name: partial(_rebalanced, callback, own) if callable(own.get(callback, _nothing)) else own[callback]
                for name, callback in _NAMES.items()
            },
        )
        self._unsubscribing = False

    def commit(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - confluent-kafka's
        """As ``confluent_kafka.Consumer.commit``."""
        result = super().commit(*arguments, **named)
        if isinstance(result, list):
            _note(self._instrumentation.progress, result)
        return result

    def unsubscribe(self) -> None:
        """As ``confluent_kafka.Consumer.unsubscribe``: what is owned is revoked first, in a later `poll`."""
        owns = False
        with contextlib.suppress(RuntimeError, confluent_kafka.KafkaException):  # closed, as it will say itself
            owns = bool(self.assignment())
        if owns:
            self._unsubscribing = True
            super().unsubscribe()
        else:
            with self._instrumentation.leaving():
                super().unsubscribe()

    def close(self) -> None:
        """As ``confluent_kafka.Consumer.close``: what is owned is revoked first, in here."""
        self._unsubscribing = False
        with self._instrumentation.leaving():
            super().close()

    def __exit__(self, *raised: object) -> Any:  # noqa: ANN401
        """As `close`, which confluent-kafka's own does not call."""
        self._unsubscribing = False
        with self._instrumentation.leaving():
            return super().__exit__(*raised)

    def _run(self, callback: Callback, own: Mapping[Callback, OnRebalance], partitions: Any) -> None:  # noqa: ANN401
        users = {f"on_partitions_{each}": partial(function, self) for each, function in own.items()}
        known: dict[str, Callable[..., Any]] = {
            "on_partitions_assigned": _nothing,
            "on_partitions_revoked": _nothing,
            **users,
        }
        if callback is Callback.REVOKED and self._auto_commit:
            known["on_partitions_revoked"] = partial(self._committing, known["on_partitions_revoked"])
        listener = self._instrumentation.listener(SimpleNamespace(**known), cooperative=self._cooperative)
        try:
            getattr(listener, f"on_partitions_{callback}")(partitions)
        finally:
            if self._unsubscribing and callback is not Callback.ASSIGNED:
                self._unsubscribing = False
                with self._instrumentation.leaving():
                    pass

    def _committing(self, users: Callable[[Any], Any], partitions: Any) -> Any:  # noqa: ANN401
        """As the application's; librdkafka then commits how far it is, before the partitions go."""
        result = users(partitions)
        with quietly("note how far the consumer is"):
            _note(self._instrumentation.progress, self.position(partitions))
        return result


_NAMES = {"on_assign": Callback.ASSIGNED, "on_revoke": Callback.REVOKED, "on_lost": Callback.LOST}


def _rebalanced(
    callback: Callback,
    own: Mapping[Callback, OnRebalance],
    consumer: confluent_kafka.Consumer,
    partitions: Any,  # noqa: ANN401
) -> None:
    cast("Consumer", consumer)._run(callback, own, partitions)  # noqa: SLF001 - one of ours


def _cooperative(settings: Mapping[str, Any]) -> bool:
    """Whether callbacks speak of what comes and goes only."""
    strategies = str(settings.get("partition.assignment.strategy", ""))
    return "cooperative" in strategies or settings.get("group.protocol") == "consumer"


def _explain(instrumentation: Instrumentation, cooperative: bool, reason: str) -> None:
    # librdkafka notes a reason whenever all partitions go. When only some do, the one there is an older one.
    instrumentation.explained(reason, (Callback.LOST,) if cooperative else (Callback.REVOKED, Callback.LOST))


def _both(ours: Callable[[str], None], users: Any) -> Any:  # noqa: ANN401 - what is no function is refused later
    if users is None:
        return ours
    if not callable(users):
        return users

    def stats_cb(text: str) -> Any:  # noqa: ANN401
        ours(text)
        return users(text)

    return stats_cb


def _heard(progress: ConsumerProgress | None, users: Any) -> Any:  # noqa: ANN401
    """``on_commit``: ours, and then the application's, if that is one; else it is for confluent-kafka to refuse."""
    if users is not None and not callable(users):
        return users

    def on_commit(error: confluent_kafka.KafkaError | None, partitions: list[confluent_kafka.TopicPartition]) -> Any:  # noqa: ANN401
        if error is None:
            _note(progress, partitions)
        return None if users is None else users(error, partitions)

    return on_commit


def _note(progress: ConsumerProgress | None, partitions: Iterable[confluent_kafka.TopicPartition]) -> None:
    with quietly("note a commit"):
        if progress is not None:
            progress.committed(_offsets(partitions))


def _offsets(partitions: Iterable[confluent_kafka.TopicPartition]) -> dict[Partition, int]:
    """Those that have one."""
    return {(each.topic, each.partition): each.offset for each in partitions if each.error is None and each.offset >= 0}


def _nothing(*_arguments: object) -> None:
    return None
