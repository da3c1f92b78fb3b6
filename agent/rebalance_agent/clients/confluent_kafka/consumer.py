"""confluent-kafka's consumer with instrumentation. librdkafka assigns partitions as before."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import confluent_kafka

from rebalance_agent.clients.confluent_kafka.group_position import SOFTWARE, membership_of
from rebalance_agent.clients.confluent_kafka.rebalance_hooks import (
    ConfluentHooks,
    offsets_of,
    record_commit,
)
from rebalance_agent.clients.confluent_kafka.statistics import Statistics
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.instrumentation import Instrumentation, Membership, OnEvent
from rebalance_agent.instrumentation.consumer_progress import ConsumerProgress, Offsets, Partition
from rebalance_agent.model.events import Callback

__all__ = ["Consumer"]

DEFAULT_STRATEGIES = "range,roundrobin"
"""librdkafka's default."""

INTERVAL = "statistics.interval.ms"
OFF = ("false", "f", "0", "no", "n", "off")
"""Spellings of false in librdkafka's settings, in lower case."""


class Consumer(ConfluentHooks):
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
        """Like ``confluent_kafka.Consumer(config, **configs)``.

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
            return {} if consumer is None else offsets_of(consumer.position(asked))

        self._instrumentation = Instrumentation(
            group=str(settings.get("group.id", "")),
            client_id=str(settings.get("client.id", "rdkafka")),
            software=SOFTWARE,
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

        For errors of `poll` with the code ``INCONSISTENT_GROUP_PROTOCOL``, which do not name the group's strategies. It
        asks the coordinator for the group's description, and takes up to `inconsistent_protocol.TIMEOUT_SECONDS`.
        """
        # Few consumers need it, and importing the admin client takes milliseconds.
        from rebalance_agent.clients.confluent_kafka.inconsistent_protocol import why_refused  # noqa: PLC0415

        offered = str(self._settings.get("partition.assignment.strategy", DEFAULT_STRATEGIES)).split(",")
        group = str(self._settings.get("group.id", ""))
        return why_refused(self._settings, group, [name.strip() for name in offered])

    def _gets_changes(self) -> bool:
        return self._cooperative


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
        record_commit(progress, partitions)
