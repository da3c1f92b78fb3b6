"""confluent-kafka's consumer with instrumentation. librdkafka assigns partitions as before."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import confluent_kafka

from rebalance_agent.clients.confluent_kafka.group_position import membership_of
from rebalance_agent.clients.confluent_kafka.statistics import Statistics
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.instrumentation import Instrumentation, Membership, OnEvent
from rebalance_agent.instrumentation.consumer_progress import ConsumerProgress, Offsets, Partition
from rebalance_agent.instrumentation.suppress import quietly
from rebalance_agent.model.events import Callback

__all__ = ["Consumer", "OnRebalance"]

OnRebalance = Callable[[confluent_kafka.Consumer, list[confluent_kafka.TopicPartition]], Any]
"""Callback ``on_assign``, ``on_revoke`` or ``on_lost``: consumer and partitions."""

DEFAULT_STRATEGIES = "range,roundrobin"
"""librdkafka's default."""

INTERVAL = "statistics.interval.ms"
OFF = ("false", "f", "0", "no", "n", "off")
"""Spellings of false in librdkafka's settings, in lower case."""


class Consumer(confluent_kafka.Consumer):
    """``confluent_kafka.Consumer`` whose rebalances are reported to the sidecar.

    Reporting does not delay the consumer and raises nothing into it. Exceptions of the application's own callbacks pass
    through.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        /,
        *,
        events_url: str | None = None,
        events_token: str | None = None,
        on_event: OnEvent | None = None,
        clock: Clock | None = None,
        **configs: Any,  # noqa: ANN401
    ) -> None:
        """As ``confluent_kafka.Consumer(config, **configs)``.

        Args:
            config: settings of confluent-kafka. If they enable statistics (``statistics.interval.ms``), the reasons of
                rebalances are read from these.
            events_url: the sidecar's URL; see `Instrumentation`.
            events_token: bearer token for the sidecar.
            on_event: called with each event; see `Instrumentation`.
            clock: for the times in the events.
            configs: settings of confluent-kafka that override ``config``.

        """
        settings = {**(config or {}), **configs}
        instance_id = settings.get("group.instance.id")
        reference = weakref.ref(self)  # a strong one would keep a consumer alive that its application has dropped

        def membership() -> Membership:
            consumer = reference()
            return Membership() if consumer is None else membership_of(consumer, instance_id)

        def positions(partitions: Collection[Partition]) -> Offsets:
            consumer = reference()
            asked = [confluent_kafka.TopicPartition(*partition) for partition in partitions]
            return {} if consumer is None else _offsets(consumer.position(asked))

        self._instrumentation = Instrumentation(
            group=str(settings.get("group.id", "")),
            client_id=str(settings.get("client.id", "rdkafka")),
            membership=membership,
            positions=positions,
            clock=clock or SystemClock(),
            events_url=events_url,
            events_token=events_token,
            on_event=on_event,
        )
        progress = self._instrumentation.progress
        settings["on_commit"] = _both(partial(_note_commit, progress), settings.get("on_commit"))
        self._auto_commit = str(settings.get("enable.auto.commit", True)).lower() not in OFF
        # Offsets that the application stores itself differ from the positions, and librdkafka does not expose them.
        self._auto_commit &= str(settings.get("enable.auto.offset.store", True)).lower() not in OFF
        self._cooperative = _cooperative(settings)
        self._unsubscribing = False
        if settings.get(INTERVAL) is not None:
            statistics = Statistics(partial(_report_reason, self._instrumentation, self._cooperative))
            settings["stats_cb"] = _both(statistics.read, settings.get("stats_cb"))
        super().__init__(settings)
        self._settings = settings

    def explain_refusal(self) -> str:
        """Explain why the group refuses this consumer: its strategies, those of the other members, and a solution.

        For errors of `poll` with the code ``INCONSISTENT_GROUP_PROTOCOL``, which do not say it. It asks the coordinator
        for the group's description, and takes up to `inconsistent_protocol.TIMEOUT_SECONDS`.
        """
        # Few consumers need it, and importing the admin client takes milliseconds.
        from rebalance_agent.clients.confluent_kafka.inconsistent_protocol import why_refused  # noqa: PLC0415

        offered = str(self._settings.get("partition.assignment.strategy", DEFAULT_STRATEGIES)).split(",")
        group = str(self._settings.get("group.id", ""))
        return why_refused(self._settings, group, [name.strip() for name in offered])

    def subscribe(
        self,
        topics: list[str],
        on_assign: OnRebalance | None = None,
        on_revoke: OnRebalance | None = None,
        on_lost: OnRebalance | None = None,
    ) -> None:
        """As ``confluent_kafka.Consumer.subscribe``; the callbacks are timed."""
        callbacks = {Callback.ASSIGNED: on_assign, Callback.REVOKED: on_revoke, Callback.LOST: on_lost}
        own = {callback: function for callback, function in callbacks.items() if function is not None}
        super().subscribe(
            topics,
            # An object that cannot be called is passed on: confluent-kafka refuses it.
            **{
                name: partial(Consumer._run, callback=callback, own=own)
                if callable(own.get(callback, _ignore))
                else own[callback]
                for name, callback in _NAMES.items()
            },
        )
        self._unsubscribing = False

    def commit(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - confluent-kafka's
        """As ``confluent_kafka.Consumer.commit``."""
        result = super().commit(*arguments, **named)
        if isinstance(result, list):
            _record_commit(self._instrumentation.progress, result)
        return result

    def unsubscribe(self) -> None:
        """As ``confluent_kafka.Consumer.unsubscribe``: owned partitions are revoked first, in a later `poll`."""
        owns = False
        with contextlib.suppress(RuntimeError, confluent_kafka.KafkaException):  # closed: unsubscribe() raises below
            owns = bool(self.assignment())
        if owns:
            self._unsubscribing = True
            super().unsubscribe()
        else:
            with self._instrumentation.leaving():
                super().unsubscribe()

    def close(self) -> None:
        """As ``confluent_kafka.Consumer.close``: owned partitions are revoked first, in this call."""
        self._unsubscribing = False
        with self._instrumentation.leaving():
            super().close()

    def __exit__(self, *raised: object) -> Any:  # noqa: ANN401
        """As `close`, which confluent-kafka's own ``__exit__`` does not call."""
        self._unsubscribing = False
        with self._instrumentation.leaving():
            return super().__exit__(*raised)

    def _run(self, partitions: Any, *, callback: Callback, own: Mapping[Callback, OnRebalance]) -> None:  # noqa: ANN401
        users = {f"on_partitions_{name}": partial(function, self) for name, function in own.items()}
        methods: dict[str, Callable[..., Any]] = {
            "on_partitions_assigned": _ignore,
            "on_partitions_revoked": _ignore,
            **users,
        }
        if callback is Callback.REVOKED and self._auto_commit:
            methods["on_partitions_revoked"] = partial(self._committing, methods["on_partitions_revoked"])
        listener = self._instrumentation.listener(SimpleNamespace(**methods), cooperative=self._cooperative)
        try:
            getattr(listener, f"on_partitions_{callback}")(partitions)
        finally:
            if self._unsubscribing and callback is not Callback.ASSIGNED:
                self._unsubscribing = False
                with self._instrumentation.leaving():
                    pass

    def _committing(self, users: Callable[[Any], Any], partitions: Any) -> Any:  # noqa: ANN401
        """Run the application's callback, then record the positions, which librdkafka commits next."""
        result = users(partitions)
        with quietly("read the consumer's positions"):
            _record_commit(self._instrumentation.progress, self.position(partitions))
        return result


