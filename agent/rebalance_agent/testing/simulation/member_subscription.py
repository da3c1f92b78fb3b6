"""What a member offers when it joins: a subscription for each of its strategies."""

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
    """Strategy -> subscription, without the member id, as this package's clients write it.

    An eager member tells what it was ``assigned`` as a hint. Not so to a cooperative strategy, which would keep back
    for its new owner what this member has given up already.
    """
    eager = spec.protocol is RebalanceProtocol.EAGER
    offered = {}
    for name in spec.strategies:
        chosen = strategy(name)
        owned = {} if eager and chosen.protocol is RebalanceProtocol.COOPERATIVE else assigned
        offered[name] = MemberSubscription(
            member_id="",
            topics=topics,
            instance_id=spec.instance_id,
            owned=owned,
            generation=generation,
            rack=spec.rack,
            user_data=chosen.user_data(spec.config, owned, generation),
        )
    return offered
