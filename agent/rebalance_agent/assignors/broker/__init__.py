"""Models of the assignors of Kafka's brokers (KIP-848), for groups whose coordinator assigns.

- ``uniform``: spreads partitions evenly and keeps what members have. ``mixed_subscriptions``: does this in groups whose
  members subscribe to different topics, with the order of members in ``load_levels``.
- ``range``: assigns like the classic assignor, without racks.
- ``java_order``: computes the order of Java's maps, by which a broker decides between equal members.

Given the broker's order of members and topics, results are identical. A roster sorts both by name: the loads are the
same, but other members may have one partition more.

Source: measured against the classes of Kafka 4.4.0 (``tests/peers/test_kafkas_own_broker_assignors.py``).
"""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.assignors.broker.uniform import uniform
from rebalance_agent.assignors.strategies.range import plain_ranges
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["BROKER_ASSIGNORS"]

BROKER_ASSIGNORS: Mapping[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Strategy(
            name="uniform",
            protocol=RebalanceProtocol.COOPERATIVE,
            summary="the brokers' default: assigns partitions as evenly as possible, and members keep their partitions",
            plan=uniform,
        ),
        Strategy(
            name="range",
            protocol=RebalanceProtocol.COOPERATIVE,
            summary="the brokers' range: assigns consecutive partitions of each topic to members in order",
            plan=plain_ranges,
        ),
    )
}
"""The brokers' default assignors, by their names in ``group.consumer.assignors``. Members cannot run them."""
