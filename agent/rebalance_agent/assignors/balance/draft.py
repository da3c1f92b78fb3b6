"""Makes a first attempt at a placement, without search. This is nearly always the best, which `bounds` then proves.

Members keep what they own. Partitions without an owner go to the members that lack most. Members above their bounds
hand partitions to members below their bounds, one at a time and only if both members subscribe to the topic. If a
missing subscription makes a step fail, the search of `exact` decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rebalance_agent.assignors.balance.bounds import Bounds, bounds
from rebalance_agent.assignors.balance.counts import NO_EXTRA, Placement
from rebalance_agent.assignors.balance.group_levels import Split, split_levels
from rebalance_agent.assignors.roster import Roster

__all__ = ["SWAP_CHECKS_MAX", "Draft", "deal_gaps", "draft"]

SWAP_CHECKS_MAX = 300_000
"""Maximum number of pools checked for swaps; then the search is used: half a second. Good drafts need thousands."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A placement of all partitions within the bounds; ``proven``: no other placement keeps more in place."""

    placement: Placement
    proven: bool


def draft(roster: Roster, floors: Sequence[int], ranks: Sequence[int], levels: Sequence[int] = ()) -> Draft | None:
    """Return a placement with loads of ``floors``, and one more for the lowest of ``ranks``; None if it fails.

    ``levels`` by member, as in `Promise`; empty means one level.
    """
    key = (tuple(floors), tuple(ranks), tuple(levels))
    drafts: dict[tuple[tuple[int, ...], ...], Draft | None] = roster.cache.drafts
    if key not in drafts:
        drafts[key] = _draft(roster, floors, ranks, levels)
    return drafts[key]


def _draft(roster: Roster, floors: Sequence[int], ranks: Sequence[int], levels: Sequence[int]) -> Draft | None:
    split = split_levels(roster, levels)
    state = _DraftState(roster, split)
    limits = _limits(roster, floors, ranks, state.loads, split)
    if limits is None:
        return None
    state.deal(limits.min_loads)
    state.swap(limits.min_loads)
    state.hand_over(limits.max_loads, limits.min_loads)
    state.hand_over(limits.min_loads, limits.min_loads)
    state.deal(limits.max_loads)
    state.swap(limits.max_loads)
    state.hand_over(limits.max_loads, limits.max_loads)
    if any(state.gaps) or not all(
        low <= load <= high for low, load, high in zip(limits.min_loads, state.loads, limits.max_loads, strict=True)
    ):
        return None
    placement = Placement(roster.ownership_index, state.gains, state.losses, state.loads)
    return Draft(placement, proven=placement.kept == limits.kept)


def _limits(
    roster: Roster, floors: Sequence[int], ranks: Sequence[int], owned: Sequence[int], split: Split
) -> Bounds | None:
    """Return the bounds of all levels; None if these do not fit, or if higher levels lack higher ranks."""
    together = Bounds([0] * len(floors), [0] * len(floors), 0)
    partitions = roster.partitions
    highest = NO_EXTRA
    for members, topics in split.levels:
        raised = [ranks[member] for member in members if ranks[member] != NO_EXTRA]
        limits = bounds(members, floors, ranks, owned, sum(partitions[topic] for topic in topics))
        if limits is None or (raised and min(raised) <= highest):
            return None
        highest = max(raised, default=highest)
        for member in members:
            together.min_loads[member], together.max_loads[member] = limits.min_loads[member], limits.max_loads[member]
        together = replace(together, kept=together.kept + limits.kept)
    return together


class _Pool:
    """Topics with the same subscribers ``members``; ``topics``: member -> topics of partitions it has just got."""

    def __init__(self, members: Sequence[int]) -> None:
        self.members = members
        self.topics: dict[int, list[int]] = {}

    def take(self, member: int) -> int:
        """Remove and return one of the member's topics, of which it hands over a partition."""
        topics = self.topics[member]
        topic = topics.pop()
        if not topics:
            del self.topics[member]
        return topic


