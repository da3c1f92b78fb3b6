"""Returns members' names, safe to print on a terminal, and the partitions that moved between members. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from rebalance_agent.model.events import MemberSnapshot
from rebalance_agent.model.group import HasIds
from rebalance_agent.model.member_changes import identity, member_name
from rebalance_agent.model.partition_ranges import ReportedPartitions, ranges_text
from rebalance_agent.model.reported.seat_event import SeatOccupant
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.ui.words import printable

__all__ = [
    "NamedMember",
    "PartitionMove",
    "member_names",
    "moves",
    "partitions_text",
]

ID_TAIL = 6
"""Number of last characters of a member id that distinguish members with equal names: ids end with a random UUID."""


class NamedMember(HasIds, Protocol):
    """A member with ids and workload: `GroupMember` of the API, or `MemberSnapshot` of an event."""

    @property
    def where(self) -> Workload | None:
        """The workload in which the member runs, if its sidecar reported the workload."""
        ...

    @property
    def occupant(self) -> SeatOccupant | None:
        """The consumer in the member's seat, if a gateway handed over the seat."""
        ...


@dataclass(frozen=True, slots=True)
class PartitionMove:
    """Partitions of one topic that moved between two members (identities); None: they had, or have, no owner."""

    topic: str
    partitions: tuple[int, ...]
    giver: str | None
    taker: str | None


def partitions_text(partitions: ReportedPartitions) -> str:
    """Return ``orders 0-4,7; payments 1``."""
    return "; ".join(f"{printable(topic)} {ranges_text(numbers)}" for topic, numbers in sorted(partitions.items()))


def member_names(members: Iterable[NamedMember]) -> Mapping[str, str]:
    """Return identity -> the member's display name (see `member_name`), or its member id if it has no other name.

    Members with equal names get the end of their member id in brackets.
    """
    by_identity = {identity(member): member for member in members}
    names = {name: _name(member) for name, member in by_identity.items()}
    times = Counter(names.values())
    return {
        name: printable(text if times[text] == 1 else f"{text} ({by_identity[name].member_id[-ID_TAIL:]})")
        for name, text in names.items()
    }


def moves(before: Iterable[MemberSnapshot], after: Iterable[MemberSnapshot]) -> tuple[PartitionMove, ...]:
    """Return the partitions that changed owner, grouped by topic, giver and taker."""
    had, has = _owners(before), _owners(after)
    ways: dict[tuple[str, str | None, str | None], set[int]] = {}
    for partition in had.keys() | has.keys():
        giver, taker = had.get(partition), has.get(partition)
        if giver != taker:
            ways.setdefault((partition[0], giver, taker), set()).add(partition[1])
    ordered = sorted(ways.items(), key=lambda way: (way[0][0], min(way[1])))
    return tuple(
        PartitionMove(topic, tuple(sorted(numbers)), giver, taker) for (topic, giver, taker), numbers in ordered
    )


def _owners(members: Iterable[MemberSnapshot]) -> dict[tuple[str, int], str]:
    return {
        (topic, number): identity(member)
        for member in members
        for topic, numbers in member.assigned.items()
        for number in numbers
    }


def _name(member: NamedMember) -> str:
    pod = member.where.pod if member.where else None
    client_id = (member.occupant and member.occupant.client_id) or member.client_id
    return member_name(client_id, member.instance_id, pod=pod) or member.member_id
