"""``sticky`` and ``cooperative-sticky``: the best balance of partition counts, then the fewest moves.

Both use the wire formats of Kafka's assignors of these names (KIP-54, KIP-341, KIP-429), so Java, librdkafka, franz-go
and Python members can share a group. Under the eager protocol, user data contains what a member owns; under the
cooperative one, the subscription does, and user data contains the generation.
"""

from __future__ import annotations

from rebalance_agent.assignors.balance.dealing import balance
from rebalance_agent.assignors.balance.promise import by_count
from rebalance_agent.assignors.roster import MemberUserData, Plan, Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.groupprotocol.sticky_fast_decoder import StickyUserData
from rebalance_agent.groupprotocol.user_data import (
    decode_cooperative_sticky,
    decode_sticky,
    encode_generation,
    encode_sticky,
)
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.subscription import UNKNOWN_GENERATION

__all__ = [
    "STICKY",
    "read_generation",
    "read_previous",
    "sticky",
    "write_generation",
    "write_previous",
]


def sticky(roster: Roster) -> Plan:
    """Return the plan with the best balance of counts that subscriptions allow, and the fewest moves."""
    return balance(roster, by_count(roster))


def read_previous(user_data: bytes) -> MemberUserData:
    """Decode a member's last assignment and its generation, in the format of Kafka's ``StickyAssignor``.

    Raises:
        DecodeError: it is neither version 1 nor version 0 of that schema.
    """
    return _member_user_data(decode_sticky(user_data))


def write_previous(user_data: MemberUserData) -> bytes:
    """Encode a member's user data under the eager protocol."""
    return encode_sticky(StickyUserData(user_data.owned, user_data.generation))


def read_generation(user_data: bytes) -> MemberUserData:
    """Decode the generation of a cooperative member, in the format of any client.

    Raises:
        DecodeError: it is none of them.
    """
    return _member_user_data(decode_cooperative_sticky(user_data))


def write_generation(user_data: MemberUserData) -> bytes:
    """Encode a member's user data under the cooperative protocol."""
    return encode_generation(user_data.generation)


def _member_user_data(decoded: StickyUserData) -> MemberUserData:
    # A generation below zero is unknown, and all unknown generations are equally old.
    return MemberUserData(owned=decoded.owned, generation=max(UNKNOWN_GENERATION, decoded.generation))


STICKY = Strategy(
    name="sticky",
    protocol=RebalanceProtocol.EAGER,
    summary="the best balance of partition counts, with as few moves as that allows; Kafka's own wire format",
    plan=sticky,
    reader=read_previous,
    writer=write_previous,
    only_owned=True,
    cooperative_form=True,
    cooperative_reader=read_generation,
    cooperative_writer=write_generation,
    spread_rank=0,
)