_NAMES = {"on_assign": Callback.ASSIGNED, "on_revoke": Callback.REVOKED, "on_lost": Callback.LOST}


def _cooperative(settings: Mapping[str, Any]) -> bool:
    """Whether callbacks get only the partitions that change owners."""
    strategies = str(settings.get("partition.assignment.strategy", ""))
    return "cooperative" in strategies or settings.get("group.protocol") == "consumer"


def _report_reason(instrumentation: Instrumentation, cooperative: bool, reason: str) -> None:
    # librdkafka sets the reason when all partitions are revoked. If only some are, it is an older reason.
    instrumentation.explained(reason, (Callback.LOST,) if cooperative else (Callback.REVOKED, Callback.LOST))


def _both(ours: Callable[..., None], users: Any) -> Any:  # noqa: ANN401
    """Return a callback that calls ``ours`` and then ``users``, if given; confluent-kafka accepts only functions."""
    if users is not None and not callable(users):
        return users

    def callback(*arguments: Any) -> Any:  # noqa: ANN401
        ours(*arguments)
        return None if users is None else users(*arguments)

    return callback


def _note_commit(
    progress: ConsumerProgress | None,
    error: confluent_kafka.KafkaError | None,
    partitions: list[confluent_kafka.TopicPartition],
) -> None:
    if error is None:
        _record_commit(progress, partitions)


def _record_commit(progress: ConsumerProgress | None, partitions: Iterable[confluent_kafka.TopicPartition]) -> None:
    with quietly("record a commit"):
        if progress is not None:
            progress.committed(_offsets(partitions))


def _offsets(partitions: Iterable[confluent_kafka.TopicPartition]) -> dict[Partition, int]:
    """Partition -> offset, for those of ``partitions`` that have one."""
    return {
        (partition.topic, partition.partition): partition.offset
        for partition in partitions
        if partition.error is None and partition.offset >= 0
    }


def _ignore(*_arguments: object) -> None:
    return None
