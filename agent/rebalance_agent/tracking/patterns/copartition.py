"""Declared co-partitioning of topics per group, and how often an assignment breaks it. Pure.

Two topics are co-partitioned if records with the same key have the same partition number in both, and the member that
owns this number in one topic also owns it in the other. Joins need this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.group_patterns import compiled_pattern, split_entries
from rebalance_agent.tracking.views import MemberLoad

__all__ = ["DECLARATIONS_MAX", "Copartitioned", "Declaration", "copartition_breaks"]

DECLARATIONS_MAX = 100
"""Maximum number of declarations, since each is matched against every group."""

_TOPICS = re.compile(r"[A-Za-z0-9._-]+(\s*,\s*[A-Za-z0-9._-]+)*")


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declaration: groups whose whole name matches ``groups`` read ``topics`` co-partitioned.

    A declaration without topics applies to all subscribed topics with equal partition counts.
    """

    groups: re.Pattern[str]
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Copartitioned:
    """The declarations; the first that matches a group applies."""

    declarations: tuple[Declaration, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Copartitioned:
        """Parse ``GROUPS`` or ``GROUPS=TOPIC,TOPIC``; several are separated by newlines or semicolons.

        ``GROUPS`` is a regular expression that must match the whole group name.

        Raises:
            InvalidInputError: an invalid regular expression, a single topic, or too many declarations.
        """
        return cls(tuple(map(_declaration, split_entries(text, DECLARATIONS_MAX))))

    def of(self, group: str) -> Declaration | None:
        """Return the declaration of ``group``; None if there is none."""
        return next((declaration for declaration in self.declarations if declaration.groups.fullmatch(group)), None)


def _declaration(entry: str) -> Declaration:
    pattern, equals, named = entry.rpartition("=")
    topics: tuple[str, ...] = ()
    if equals and _TOPICS.fullmatch(named.strip()):
        topics = tuple(sorted({topic.strip() for topic in named.split(",")}))
        if len(topics) == 1:
            raise InvalidInputError("", f"{entry!r} names only one topic; at least two can be co-partitioned")
    else:
        pattern = entry
    return Declaration(compiled_pattern(pattern), topics)


def copartition_breaks(declaration: Declaration, counts: Mapping[str, int], members: Sequence[MemberLoad]) -> int:
    """Count the partition numbers of co-partitioned topics whose owners differ between the topics.

    ``counts``: partition count of each subscribed topic. Topics form a set if they are declared together or, without
    declared topics, if their counts are equal. A number counts once per set, however many topics differ. It also counts
    if it is owned in one topic and not in another. If declared topics have different counts, all numbers up to the
    highest count are broken.
    """
    owners: dict[tuple[str, int], list[str]] = {}
    for member in members:
        for topic, numbers in (member.assigned or {}).items():
            for number in numbers:
                owners.setdefault((topic, number), []).append(member.member_id)
    return sum(_breaks(topics, counts, owners) for topics in _together(declaration, counts))


def _together(declaration: Declaration, counts: Mapping[str, int]) -> list[tuple[str, ...]]:
    if declaration.topics:
        return [tuple(topic for topic in declaration.topics if topic in counts)]
    alike: dict[int, list[str]] = {}
    for topic in sorted(counts):
        alike.setdefault(counts[topic], []).append(topic)
    return [tuple(topics) for topics in alike.values()]


def _breaks(topics: tuple[str, ...], counts: Mapping[str, int], owners: Mapping[tuple[str, int], Sequence[str]]) -> int:
    if not topics:
        return 0
    partitions_max = max(counts[topic] for topic in topics)
    if any(counts[topic] != partitions_max for topic in topics):
        return partitions_max
    return sum(
        len({frozenset(owners.get((topic, number), ())) for topic in topics}) > 1 for number in range(partitions_max)
    )
