"""The cooperative step (KIP-429): a partition that another live member holds is assigned only after its revocation."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.assignors.roster import Plan, Roster

__all__ = ["withhold"]


def withhold(roster: Roster, target: Plan) -> tuple[Plan, Plan]:
    """Split ``target`` into the partitions that members get in this round, and those that current holders must revoke.

    A partition is withheld if a member other than its new owner claims it in the newest generation, even if two members
    claim it and so neither owns it.
    """
    now: Plan = [dict(given) for given in target]
    revoking: list[dict[str, list[int]]] = [{} for _ in target]
    ownership_index = roster.ownership_index
    if not ownership_index.disputed and not any(ownership_index.holdings):
        return now, [{} for _ in target]
    topic_index = {topic: index for index, topic in enumerate(roster.topics)}
    unclaimed: dict[str, frozenset[int]] = {}
    held: dict[str, dict[int, tuple[int, ...]]] = {}
    for member, (given, owned) in enumerate(zip(target, ownership_index.holdings, strict=True)):
        if given == owned:
            continue
        for topic, numbers in given.items():
            had = owned.get(topic, ())
            if numbers == had:
                continue
            if topic not in unclaimed:
                unclaimed[topic] = frozenset(
                    () if topic in ownership_index.disputed else ownership_index.gaps[topic_index[topic]]
                )
            # Most partitions that a member gains had no owner; that is cheaper to check than their holders.
            if unclaimed[topic].issuperset(numbers if not had else set(numbers).difference(had)):
                continue
            if topic not in held:
                held[topic] = roster.ownership[topic_index[topic]].holders()
            holders = held[topic]
            free = tuple(number for number in numbers if holders.get(number, (member,)) == (member,))
            if len(free) < len(numbers):
                _set_partitions(now[member], topic, free)
                _add_revocations(revoking, topic, member, sorted(set(numbers).difference(free)), holders)
    return now, [{topic: tuple(sorted(numbers)) for topic, numbers in topics.items()} for topics in revoking]


def _set_partitions(given: dict[str, tuple[int, ...]], topic: str, free: Sequence[int]) -> None:
    if free:
        given[topic] = tuple(free)
    else:
        del given[topic]


def _add_revocations(
    revoking: list[dict[str, list[int]]],
    topic: str,
    new_owner: int,
    numbers: Sequence[int],
    holders: dict[int, tuple[int, ...]],
) -> None:
    for number in numbers:
        for holder in holders[number]:
            if holder != new_owner:
                revoking[holder].setdefault(topic, []).append(number)
