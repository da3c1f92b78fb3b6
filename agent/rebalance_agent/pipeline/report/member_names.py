"""Which name a member goes by in a group's pictures: one that tells it from all others, and that people know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["MemberRow", "owned_by_name"]

_TAIL = 6


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member of a generation, and how many partitions it was given."""

    member_id: str
    client_id: str
    partitions: int
    instance_id: str | None = None
    pod: str | None = None

    @property
    def name(self) -> str:
        """What people call it."""
        return self.instance_id or self.pod or self.client_id


def owned_by_name(generations: Sequence[Sequence[MemberRow]]) -> list[Mapping[str, int]]:
    """Each generation's partitions by member's name.

    Where two members of one generation have the same name, as Java's clients have by default, the ends of their member
    ids tell them apart, in all generations.
    """
    twins = {
        name for members in generations for name, number in Counter(each.name for each in members).items() if number > 1
    }
    named: list[Mapping[str, int]] = []
    for members in generations:
        counts: Counter[str] = Counter()
        for each in members:
            name = f"{each.name} …{each.member_id[-_TAIL:]}" if each.name in twins else each.name
            counts[name] += each.partitions
        named.append(dict(counts))
    return named
