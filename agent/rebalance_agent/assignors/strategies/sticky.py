"""``sticky`` and ``cooperative-sticky``: the best balance of partition counts, then the fewest moves and rack misses.

Both use the wire formats of Kafka's assignors of these names (KIP-54, KIP-341, KIP-429), so Java, librdkafka, franz-go
and Python members can share a group. Under the eager protocol, user data contains what a member owns. Under the
cooperative protocol, the subscription contains what a member owns, and user data the generation.
"""

from __future__ import annotations

from rebalance_agent.assignors.balance.dealing import deal_balanced
from rebalance_agent.assignors.balance.promise import by_count
from rebalance_agent.assignors.locality.locality import locality_of, racks_known
from rebalance_agent.assignors.locality.nearest import deal_nearest
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.groupprotocol.user_data import (
    decode_cooperative_sticky,
    decode_sticky,
    encode_generation,
    encode_sticky,
)
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["STICKY", "sticky"]


def sticky(roster: Roster) -> Plan:
    """Return the plan with the best balance of counts that subscriptions allow, then the fewest moves.

    If racks are known, partitions that move or have no owner go to racks with a replica, as far as the fewest moves
    allow.
    """
    promise = by_count(roster)
    if racks_known(roster) and (locality := locality_of(roster)).matters:
        return deal_nearest(roster, locality, promise, moves_first=True)
    return deal_balanced(roster, promise)


STICKY = Strategy(
    name="sticky",
    protocol=RebalanceProtocol.EAGER,
    summary="the best balance of partition counts, with as few moves as possible, then as few rack misses as possible;"
    " Kafka's own wire format",
    plan=sticky,
    reader=decode_sticky,
    writer=encode_sticky,
    only_owned=True,
    cooperative_form=True,
    cooperative_reader=decode_cooperative_sticky,
    cooperative_writer=encode_generation,
    spread_rank=0,
)
