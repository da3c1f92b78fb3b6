"""``weighted-sticky``: partitions in proportion to members' weights, with the fewest moves.

Weights 900, 90 and 10 on 100 partitions give 90, 9 and 1; the rest of rounding goes by largest remainder, among equal
ones to present owners. With mixed subscriptions the shares are those of `fair_densities`.
"""

from __future__ import annotations

from rebalance_agent.assignors.balance.dealing import deal_balanced
from rebalance_agent.assignors.balance.promise import Promise, by_weight
from rebalance_agent.assignors.replay_limits import ReplayLimits
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.assignors.strategy_settings import INT32_MAX, whole_number
from rebalance_agent.groupprotocol.user_data import WEIGHT_SETTING, decode_weighted, encode_weighted
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["WEIGHT", "WEIGHTED_STICKY", "promise_weighted", "weighted"]

WEIGHT = whole_number(
    name=WEIGHT_SETTING,
    default=1,
    minimum=1,
    maximum=INT32_MAX,
    meaning="this member's share of the partitions, relative to the other members' weights",
)


def weighted(roster: Roster) -> Plan:
    """Return the plan that gives members their weight's share with the fewest moves."""
    return deal_balanced(roster, promise_weighted(roster))


def promise_weighted(roster: Roster) -> Promise:
    """Return each member's share by weight."""
    return by_weight(roster, roster.of(WEIGHT))


WEIGHTED_STICKY = Strategy(
    name="weighted-sticky",
    protocol=RebalanceProtocol.EAGER,
    summary="partitions in proportion to members' weights, with as few moves as that allows",
    plan=weighted,
    promise=promise_weighted,
    config=(WEIGHT,),
    reader=decode_weighted,
    writer=encode_weighted,
    cooperative_form=True,
    replay_limits=ReplayLimits(
        on_request="no weights are recorded, and with equal weights it assigns as sticky does",
    ),
)
