"""``rack-aware-sticky``: the best balance first, then the fewest misses, then the fewest moves; all three are exact.

A miss is a partition whose owner's rack has no replica of it, or whose owner lacks labels that its topic prefers (see
``locality``).
"""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.assignors.balance.dealing import deal_balanced
from rebalance_agent.assignors.balance.promise import by_count
from rebalance_agent.assignors.locality.labels import AFFINITY, LABELS, labels_of
from rebalance_agent.assignors.locality.locality import locality_of
from rebalance_agent.assignors.locality.nearest import deal_nearest
from rebalance_agent.assignors.replay_limits import ReplayLimits
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.user_data import decode_labelled, encode_labelled
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.subscription import MemberUserData

__all__ = ["RACK_AWARE_STICKY", "rack_aware", "read_labelled", "write_labels"]


def rack_aware(roster: Roster) -> Plan:
    """Return the plan with the best balance of counts, then the fewest misses, then the fewest moves."""
    locality = locality_of(roster, roster.of(LABELS), roster.shared_by_all(AFFINITY))
    if not locality.matters:
        return deal_balanced(roster, by_count(roster))
    return deal_nearest(roster, locality, by_count(roster), moves_first=False)


def read_labelled(user_data: bytes) -> MemberUserData:
    """Decode labels, last assignment and its generation from a member's user data.

    Raises:
        DecodeError: the user data breaks the format, or the labels are not valid.
    """
    decoded = decode_labelled(user_data)
    try:
        labels_of(decoded.settings[LABELS.name])
    except ValueError as error:
        raise DecodeError(f"rack-aware-sticky user data, labels: {error}") from None
    return decoded


def write_labels(user_data: MemberUserData) -> bytes:
    """Encode a member's user data for the cooperative protocol, where the subscription states what the member owns."""
    return encode_labelled(replace(user_data, owned={}))


_UNRECORDED = "it needs the racks of partitions, which events do not contain"

RACK_AWARE_STICKY = Strategy(
    name="rack-aware-sticky",
    protocol=RebalanceProtocol.EAGER,
    summary="the best balance of partition counts; within that balance, as many partitions as possible with a replica"
    " in the owner's rack, and with an owner that has the labels that the topic prefers; then as few moves as possible",
    plan=rack_aware,
    config=(LABELS, AFFINITY),
    reader=read_labelled,
    writer=encode_labelled,
    cooperative_form=True,
    cooperative_writer=write_labels,
    replay_limits=ReplayLimits(unrecorded=_UNRECORDED, refusal=_UNRECORDED),
)
