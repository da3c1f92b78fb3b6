"""All strategies by their names on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rebalance_agent.assignors.failover import PRIORITY, failover, promise_failover, read_priority, write_priority
from rebalance_agent.assignors.ranges import ranges
from rebalance_agent.assignors.roundrobin import roundrobin, shuffled_roundrobin
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.assignors.weighted import WEIGHT, promise_weighted, read_weighted, weighted, write_weighted
from rebalance_agent.errors import AssignmentError
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["COOPERATIVE_PREFIX", "STRATEGIES", "strategy"]

COOPERATIVE_PREFIX = "cooperative-"
"""The coordinator negotiates by name alone, so a cooperative form is a name of its own."""

_EAGER = (
    Strategy(
        name="failover",
        protocol=RebalanceProtocol.EAGER,
        summary="every partition to the member with the highest priority; an equal newcomer never takes over",
        plan=failover,
        promise=promise_failover,
        config=(PRIORITY,),
        reader=read_priority,
        writer=write_priority,
    ),
    Strategy(
        name="range",
        protocol=RebalanceProtocol.EAGER,
        summary="consecutive partitions of each topic to members in order; co-partitions topics of equal count",
        plan=ranges,
    ),
    Strategy(
        name="roundrobin",
        protocol=RebalanceProtocol.EAGER,
        summary="all topic-partitions dealt in turn to members in order",
        plan=roundrobin,
    ),
    Strategy(
        name="shuffled-roundrobin",
        protocol=RebalanceProtocol.EAGER,
        summary="as roundrobin, over members in a pseudo-random order of the group's own",
        plan=shuffled_roundrobin,
    ),
    Strategy(
        name="weighted-sticky",
        protocol=RebalanceProtocol.EAGER,
        summary="partitions in proportion to members' weights, with as few moves as that allows",
        plan=weighted,
        promise=promise_weighted,
        config=(WEIGHT,),
        reader=read_weighted,
        writer=write_weighted,
    ),
)


def _cooperative(eager: Strategy) -> Strategy:
    return Strategy(
        name=COOPERATIVE_PREFIX + eager.name,
        protocol=RebalanceProtocol.COOPERATIVE,
        summary=f"as {eager.name}; what moves is revoked first and given out in a follow-up rebalance",
        plan=eager.plan,
        promise=eager.promise,
        config=eager.config,
        reader=eager.reader,
        writer=eager.writer,
    )


_COOPERATIVE = tuple(_cooperative(eager) for eager in _EAGER if eager.name in {"failover", "weighted-sticky"})

STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {each.name: each for each in sorted((*_EAGER, *_COOPERATIVE), key=lambda each: each.name)}
)
"""Name on the wire -> strategy, sorted by name."""


def strategy(name: str) -> Strategy:
    """The strategy of that name.

    Raises:
        AssignmentError: there is none; the text lists the names there are.
    """
    found = STRATEGIES.get(name)
    if found is None:
        raise AssignmentError(f"there is no strategy {name[:200]!r}; the strategies are {', '.join(STRATEGIES)}")
    return found