class _DraftState:
    """The counts of a draft in progress: ``gaps``, ``gains`` and ``losses`` by topic, ``loads`` by member."""

    def __init__(self, roster: Roster, split: Split) -> None:
        self.ownership_index = roster.ownership_index
        self.subscribers = split.subscribers
        self.loads = roster.owned_counts()
        self.gaps = [len(numbers) for numbers in roster.ownership_index.gaps]
        self.gains: list[list[int]] = [[] for _ in roster.topics]
        self.losses: list[dict[int, int]] = [{} for _ in roster.topics]
        self._checks = 0
        for topic, member in split.outside:
            lost = len(roster.ownership[topic].owned[member])
            self.losses[topic][member] = lost
            self.gaps[topic] += lost
            self.loads[member] -= lost

    def deal(self, goal: Sequence[int]) -> None:
        """Give partitions without an owner to members below their ``goal``."""
        if not any(self.gaps):
            return
        lacking = [target - load for target, load in zip(goal, self.loads, strict=True)]
        dealt = deal_gaps(self.subscribers, self.gaps, lacking)
        for topic, takers in dealt.items():
            self.gains[topic] += takers
            self.gaps[topic] -= len(takers)
        self.loads = [target - lack for target, lack in zip(goal, lacking, strict=True)]

    def swap(self, goal: Sequence[int]) -> None:
        """Fill gaps whose subscribers are all at their goal: one takes the gap and gives up a partition it just got."""
        below = self._below(goal)
        if not (below and any(self.gaps)):
            return
        pools = self._pools()
        for topic, gap in enumerate(self.gaps):
            if gap and below:
                able = frozenset(self.subscribers[topic])
                for _ in range(gap):
                    if not self._swap_one(topic, able, below, goal, pools):
                        break

    def _pools(self) -> dict[int, _Pool]:
        """Return what members have just got, by the (shared) tuple of a topic's subscribers."""
        pools: dict[int, _Pool] = {}
        for topic, (gains, members) in enumerate(zip(self.gains, self.subscribers, strict=True)):
            pool = pools.setdefault(id(members), _Pool(members))
            for member in gains:
                pool.topics.setdefault(member, []).append(topic)
        return pools

    def _swap_one(
        self, topic: int, subscribers: frozenset[int], below: set[int], goal: Sequence[int], pools: dict[int, _Pool]
    ) -> bool:
        here = pools[id(self.subscribers[topic])]
        for pool in pools.values():
            self._checks += 1
            if self._checks > SWAP_CHECKS_MAX:
                return False
            takers = below.intersection(pool.members) if pool is not here else ()
            givers = subscribers.intersection(pool.topics) if takers else ()
            if givers:
                # Members that have none of the topic yet come first, so that it spreads over many members.
                giver = min(givers, key=lambda member: (member in self.gains[topic], member))
                other = pool.take(giver)
                gains = self.gains[other]
                taker = min(takers, key=lambda member: (member in gains, self.loads[member] - goal[member], member))
                gains[gains.index(giver)] = taker
                pool.topics.setdefault(taker, []).append(other)
                self.gains[topic].append(giver)
                here.topics.setdefault(giver, []).append(topic)
                self.gaps[topic] -= 1
                self.loads[taker] += 1
                if self.loads[taker] == goal[taker]:
                    below.remove(taker)
                return True
        return False

    def hand_over(self, limit: Sequence[int], goal: Sequence[int]) -> None:
        """Move partitions from members above ``limit`` to members below ``goal``, one of a topic at a time."""
        givers = {member for member, load in enumerate(self.loads) if load > limit[member]}
        takers = self._below(goal)
        has_moved = True
        while givers and takers and has_moved:
            has_moved = False
            ownership = self.ownership_index.ownership
            for topic, (topic_ownership, members) in enumerate(zip(ownership, self.subscribers, strict=True)):
                losses = self.losses[topic]
                giving = [
                    m
                    for m in givers.intersection(topic_ownership.owned)
                    if losses.get(m, 0) < len(topic_ownership.owned[m])
                ]
                taking = takers.intersection(members) if giving else ()
                if not taking:
                    continue
                has_moved = True
                giving.sort(key=lambda member: (limit[member] - self.loads[member], member))
                for giver, taker in zip(
                    giving, sorted(taking, key=lambda member: (self.loads[member] - goal[member], member)), strict=False
                ):
                    losses[giver] = losses.get(giver, 0) + 1
                    self.gains[topic].append(taker)
                    self.loads[giver] -= 1
                    self.loads[taker] += 1
                    if self.loads[giver] == limit[giver]:
                        givers.remove(giver)
                    if self.loads[taker] == goal[taker]:
                        takers.remove(taker)

    def _below(self, goal: Sequence[int]) -> set[int]:
        return {member for member, load in enumerate(self.loads) if load < goal[member]}


def deal_gaps(subscribers: Sequence[Sequence[int]], gaps: Sequence[int], lacking: list[int]) -> dict[int, list[int]]:
    """Give each topic's ``gaps`` to the subscribers with the highest ``lacking``; return topic -> takers.

    ``lacking`` is decremented. Topics with few subscribers come first. Each round gives one partition to each
    subscriber, so that a topic has many owners.
    """
    dealt: dict[int, list[int]] = {}
    for topic in sorted((topic for topic, gap in enumerate(gaps) if gap), key=lambda topic: len(subscribers[topic])):
        left = gaps[topic]
        takers: list[int] = []
        while left:
            round_takers = sorted(subscribers[topic], key=lacking.__getitem__, reverse=True)[:left]
            smallest_lack = lacking[round_takers[-1]]
            if smallest_lack <= 0:
                round_takers = [member for member in round_takers if lacking[member] > 0]
                if not round_takers:
                    break
            # As many rounds at once as all takers still lack, if there are enough partitions.
            rounds = max(1, min(left // len(subscribers[topic]), smallest_lack))
            for member in round_takers:
                lacking[member] -= rounds
            takers += round_takers * rounds
            left -= len(round_takers) * rounds
        if takers:
            dealt[topic] = takers
    return dealt
