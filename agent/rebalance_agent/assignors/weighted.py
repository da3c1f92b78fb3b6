"""``weighted-sticky``: partitions in proportion to members' weights, kept in place as far as that allows.

Weights 900, 90 and 10 on 100 partitions give 90, 9 and 1; what is left over by rounding goes by largest remainder, of
equal ones first to who owns it already. With mixed subscriptions the shares are those of `fair_densities`.
"""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.assignors.dealing import balance
from rebalance_agent.assignors.promise import Promise, by_weight
from rebalance_agent.assignors.roster import Plan, Roster, Told
from rebalance_agent.assignors.settings import INT32_MAX, Setting
from rebalance_agent.groupprotocol.userdata import WeightedUserData, decode_weighted, encode_weighted
from rebalance_agent.model.partitions import TopicPartitions

__all__ = ["WEIGHT", "promise_weighted", "read_weighted", "weighted", "write_weighted"]

WEIGHT = Setting(
    name="assignment.consumer.weight",
    default=1,
    minimum=1,
    maximum=INT32_MAX,
    meaning="this member's part of all partitions, in proportion to the other members' weights",
)


def weighted(roster: Roster) -> Plan:
    """Members get their weight's share with the fewest moves."""
    return balance(roster, promise_weighted(roster))


def promise_weighted(roster: Roster) -> Promise:
    """Each member's share by weight."""
    return by_weight(roster, roster.settings[WEIGHT.name])


def read_weighted(user_data: bytes) -> Told:
    """Weight and owned partitions from a member's user data.

    Raises:
        DecodeError: it breaks the format, or the weight is not above zero.
    """
    told = decode_weighted(user_data)
    return Told({WEIGHT.name: told.weight}, told.owned)


def write_weighted(settings: Mapping[str, int], owned: TopicPartitions) -> bytes:
    """A member's user data."""
    return encode_weighted(WeightedUserData(settings[WEIGHT.name], owned))
