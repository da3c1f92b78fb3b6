"""Makes subscriptions of other members, and assignments of other leaders, safe for kafka-python.

kafka-python 3.0 decodes every member's subscription before it calls the assignor, and requests metadata of its topics.
A subscription that is truncated (sarama's "version 1" has the fields of version 0), malformed, or names an invalid
topic ends the rebalance of the whole group with an exception, again and again. So does, in the member that gets it, an
assignment that cannot be decoded, as from a leader that left the member out.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from rebalance_agent.clients.participant import read_assignment
from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.consumer_protocol import (
    NEWEST_VERSION,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription

__all__ = ["complete", "read_tolerantly"]

_logger = logging.getLogger(__name__)

_TOPIC = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")
"""Valid topic names, by Kafka's rules."""

_NOTHING = encode_assignment(ConsumerAssignment(NEWEST_VERSION, {}))


def read_tolerantly(coordinator: Any) -> None:  # noqa: ANN401 - kafka-python is untyped
    """Patch a consumer's coordinator: it processes only `complete` subscriptions, and assignments that can be decoded.

    ``_perform_assignment`` and ``_on_join_complete_async`` are the methods that kafka-python's ``BaseCoordinator``
    documents for subclasses to implement. There is no public API between them and the coordinator's responses.
    """
    perform = coordinator._perform_assignment  # noqa: SLF001
    join_complete = coordinator._on_join_complete_async  # noqa: SLF001

    def perform_assignment(leader_id: str, protocol: str, members: Iterable[Any]) -> Mapping[str, Any]:
        for member in members:
            member.metadata = complete(member.member_id, member.metadata)
        result: Mapping[str, Any] = perform(leader_id, protocol, members)
        return result

    async def on_join_complete(generation: int, member_id: str, protocol: str, data: bytes) -> None:
        await join_complete(generation, member_id, protocol, _NOTHING if read_assignment(data) is None else data)

    coordinator._perform_assignment = perform_assignment  # noqa: SLF001
    coordinator._on_join_complete_async = on_join_complete  # noqa: SLF001


def complete(member_id: str, data: bytes) -> bytes:
    """Return ``data``, encoded again with every field of the newest version, and without topics that cannot exist.

    A subscription that cannot be decoded is replaced by an empty one.
    """
    try:
        subscription = decode_subscription(data)
    except DecodeError as error:
        _logger.warning("member %s gets no partitions: its subscription cannot be read: %s", member_id, error)
        subscription = ConsumerSubscription(NEWEST_VERSION, ())
    topics = tuple(filter(_TOPIC.fullmatch, subscription.topics))
    if topics != subscription.topics:
        impossible = next(topic for topic in subscription.topics if topic not in topics)
        _logger.warning("member %s subscribes to a topic that cannot exist: %r", member_id, impossible[:40])
    return encode_subscription(replace(subscription, version=NEWEST_VERSION, topics=topics))
