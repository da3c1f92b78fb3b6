"""``range``: gives each member consecutive partitions of a topic; Kafka's own strategy, rack-aware since KIP-881.

Source: Kafka's RangeAssignor. Without racks, topics of equal count and subscribers are co-partitioned by arithmetic
alone. With racks, members first take partitions that have a replica in their rack (topics of equal count and
subscribers together, so that they stay co-partitioned), then runs of the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["RANGE", "plain_ranges", "ranges"]


def ranges(roster: Roster) -> Plan:
    """Return the plan of runs; the first ``partitions % members`` members of a topic get one partition more."""
    racks = [member.rack or None for member in roster.members]
    topics = [_RackTopic(roster, topic, racks) for topic in range(len(roster.topics))] if any(racks) else []
    if any(topic.matters for topic in topics):
        plan = roster.empty_plan()
        _match_racks(topics, racks)
        for name, topic in zip(roster.topics, topics, strict=True):
            topic.give_the_rest()
            for member, numbers in topic.given.items():
                if numbers:
                    plan[member][name] = tuple(sorted(numbers))
        return plan
    return plain_ranges(roster)


def plain_ranges(roster: Roster) -> Plan:
    """Return the plan of consecutive partitions without regard to racks, as brokers do (KIP-848)."""
    plan = roster.empty_plan()
    rows: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for name, count, subscribers in zip(roster.topics, roster.partitions, roster.subscribers, strict=True):
        row = rows.get((count, len(subscribers)))
        if row is None:
            row = rows[count, len(subscribers)] = _row(count, len(subscribers))
        for member, run in zip(subscribers, row, strict=False):
            plan[member][name] = run
    return plan


def _row(count: int, members: int) -> list[tuple[int, ...]]:
    """Return ``count`` partitions in runs for ``members``; with fewer partitions, the first members get one each.

    All topics of equal count and number of subscribers share the result.
    """
    quota, extra = divmod(count, members)
    starts = [index * quota + min(index, extra) for index in range(min(count, members) + 1)]
    return [tuple(range(start, end)) for start, end in pairwise(starts)]


class _RackTopic:
    """One topic in progress: partitions left, and how many more each subscriber may take."""

    def __init__(self, roster: Roster, topic: int, racks: Sequence[str | None]) -> None:
        metadata = roster.metadata[topic]
        self.count = metadata.partitions
        self.subscribers = roster.subscribers[topic]
        replicas = [frozenset(racks) for racks in metadata.racks or ()][: self.count]
        self.replicas = replicas + [frozenset[str]()] * (self.count - len(replicas))
        self.given: dict[int, list[int]] = {member: [] for member in self.subscribers}
        self.left = dict.fromkeys(range(self.count))
        self.quota, self.extra = divmod(self.count, len(self.subscribers))
        everywhere = frozenset[str]().union(*self.replicas)
        member_racks = {rack for member in self.subscribers if (rack := racks[member])}
        # Where every partition has a replica in every rack, matching gains nothing.
        self.matters = not everywhere.isdisjoint(member_racks) and any(racks != everywhere for racks in self.replicas)

    def matches(self, rack: str | None, number: int) -> bool:
        return rack is None or rack in self.replicas[number]

    def capacity(self, member: int) -> int:
        return max(0, self.quota + (self.extra > 0) - len(self.given[member]))

    def give(self, member: int, numbers: Sequence[int]) -> None:
        self.given[member] += numbers
        if len(self.given[member]) > self.quota:
            self.extra -= 1
        for number in numbers:
            del self.left[number]

    def give_matching(self, racks: Sequence[str | None]) -> None:
        for member in self.subscribers:
            if not self.left:
                return
            numbers = [number for number in self.left if self.matches(racks[member], number)][: self.capacity(member)]
            if numbers:
                self.give(member, numbers)

    def give_the_rest(self) -> None:
        for member in self.subscribers:
            numbers = list(self.left)[: self.capacity(member)]
            if numbers:
                self.give(member, numbers)


def _match_racks(topics: Sequence[_RackTopic], racks: Sequence[str | None]) -> None:
    together: dict[tuple[tuple[int, ...], int], list[_RackTopic]] = {}
    for topic in topics:
        together.setdefault((topic.subscribers, topic.count), []).append(topic)
    for (subscribers, count), alike in together.items():
        if len(alike) > 1:
            _match_together(alike, subscribers, count, racks)
        elif alike[0].matters:
            alike[0].give_matching(racks)


def _match_together(
    topics: Sequence[_RackTopic], subscribers: Sequence[int], count: int, racks: Sequence[str | None]
) -> None:
    """Give partition ``n`` of all ``topics`` to the first member whose rack has replicas of all these partitions."""
    remaining = list(subscribers)
    for number in range(count):
        for member in remaining:
            if all(topic.capacity(member) > 0 and topic.matches(racks[member], number) for topic in topics):
                for topic in topics:
                    topic.give(member, [number])
                break
        else:
            continue
        if all(topic.capacity(member) == 0 for topic in topics):
            remaining.remove(member)
            if not remaining:
                return


RANGE = Strategy(
    name="range",
    protocol=RebalanceProtocol.EAGER,
    summary="assigns consecutive partitions of each topic to members in order; topics with equal partition counts are "
    "co-partitioned",
    plan=ranges,
    spread_rank=3,
)
