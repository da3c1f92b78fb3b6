"""What other members' subscriptions look like to kafka-python's leader.

kafka-python 3.0 reads every member's subscription before it calls the assignor. One that ends early (sarama's "version
1" has the fields of version 0) or is broken ends the whole group's rebalance with an exception, again and again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.consumer import NEWEST_VERSION, decode_subscription, encode_subscription
from rebalance_agent.model.subscription import ConsumerSubscription

__all__ = ["complete", "read_tolerantly"]

_logger = logging.getLogger(__name__)


def read_tolerantly(coordinator: Any) -> None:  # noqa: ANN401 - kafka-python is untyped
    """Make a consumer's coordinator see `complete` subscriptions only.

    ``_perform_assignment`` is the method that kafka-python's ``BaseCoordinator`` documents for group types to fill in;
    there is no public place between the coordinator's answer and the assignor.
    """
    perform = coordinator._perform_assignment  # noqa: SLF001

    def perform_assignment(leader_id: str, protocol: str, members: Iterable[Any]) -> Mapping[str, Any]:
        for member in members:
            member.metadata = complete(member.member_id, member.metadata)
        result: Mapping[str, Any] = perform(leader_id, protocol, members)
        return result

    coordinator._perform_assignment = perform_assignment  # noqa: SLF001


def complete(member_id: str, data: bytes) -> bytes:
    """The same subscription with every field there; one that cannot be read subscribes to nothing."""
    try:
        subscription = decode_subscription(data)
    except DecodeError as error:
        _logger.warning("member %s gets nothing: its subscription cannot be read: %s", member_id, error)
        subscription = ConsumerSubscription(NEWEST_VERSION, ())
    return encode_subscription(replace(subscription, version=NEWEST_VERSION))
