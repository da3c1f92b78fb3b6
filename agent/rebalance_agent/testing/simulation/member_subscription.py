"""The subscriptions of a JoinGroup: one for each strategy that the member lists."""

from __future__ import annotations

from rebalance_agent.assignors.strategy_registry import strategy
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import MemberSubscription
from rebalance_agent.testing.simulation.script import SimulatedMember

__all__ = ["offers"]


def offers(
    spec: SimulatedMember, topics: tuple[str, ...], assigned: TopicPartitions, generation: int
) -> dict[str, MemberSubscription]:
    """Strategy -> subscription without the member id, as this package's clients encode it.

    An eager member sends what it was ``assigned`` as a hint, but not to a cooperative strategy, which would withhold
    those partitions although the member has given them up.
    """
    eager = spec.protocol is RebalanceProtocol.EAGER
    subscriptions = {}
    for name in spec.strategies:
        chosen = strategy(name)
        owned = {} if eager and chosen.protocol is RebalanceProtocol.COOPERATIVE else assigned
        subscriptions[name] = MemberSubscription(
            member_id="",
            topics=topics,
            instance_id=spec.instance_id,
            owned=owned,
            generation=generation,
            rack=spec.rack,
            user_data=chosen.user_data(spec.config, owned, generation),
        )
    return subscriptions
