"""``shuffled-roundrobin``: the balance and few moves of ``sticky``, with a group-specific order of members.

The order is pseudo-random, and members of one host are far apart in it, so that a topic is not entirely on one host.
Topics that are entirely on one host are broken up (see ``host_spread``).
"""

from __future__ import annotations

import hashlib

from rebalance_agent.assignors.balance.dealing import deal_balanced
from rebalance_agent.assignors.balance.promise import by_count
from rebalance_agent.assignors.reordered_roster import in_first_order, reordered
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategies.host_spread import break_up
from rebalance_agent.assignors.strategies.hosts import host_of, interleaved
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.member_changes import identity
from rebalance_agent.model.subscription import MemberSubscription

__all__ = ["SHUFFLED_ROUNDROBIN", "shuffled_roundrobin"]

DIGEST_BYTES = 16
"""Length of a sort key in bytes: long enough that no two members get equal keys."""


def shuffled_roundrobin(roster: Roster) -> Plan:
    """Return a plan with the best balance, then topics on several hosts, then the fewest moves.

    Partitions that no member owns are dealt in an order that depends only on the names of members and topics. So the
    members whose names sort first do not get more than others in every group.
    """
    seed = hashlib.blake2b(digest_size=DIGEST_BYTES)
    # A static member keeps its position over restarts, which change its member id.
    for text in (*map(identity, roster.members), "", *roster.topics):
        data = text.encode("utf-8", "surrogatepass")
        seed.update(len(data).to_bytes(4, "big") + data)
    key = seed.digest()
    hosts = list(map(host_of, roster.members))
    order = interleaved(hosts, [_sort_key(key, member) for member in roster.members])
    shuffled = reordered(roster, order)
    plan = deal_balanced(shuffled, by_count(shuffled))
    break_up(shuffled, plan, [hosts[member] for member in order])
    return in_first_order(plan, order)


def _sort_key(key: bytes, member: MemberSubscription) -> bytes:
    kind = b"s" if member.instance_id is not None else b"d"
    return hashlib.blake2b(
        kind + identity(member).encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES, key=key
    ).digest()


SHUFFLED_ROUNDROBIN = Strategy(
    name="shuffled-roundrobin",
    protocol=RebalanceProtocol.EAGER,
    summary="the best balance of partition counts, no topic entirely on one host where that is possible, and few moves;"
    " members in a pseudo-random order that is specific to the group",
    plan=shuffled_roundrobin,
    spread_rank=1,
)
