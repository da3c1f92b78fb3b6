"""`instrument` makes a consumer that a program created with the client's own class report its rebalances."""

from __future__ import annotations

import importlib
from typing import Any, TypeVar

from rebalance_agent.clock import Clock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.instrumentation import OnEvent

__all__ = ["instrument"]

_Consumer = TypeVar("_Consumer")

_ADAPTERS = {
    ("kafka", "KafkaConsumer"): "rebalance_agent.clients.kafka_python.rebalance_hooks",
    ("aiokafka", "AIOKafkaConsumer"): "rebalance_agent.clients.aiokafka.rebalance_hooks",
    ("cimpl", "Consumer"): "rebalance_agent.clients.confluent_kafka.instrumented_proxy",
}
"""Top package and name of a client's class -> the module whose ``instrument`` accepts its instances."""

_CONFLUENT = ("cimpl", "Consumer")


def instrument(
    consumer: _Consumer,
    *,
    events_url: str | None = None,
    events_token: str | None = None,
    on_event: OnEvent | None = None,
    client_id: str | None = None,
    clock: Clock | None = None,
) -> _Consumer:
    """Make ``consumer`` report its rebalances; call this before the consumer joins its group.

    Args:
        consumer: an instance of kafka-python's ``KafkaConsumer``, aiokafka's ``AIOKafkaConsumer`` or confluent-kafka's
            ``Consumer``, or of a subclass.
        events_url: the sidecar's URL; see `rebalance_agent.instrumentation.Instrumentation`.
        events_token: bearer token for the sidecar.
        on_event: called with each event; see `Instrumentation`.
        client_id: only for confluent-kafka, which does not return its settings: its ``client.id``, if one is set.
        clock: for the times in the events.

    Returns:
        ``consumer`` itself. For confluent-kafka a proxy, which has to be used in its place.

    Raises:
        InvalidInputError: ``consumer`` is another object, reports already, has no group, or has joined it.

    """
    kinds = [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(consumer).__mro__]
    if any(package == "rebalance_agent" for package, _ in kinds):
        raise InvalidInputError("consumer", "already reports its rebalances")
    client = next((kind for kind in kinds if kind in _ADAPTERS), None)
    if client is None:
        expected = "a consumer of confluent-kafka, kafka-python or aiokafka"
        raise InvalidInputError("consumer", f"must be {expected}, not {consumer!r:.80}")
    own: dict[str, Any] = {}
    if client == _CONFLUENT:
        own = {"client_id": client_id}
    elif client_id is not None:
        raise InvalidInputError("client_id", "is only for confluent-kafka: other consumers already have one")
    adapter = importlib.import_module(_ADAPTERS[client])
    made = adapter.instrument(
        consumer, clock=clock, events_url=events_url, events_token=events_token, on_event=on_event, **own
    )
    instrumented: _Consumer = made
    return instrumented
