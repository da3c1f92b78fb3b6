"""Selects a group's strategy as the coordinator does, and explains why a member is refused.

Each member votes for the first strategy in its list that all members support; the strategy with the most votes wins
(``ClassicGroup.selectProtocol`` of Kafka). A member that supports none of them gets ``InconsistentGroupProtocol``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from rebalance_agent.assignors.broker.java_order import map_order
from rebalance_agent.groupprotocol.classic_group import CONSUMER_PROTOCOL_TYPE

__all__ = ["GroupDescription", "explain_inconsistent_protocols", "explain_refusal", "select_strategy"]

NAMES_MAX = 5
"""Maximum number of members, and of strategies, that an explanation names. A group may have thousands."""


def select_strategy(offers: Iterable[Sequence[str]]) -> str | None:
    """Return the strategy of a group whose members offer these lists, best first; None if they have none in common.

    Kafka counts votes in a Java ``HashMap`` and takes the first of equals in the map's order, which depends only on
    hashes. This order is reproduced here, so that ties are broken as in a real group.
    """
    lists = Counter(map(tuple, offers))
    common: set[str] | None = None
    for names in lists:
        common = set(names) if common is None else common & set(names)
    if not common:
        return None
    votes: Counter[str] = Counter()
    for names, members in lists.items():
        votes[next(name for name in names if name in common)] += members
    return max(map_order(votes), key=votes.__getitem__)


class GroupDescription(NamedTuple):
    """A group as ``DescribeGroups`` returns it: with only the strategy in use, not all strategies that members offer.

    ``protocol_type`` and ``protocol`` are empty for a group without members; ``client_ids``: those of its members.
    """

    protocol_type: str
    protocol: str
    client_ids: tuple[str, ...]


def explain_refusal(group: str, offers: Sequence[str], described: GroupDescription | str) -> str:
    """Explain why a consumer that offers these strategies cannot join ``group``: error 23, which has no text.

    ``described``: the group, or why it could not be described.
    """
    if isinstance(described, str):
        return f"group {group} rejects a member that offers {', '.join(offers)}, and cannot be described: {described}"
    if described.protocol_type not in ("", CONSUMER_PROTOCOL_TYPE):
        kind = described.protocol_type
        return f"group {group} is of type {kind!r} and accepts no consumers: choose another group_id"
    others = {client_id: [described.protocol] for client_id in described.client_ids if described.protocol}
    return f"group {group}: {explain_inconsistent_protocols('this consumer', offers, others)}"


def explain_inconsistent_protocols(member: str, offers: Sequence[str], group: Mapping[str, Sequence[str]]) -> str:
    """Explain in one line why ``member``, which offers these strategies, cannot join ``group`` (member -> its offers).

    A refused client may have only what ``DescribeGroups`` returns, so ``group`` may hold any names and partial offers.
    """
    members_by_offer: dict[tuple[str, ...], list[str]] = {}
    for name in group:
        members_by_offer.setdefault(tuple(group[name]), []).append(name)
    others = "; ".join(f"{_some(names)} {_offer(names, offered)}" for offered, names in members_by_offer.items())
    common = set.intersection(*map(set, members_by_offer)) if members_by_offer else set()
    shared = [name for name in next(iter(members_by_offer), ()) if name in common]
    advice = (
        f", so {member} must list {' or '.join(shared)}" if shared else ". The other members have no strategy in common"
    )
    return (
        f"InconsistentGroupProtocol: {member} {_offer([member], offers)}, and no strategy is offered by all members: "
        f"{others or 'there is no other member'}{advice}. To change a group's strategy, let all members list the old "
        "and the new one first, then remove the old one."
    )


def _offer(names: Collection[str], offered: Sequence[str]) -> str:
    return f"{'offers' if len(names) == 1 else 'offer'} {_some(offered) if offered else 'nothing'}"


def _some(names: Sequence[str]) -> str:
    text = ", ".join(names[:NAMES_MAX])
    return text if len(names) <= NAMES_MAX else f"{text} and {len(names) - NAMES_MAX} more"
