"""Reads the assignors that a JoinGroup (kafka-python's message) offers, and puts our strategy before them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from rebalance_agent.assignors import Strategy
from rebalance_agent.assignors.strategy import COOPERATIVE_PREFIX
from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.consumer_protocol import NEWEST_VERSION, decode_subscription
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.subscription import ConsumerSubscription

__all__ = [
    "COMMON_ASSIGNORS",
    "CONSUMER",
    "COOPERATIVE_STICKY",
    "Offer",
    "OwnProtocol",
    "mismatch",
    "offer",
    "own_protocols",
]

CONSUMER = "consumer"
"""The protocol type of consumers, and of Kafka Streams."""

COOPERATIVE_STICKY = "cooperative-sticky"

COMMON_ASSIGNORS = frozenset({"range", "roundrobin", "sticky", COOPERATIVE_STICKY, "RoundRobinAssigner"})
"""Names of Kafka's own assignors, and of KafkaJS's only assignor. A member with another assignor needs that assignor:
the member is Kafka Streams (``stream``), or uses the application's own assignor or our library."""

_STREAMS = "stream"


@dataclass(frozen=True, slots=True)
class OwnProtocol:
    """A client's own offer: the names of its assignors in order, and the subscription for the first assignor."""

    names: tuple[str, ...]
    subscription: ConsumerSubscription

    @property
    def common(self) -> bool:
        """Whether the client offers only Kafka's own assignors, so that another assignor may be put before them."""
        return COMMON_ASSIGNORS.issuperset(self.names)

    @property
    def protocol(self) -> RebalanceProtocol:
        """The client's rebalance protocol: eager or cooperative."""
        return _protocol(self.names)


@dataclass(frozen=True, slots=True)
class Offer:
    """An offer of ``strategy`` before the client's own assignors.

    ``client_name``: the assignor named to the client if the group chooses ``strategy``. ``version``: the version of the
    subscriptions that the client writes and can therefore read.
    """

    strategy: Strategy
    client_name: str
    version: int


def own_protocols(request: Any) -> OwnProtocol | None:  # noqa: ANN401 - kafka-python is untyped
    """Return the client's own offer in a JoinGroup; None unless it is from a consumer and can be read."""
    names = tuple(protocol.name for protocol in request.protocols or ())
    if request.protocol_type != CONSUMER or not names:
        return None
    try:
        return OwnProtocol(names, decode_subscription(bytes(request.protocols[0].metadata or b"")))
    except DecodeError:
        return None


def mismatch(strategy: Strategy, names: Collection[str]) -> str:
    """Return why ``strategy`` does not suit a client that offers ``names``, and the fix; empty if it does."""
    offered = ", ".join(names)
    if strategy.protocol is _protocol(names):
        return ""
    if strategy.protocol is RebalanceProtocol.COOPERATIVE:
        return (
            f"{strategy.name} is cooperative, but a client with {offered} revokes all its partitions before it joins: "
            f"set an eager strategy in gateway_groups, or only {COOPERATIVE_STICKY} in all clients of the group"
        )
    return (
        f"{strategy.name} is eager, but a client with {offered} keeps its partitions while it joins: "
        "set a cooperative strategy in gateway_groups, or range in all clients of the group"
    )


def _protocol(names: Collection[str]) -> RebalanceProtocol:
    """Return cooperative if all offered assignors are cooperative: else clients revoke all before joining (KIP-429)."""
    cooperative = all(name == _STREAMS or name.startswith(COOPERATIVE_PREFIX) for name in names)
    return RebalanceProtocol.COOPERATIVE if cooperative else RebalanceProtocol.EAGER


def offer(request: Any, own: OwnProtocol, strategy: Strategy, metadata: bytes) -> Offer:  # noqa: ANN401
    """Put ``strategy`` with ``metadata`` before the client's assignors, and remove a client's assignor of that name."""
    kept = [protocol for protocol in request.protocols if protocol.name != strategy.name]
    kind = type(request.protocols[0])
    request.protocols = [kind(version=request.version, name=strategy.name, metadata=metadata), *kept]
    client_name = strategy.name if strategy.name in own.names else own.names[0]
    return Offer(strategy, client_name, min(own.subscription.version, NEWEST_VERSION))
