"""The brokers' ``uniform`` assignor for members with different subscriptions.

Topics with the most partitions per subscriber come first. First, partitions without an owner fill the least loaded
subscribers. Then each topic moves partitions from its most loaded to its least loaded subscribers, round after round,
until no partition moves. The result is balanced for each topic, but not always for the whole group.
"""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_agent.assignors.broker.load_levels import GivingMembers, TakingMembers, by_load
from rebalance_agent.assignors.roster import Plan, Roster

__all__ = ["balance_mixed"]

ROUNDS_MAX = 16
"""Maximum number of rounds over all topics, the same as in Kafka."""

_MOVABLE_MIN = 2
"""Minimum number of subscribers of a topic for its partitions to move."""


def balance_mixed(roster: Roster) -> Plan:
    """Return the plan for members with different subscriptions, given the brokers' order of members and topic ids."""
    draft = _Draft(roster)
    draft.fill()
    draft.balance()
    return draft.plan()


class _Draft:
    """Owners by topic and number, None if a partition has none, and the number of partitions of each member."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._loads = [0] * len(roster.members)
        self._owners: list[list[int | None]] = [[None] * count for count in roster.partitions]
        index = {topic: at for at, topic in enumerate(roster.topics)}
        for member, held in enumerate(roster.ownership_index.holdings):
            for topic, numbers in held.items():
                for number in numbers:
                    self._give(index[topic], number, member)

    def _give(self, topic: int, number: int, member: int) -> None:
        former = self._owners[topic][number]
        if former is not None:
            self._loads[former] -= 1
        self._owners[topic][number] = member
        self._loads[member] += 1

    def _in_order(self, topics: Iterable[int]) -> list[int]:
        def key(topic: int) -> tuple[float, int, int]:
            subscribers = len(self._roster.subscribers[topic])
            return -(self._roster.partitions[topic] / subscribers), subscribers, topic

        return sorted(topics, key=key)

    def fill(self) -> None:
        """Give partitions without an owner to the least loaded subscribers."""
        gaps = {
            topic: [number for number, owner in enumerate(owners) if owner is None]
            for topic, owners in enumerate(self._owners)
            if None in owners
        }
        for topic in self._in_order(gaps):
            taking = TakingMembers(by_load(self._roster.subscribers[topic], self._loads), self._loads)
            for number in gaps[topic]:
                self._give(topic, number, taking.next_member())

    def balance(self) -> None:
        """Move partitions until a whole round moves none."""
        topics = self._in_order(
            topic for topic, members in enumerate(self._roster.subscribers) if len(members) >= _MOVABLE_MIN
        )
        last_moved = None
        for _ in range(ROUNDS_MAX):
            for topic in topics:
                if topic == last_moved:
                    return
                if self._balance_topic(topic) or last_moved is None:
                    last_moved = topic

    def _balance_topic(self, topic: int) -> bool:
        """Move partitions of ``topic`` between its subscribers; return whether any moved."""
        order = by_load(self._roster.subscribers[topic], self._loads)
        if self._loads[order[-1]] - self._loads[order[0]] <= 1:
            return False
        held: dict[int | None, list[int]] = {}
        for number, owner in enumerate(self._owners[topic]):
            held.setdefault(owner, []).append(number)
        giving, taking = GivingMembers(order, self._loads), TakingMembers(order, self._loads)
        moved = False
        while (giver := giving.next_member()) is not None:
            numbers = held.get(giver)
            if not numbers:
                giving.skip()
                continue
            number, taker = numbers.pop(), taking.next_member()
            if giving.level - taking.level <= 1:
                break
            self._give(topic, number, taker)
            moved = True
        return moved

    def plan(self) -> Plan:
        """Return each member's partitions."""
        plan: list[dict[str, list[int]]] = [{} for _ in self._loads]
        for topic, owners in zip(self._roster.topics, self._owners, strict=True):
            for number, owner in enumerate(owners):
                if owner is not None:
                    plan[owner].setdefault(topic, []).append(number)
        return [{topic: tuple(numbers) for topic, numbers in given.items()} for given in plan]
