"""Chooses the names of members in a group's charts: readers recognise them, and they are unique in each generation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.model.member_changes import member_name

__all__ = ["MemberRow", "owned_by_name"]

_TAIL = 6
"""Characters of the member id that are appended to a name that is not unique."""


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member of a generation, and the number of partitions assigned to it."""

    member_id: str
    client_id: str
    partitions: int
    instance_id: str | None = None
    pod: str | None = None

    @property
    def name(self) -> str:
        """The member's name for people, see `member_name`."""
        return member_name(self.client_id, self.instance_id, pod=self.pod)


def owned_by_name(generations: Sequence[Sequence[MemberRow]]) -> list[Mapping[str, int]]:
    """Return the number of partitions by member name for each generation.

    If two members of one generation have the same name, as is usual for Java clients, the end of the member id is
    appended to that name in all generations.
    """
    twins = {
        name for members in generations for name, number in Counter(each.name for each in members).items() if number > 1
    }
    named: list[Mapping[str, int]] = []
    for members in generations:
        counts: Counter[str] = Counter()
        for member in members:
            name = f"{member.name} …{member.member_id[-_TAIL:]}" if member.name in twins else member.name
            counts[name] += member.partitions
        named.append(dict(counts))
    return named
