"""Breaks up topics whose partitions are all on one host, if other hosts subscribe to them; keeps the balance.

A partition of such a topic goes to a member on another host that has one partition fewer, or is exchanged for a
partition of another topic that is not on one host afterwards. Each step breaks up at least one topic and moves at most
two partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.subscribers import indexes_by_value

__all__ = ["CHECKS_MAX", "break_up"]

CHECKS_MAX = 300_000
"""Maximum number of exchanges checked: half a second. One of the first is nearly always possible."""


def break_up(roster: Roster, plan: Plan, hosts: Sequence[str]) -> None:
    """Change ``plan`` so that as few topics as possible are entirely on one of the ``hosts`` (by member)."""
    if clustered := _clustered(roster, plan, hosts):
        spread = _HostSpread(roster, plan, hosts)
        while sum(spread.break_up(topic, clustered) for topic in clustered):
            clustered = [topic for topic in clustered if spread.is_clustered(topic)]


def _clustered(roster: Roster, plan: Plan, hosts: Sequence[str]) -> list[int]:
    """Return, in order, the topics with several partitions that are on one host although several hosts subscribe."""
    alone = {topic for topic, count in zip(roster.topics, roster.partitions, strict=True) if count > 1}
    seen: set[str] = set()
    for members in indexes_by_value(hosts).values():
        here = set().union(*(plan[member] for member in members))
        alone -= seen & here
        seen |= here
        if not alone:  # nearly always after a few hosts
            return []
    possible: dict[int, bool] = {}
    for subscribers in roster.subscribers:  # equal subscribers are one tuple, see Roster
        if id(subscribers) not in possible:
            possible[id(subscribers)] = len({hosts[member] for member in subscribers}) > 1
    return [
        index
        for index, (topic, subscribers) in enumerate(zip(roster.topics, roster.subscribers, strict=True))
        if topic in alone and possible[id(subscribers)]
    ]


class _HostSpread:
    """A plan that is being changed; ``_on``: the partitions of each topic by host."""

    def __init__(self, roster: Roster, plan: Plan, hosts: Sequence[str]) -> None:
        self._roster, self._plan, self._hosts = roster, plan, hosts
        self._index_of = {topic: index for index, topic in enumerate(roster.topics)}
        self._entitled = {id(members): frozenset(members) for members in roster.subscribers}
        self._members_of = indexes_by_value(hosts)
        self._loads = [sum(map(len, given.values())) for given in plan]
        self._on: list[Counter[str]] = [Counter() for _ in roster.topics]
        for given, host in zip(plan, hosts, strict=True):
            for topic, numbers in given.items():
                self._on[self._index_of[topic]][host] += len(numbers)
        self._checks = 0

    def is_clustered(self, topic: int) -> bool:
        """Return whether all partitions of ``topic`` are on one host."""
        return len(self._on[topic]) == 1

    def break_up(self, topic: int, clustered: Sequence[int]) -> bool:
        """Move a partition of ``topic`` to another host, preferably in exchange for one from ``clustered``."""
        if not self.is_clustered(topic):
            return False
        (host,) = self._on[topic]
        takers = [member for member in self._roster.subscribers[topic] if self._hosts[member] != host]
        giver = max(self._owners(topic, host), key=self._loads.__getitem__)
        taker = min(takers, key=self._loads.__getitem__)
        if self._loads[giver] > self._loads[taker]:
            self._move(topic, giver, taker)
            return True
        for other, member in self._offers(topic, clustered, takers):
            self._checks += 1
            if self._checks > CHECKS_MAX:
                return False
            if giver in self._entitled[id(self._roster.subscribers[other])] and self._may_come(other, host):
                self._move(topic, giver, member)
                self._move(other, member, giver)
                return True
        return False

    def _owners(self, topic: int, host: str) -> list[int]:
        return [member for member in self._members_of[host] if self._roster.topics[topic] in self._plan[member]]

    def _offers(self, topic: int, clustered: Sequence[int], takers: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield pairs of a topic and an owner of which one partition might be exchanged."""
        able = frozenset(takers)
        for other in clustered:
            if self.is_clustered(other):
                (host,) = self._on[other]
                yield from ((other, member) for member in self._owners(other, host) if member in able)
        begin = topic % len(takers)  # not always the same one
        for member in (*takers[begin:], *takers[:begin]):
            yield from ((self._index_of[name], member) for name in self._plan[member])

    def _may_come(self, topic: int, host: str) -> bool:
        """Return whether ``topic`` stays on several hosts if ``host`` gets one more of its partitions."""
        count = self._roster.metadata[topic].partitions
        return count == 1 or self._on[topic][host] + 1 < count

    def _move(self, topic: int, giver: int, taker: int) -> None:
        name = self._roster.topics[topic]
        numbers = self._plan[giver].pop(name)
        held = self._roster.ownership_index.holdings[giver].get(name, ())
        # A partition that moves already costs nothing.
        number = max(numbers, key=lambda candidate: (candidate not in held, candidate))
        if rest := tuple(other for other in numbers if other != number):
            self._plan[giver][name] = rest
        self._plan[taker][name] = tuple(sorted((*self._plan[taker].get(name, ()), number)))
        for member, change in ((giver, -1), (taker, 1)):
            self._loads[member] += change
            self._on[topic][self._hosts[member]] += change
        self._on[topic] = +self._on[topic]
