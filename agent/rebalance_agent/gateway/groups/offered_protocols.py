"""What a JoinGroup offers, and our strategy put before it: functions over kafka-python's messages."""

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

__all__ = ["COMMON_ASSIGNORS", "CONSUMER", "Offer", "OwnProtocol", "offer", "own_protocols", "serves"]

CONSUMER = "consumer"
"""The protocol type of consumers, and of Kafka Streams."""

COOPERATIVE_STICKY = "cooperative-sticky"

COMMON_ASSIGNORS = frozenset({"range", "roundrobin", "sticky", COOPERATIVE_STICKY, "RoundRobinAssigner"})
"""Kafka's own assignors, which clients know by these names, and what KafkaJS has instead of all of them. A member with
another one has a reason for it: Streams' ``stream``, an assignor of its own, our library."""

_STREAMS = "stream"


@dataclass(frozen=True, slots=True)
class OwnProtocol:
    """What a client offers by itself: its assignors' names in its order, and the first one's subscription."""

    names: tuple[str, ...]
    subscription: ConsumerSubscription

    @property
    def common(self) -> bool:
        """Whether everybody's assignors are all that it offers, so that another may be put before them."""
        return COMMON_ASSIGNORS.issuperset(self.names)

    @property
    def protocol(self) -> RebalanceProtocol:
        """How the client gives partitions up."""
        return _protocol(self.names)


@dataclass(frozen=True, slots=True)
class Offer:
    """``strategy`` was put before what the client offers, which is told ``told`` if the group chooses it.

    ``version``: of the subscriptions that the client writes, and so can read.
    """

    strategy: Strategy
    told: str
    version: int


def own_protocols(request: Any) -> OwnProtocol | None:  # noqa: ANN401 - kafka-python is untyped
    """What the client of this JoinGroup offers; None where it is no consumer, or its subscription cannot be read."""
    names = tuple(each.name for each in request.protocols or ())
    if request.protocol_type != CONSUMER or not names:
        return None
    try:
        return OwnProtocol(names, decode_subscription(bytes(request.protocols[0].metadata or b"")))
    except DecodeError:
        return None


def serves(strategy: Strategy, names: Collection[str]) -> str:
    """Why ``strategy`` cannot serve a client that offers ``names``, and what to set; empty if it can."""
    offered = ", ".join(names)
    if strategy.protocol is _protocol(names):
        return ""
    if strategy.protocol is RebalanceProtocol.COOPERATIVE:
        return (
            f"{strategy.name} is cooperative, and a client with {offered} gives everything up before it joins: "
            f"configure the group with an eager strategy, or all its clients with {COOPERATIVE_STICKY} alone"
        )
    return (
        f"{strategy.name} is eager, and a client with {offered} keeps its partitions while it joins: "
        "configure the group with a cooperative strategy, or all its clients with range"
    )


def _protocol(names: Collection[str]) -> RebalanceProtocol:
    """A client keeps its partitions while it joins only if all that it offers is cooperative (KIP-429)."""
    cooperative = all(name == _STREAMS or name.startswith(COOPERATIVE_PREFIX) for name in names)
    return RebalanceProtocol.COOPERATIVE if cooperative else RebalanceProtocol.EAGER


def offer(request: Any, own: OwnProtocol, strategy: Strategy, metadata: bytes) -> Offer:  # noqa: ANN401
    """Put ``strategy`` with ``metadata`` before what the client offers; in place of its own of that name, if any."""
    kept = [each for each in request.protocols if each.name != strategy.name]
    kind = type(request.protocols[0])
    request.protocols = [kind(version=request.version, name=strategy.name, metadata=metadata), *kept]
    told = strategy.name if strategy.name in own.names else own.names[0]
    return Offer(strategy, told, min(own.subscription.version, NEWEST_VERSION))
