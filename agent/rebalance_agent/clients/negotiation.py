"""Which strategy a group uses: the coordinator's vote, and why a member is refused, in words.

Of the strategies that all members list, each member votes for the one that it lists first; most votes win
(``ClassicGroup.selectProtocol`` of Kafka). A member that lists none of them is refused: ``InconsistentGroupProtocol``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

__all__ = ["explain_inconsistent_protocols", "select_strategy"]

NAMES_MAX = 5
"""Names of one kind that an explanation spells out; a group may have thousands of members."""

_JAVA_TABLE_SIZE = 16  # of a java.util.HashMap with at most 12 entries; it doubles when it gets fuller
_JAVA_LOAD = 0.75


def select_strategy(offers: Iterable[Sequence[str]]) -> str | None:
    """The strategy that members with these lists, best first, get; None where they have none in common.

    Kafka counts votes in a Java ``HashMap`` and takes the first of equals in its order, which has nothing to do with
    the order of votes or names; it is the same here, so that a tie ends as in a real group.
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
    return max(_java_map_order(votes), key=votes.__getitem__)


def explain_inconsistent_protocols(member: str, offers: Sequence[str], group: Mapping[str, Sequence[str]]) -> str:
    """Why ``member``, which offers these strategies, cannot be in ``group`` (member -> what it offers), in one line.

    A client that was refused may know of the group only what ``DescribeGroups`` tells; any names and offers will do.
    """
    of_list: dict[tuple[str, ...], list[str]] = {}
    for name in group:
        of_list.setdefault(tuple(group[name]), []).append(name)
    said = "; ".join(f"{_some(names)} {_offer(names, offered)}" for offered, names in of_list.items())
    common = set.intersection(*map(set, of_list)) if of_list else set()
    shared = [name for name in next(iter(of_list), ()) if name in common]
    advice = f"{member} must list {' or '.join(shared)}" if shared else "These have none in common themselves"
    return (
        f"InconsistentGroupProtocol: {member} {_offer([member], offers)}, and no strategy is offered by everybody: "
        f"{said or 'nobody else is there'}. {advice}. To change a group's strategy, let all members list the old and "
        "the new one first, then take the old one away."
    )


def _offer(names: Collection[str], offered: Sequence[str]) -> str:
    return f"{'offers' if len(names) == 1 else 'offer'} {_some(offered) if offered else 'nothing'}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES_MAX])
    return shown if len(names) <= NAMES_MAX else f"{shown} and {len(names) - NAMES_MAX} more"


def _java_map_order(names: Collection[str]) -> list[str]:
    size = _JAVA_TABLE_SIZE
    while len(names) > size * _JAVA_LOAD:
        size *= 2
    return sorted(names, key=lambda name: _java_hash(name) & (size - 1))


def _java_hash(text: str) -> int:
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for unit in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (unit[0] << 8 | unit[1])) & 0xFFFF_FFFF
    return code ^ code >> 16
