"""The methods of confluent-kafka's consumer that report its rebalances, for new consumers and for existing ones."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import confluent_kafka
from confluent_kafka import cimpl

from rebalance_agent.instrumentation import Instrumentation
from rebalance_agent.instrumentation.consumer_progress import ConsumerProgress, Partition
from rebalance_agent.instrumentation.suppress import quietly
from rebalance_agent.model.events import Callback

__all__ = ["ConfluentHooks", "OnRebalance", "offsets_of", "record_commit"]

OnRebalance = Callable[[confluent_kafka.Consumer, list[confluent_kafka.TopicPartition]], Any]
"""Callback ``on_assign``, ``on_revoke`` or ``on_lost``: consumer and partitions."""

_NAMES = {"on_assign": Callback.ASSIGNED, "on_revoke": Callback.REVOKED, "on_lost": Callback.LOST}


class ConfluentHooks(cimpl.Consumer):
    """``confluent_kafka.Consumer`` that reports to its ``_instrumentation``. It changes nothing else.

    ``_auto_commit``: librdkafka commits the positions when partitions are revoked. ``_unsubscribing``: the consumer
    leaves the group when the partitions are revoked.
    """

    _instrumentation: Instrumentation
    _auto_commit: bool
    _unsubscribing: bool

    def subscribe(
        self,
        topics: list[str],
        on_assign: OnRebalance | None = None,
        on_revoke: OnRebalance | None = None,
        on_lost: OnRebalance | None = None,
    ) -> None:
        """Like ``confluent_kafka.Consumer.subscribe``; the callbacks are timed."""
        callbacks = {Callback.ASSIGNED: on_assign, Callback.REVOKED: on_revoke, Callback.LOST: on_lost}
        own = {callback: function for callback, function in callbacks.items() if function is not None}
        super().subscribe(
            topics,
            # An object that cannot be called is passed on: confluent-kafka refuses it.
            **{
                name: self._callback(callback, own) if callable(own.get(callback, _ignore)) else own[callback]
                for name, callback in _NAMES.items()
            },
        )
        self._unsubscribing = False

    def commit(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - confluent-kafka's
        """Like ``confluent_kafka.Consumer.commit``."""
        result = super().commit(*arguments, **named)
        if isinstance(result, list):
            record_commit(self._instrumentation.progress, result)
        return result

    def unsubscribe(self) -> None:
        """Like ``confluent_kafka.Consumer.unsubscribe``: owned partitions are revoked first, in a later `poll`."""
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
        """Like ``confluent_kafka.Consumer.close``: owned partitions are revoked first, in this call."""
        self._unsubscribing = False
        with self._instrumentation.leaving():
            super().close()

    def __exit__(self, *raised: object) -> Any:  # noqa: ANN401
        """Like `close`, which confluent-kafka's own ``__exit__`` does not call."""
        self._unsubscribing = False
        with self._instrumentation.leaving():
            return super().__exit__(*raised)

    def _callback(self, callback: Callback, own: Mapping[Callback, OnRebalance]) -> Callable[[Any, Any], None]:
        """Return a callback for confluent-kafka, which passes this consumer; a bound method would keep it alive."""
        return partial(ConfluentHooks._run, callback=callback, own=own)

    def _gets_changes(self) -> bool:
        """Whether a callback gets only the partitions that change owners."""
        raise NotImplementedError

    def _run(self, partitions: Any, *, callback: Callback, own: Mapping[Callback, OnRebalance]) -> None:  # noqa: ANN401
        users = {f"on_partitions_{name}": partial(function, self) for name, function in own.items()}
        methods: dict[str, Callable[..., Any]] = {
            "on_partitions_assigned": _ignore,
            "on_partitions_revoked": _ignore,
            **users,
        }
        if callback is Callback.REVOKED and self._auto_commit:
            methods["on_partitions_revoked"] = partial(self._committing, methods["on_partitions_revoked"])
        listener = self._instrumentation.listener(SimpleNamespace(**methods), cooperative=self._gets_changes())
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
            record_commit(self._instrumentation.progress, self.position(partitions))
        return result


def record_commit(progress: ConsumerProgress | None, partitions: Iterable[confluent_kafka.TopicPartition]) -> None:
    """Add the committed offsets of ``partitions`` to ``progress``, if there is one. Raises nothing."""
    with quietly("record a commit"):
        if progress is not None:
            progress.committed(offsets_of(partitions))


def offsets_of(partitions: Iterable[confluent_kafka.TopicPartition]) -> dict[Partition, int]:
    """Return partition -> offset, for those of ``partitions`` that have one."""
    return {
        (partition.topic, partition.partition): partition.offset
        for partition in partitions
        if partition.error is None and partition.offset >= 0
    }


def _ignore(*_arguments: object) -> None:
    return None
