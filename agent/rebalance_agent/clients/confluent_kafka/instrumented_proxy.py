"""A proxy that reports the rebalances of an existing confluent-kafka consumer, whose C type cannot be changed."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from confluent_kafka import cimpl

from rebalance_agent.clients.confluent_kafka.group_position import SOFTWARE, group_and_instance, membership_of
from rebalance_agent.clients.confluent_kafka.rebalance_hooks import ConfluentHooks, OnRebalance
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.instrumentation import Instrumentation
from rebalance_agent.model.events import Callback

__all__ = ["DEFAULT_CLIENT_ID", "InstrumentedProxy", "instrument"]

DEFAULT_CLIENT_ID = "rdkafka"
"""librdkafka's default."""


class _Delegating(cimpl.Consumer):
    """Passes every call to another consumer. It is a consumer only by type: its own C object is not initialised."""

    def __init__(self, consumer: cimpl.Consumer) -> None:
        self._consumer = consumer

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - what a subclass of confluent-kafka's consumer adds
        if name == "_consumer":  # copy and pickle ask before __init__ has run
            raise AttributeError(name)
        return getattr(self._consumer, name)

    def __enter__(self) -> Any:  # noqa: ANN401
        self._consumer.__enter__()
        return self

    def __exit__(self, *raised: object) -> Any:  # noqa: ANN401
        return self._consumer.__exit__(*raised)


def _delegated(name: str) -> Callable[..., Any]:
    def method(self: _Delegating, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        return getattr(self._consumer, name)(*arguments, **named)

    method.__name__ = name
    method.__doc__ = getattr(cimpl.Consumer, name).__doc__
    return method


for _name in dir(cimpl.Consumer):
    if not _name.startswith("_"):
        setattr(_Delegating, _name, _delegated(_name))


class InstrumentedProxy(ConfluentHooks, _Delegating):
    """A replacement for ``consumer``: `subscribe`, `unsubscribe` and `close` report, every other call is passed on.

    The consumer's settings cannot be read, so its commits are not detected, and records that are consumed again are not
    counted.
    """

    def __init__(self, consumer: cimpl.Consumer, client_id: str, **reporting: Any) -> None:  # noqa: ANN401
        """``client_id``: the consumer's ``client.id``. ``reporting``: arguments of `Instrumentation`.

        Raises:
            InvalidInputError: the consumer's group cannot be read.
        """
        super().__init__(consumer)
        known = group_and_instance(consumer.consumer_group_metadata())
        if known is None:
            raise InvalidInputError(
                "consumer", "does not expose its group: this version of confluent-kafka is not supported"
            )
        group, instance_id = known
        self._instrumentation = Instrumentation(
            group=group,
            client_id=client_id,
            software=SOFTWARE,
            membership=lambda: membership_of(consumer, instance_id),
            **reporting,
        )
        self._auto_commit = self._unsubscribing = False

    def _gets_changes(self) -> bool:
        # In this callback an eager member has given up all its partitions, a cooperative one keeps some.
        return bool(self._consumer.assignment())

    def _callback(self, callback: Callback, own: Mapping[Callback, OnRebalance]) -> Callable[[Any, Any], None]:
        # confluent-kafka passes its own consumer.
        return partial(_run, weakref.ref(self), callback=callback, own=own)


def _run(
    reference: Callable[[], InstrumentedProxy | None],
    consumer: cimpl.Consumer,
    partitions: Any,  # noqa: ANN401
    *,
    callback: Callback,
    own: Mapping[Callback, OnRebalance],
) -> None:
    if (proxy := reference()) is not None:
        proxy._run(partitions, callback=callback, own=own)  # noqa: SLF001
        return
    lost_as_revoked = own.get(Callback.REVOKED) if callback is Callback.LOST else None
    if function := own.get(callback, lost_as_revoked):
        function(consumer, partitions)


def instrument(consumer: cimpl.Consumer, client_id: str | None = None, **reporting: Any) -> InstrumentedProxy:  # noqa: ANN401
    """Return a proxy of ``consumer`` that reports its rebalances. ``reporting``: arguments of `Instrumentation`.

    Raises:
        InvalidInputError: the consumer is closed, or is a member of its group.
    """
    try:
        member_id = consumer.memberid()
    except RuntimeError:
        raise InvalidInputError("consumer", "is closed") from None
    if member_id:
        raise InvalidInputError("consumer", "has joined its group: call instrument() before subscribe()")
    return InstrumentedProxy(consumer, client_id or DEFAULT_CLIENT_ID, **reporting)
