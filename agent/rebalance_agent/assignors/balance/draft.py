"""A first attempt at a placement, without search; nearly always it is the best one, and then it can prove it.

Everybody keeps what it owns. What nobody owns goes to those who lack most, who has too many hands over to who has too
few, one partition at a time and only where both subscribe. Each step may fail for a subscription that is missing: the
exact search of `exact` is there for that. What is reached is compared with the certificate of `bounds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rebalance_agent.assignors.balance.bounds import Bounds, bounds
from rebalance_agent.assignors.balance.counts import NO_EXTRA, Placement
from rebalance_agent.assignors.balance.group_levels import Split, split_levels
from rebalance_agent.assignors.roster import Roster

__all__ = ["SWAP_LOOKS_MAX", "Draft", "deal_gaps", "draft"]

SWAP_LOOKS_MAX = 300_000
"""Places looked at for a swap before a draft is given up for the search: half a second. Good drafts need thousands."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A placement of all partitions within the bounds; ``proven``: none keeps more of them in place."""

    placement: Placement
    proven: bool


def draft(roster: Roster, floors: Sequence[int], ranks: Sequence[int], levels: Sequence[int] = ()) -> Draft | None:
    """Loads of ``floors``, and one more for the lowest of ``ranks``; None when that did not work out.

    ``levels`` by member, as in `Promise`; none is one for all.
    """
    key = (tuple(floors), tuple(ranks), tuple(levels))
    drafts: dict[tuple[tuple[int, ...], ...], Draft | None] = roster.notes.drafts
    if key not in drafts:
        drafts[key] = _draft(roster, floors, ranks, levels)
    return drafts[key]


def _draft(roster: Roster, floors: Sequence[int], ranks: Sequence[int], levels: Sequence[int]) -> Draft | None:
    split = split_levels(roster, levels)
    table = _Table(roster, split)
    limits = _limits(roster, floors, ranks, table.loads, split)
    if limits is None:
        return None
    table.deal(limits.least)
    table.swap(limits.least)
    table.hand_over(limits.most, limits.least)
    table.hand_over(limits.least, limits.least)
    table.deal(limits.most)
    table.swap(limits.most)
    table.hand_over(limits.most, limits.most)
    if any(table.gaps) or not all(
        low <= load <= high for low, load, high in zip(limits.least, table.loads, limits.most, strict=True)
    ):
        return None
    placement = Placement(roster.ownership, table.gains, table.losses, table.loads)
    return Draft(placement, proven=placement.kept == limits.kept)


def _limits(
    roster: Roster, floors: Sequence[int], ranks: Sequence[int], owned: Sequence[int], split: Split
) -> Bounds | None:
    """The bounds of all levels; None if they do not fit, or higher levels do not have higher ranks."""
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
            together.least[member], together.most[member] = limits.least[member], limits.most[member]
        together = replace(together, kept=together.kept + limits.kept)
    return together


class _Pool:
    """Topics with the same subscribers, ``places``: member -> the ones that it just got something of."""

    def __init__(self, places: Sequence[int]) -> None:
        self.places = places
        self.topics: dict[int, list[int]] = {}

    def take(self, member: int) -> int:
        """One of the member's topics, which it gives away."""
        topics = self.topics[member]
        topic = topics.pop()
        if not topics:
            del self.topics[member]
        return topic


class _Table:
    """The counts while they are worked on: ``gaps``, ``gains`` and ``losses`` by topic, ``loads`` by member."""

    def __init__(self, roster: Roster, split: Split) -> None:
        self.ownership = roster.ownership
        self.subscribers = split.subscribers
        self.loads = roster.owned_counts()
        self.gaps = [len(numbers) for numbers in roster.ledger.gaps]
        self.gains: list[list[int]] = [[] for _ in roster.topics]
        self.losses: list[dict[int, int]] = [{} for _ in roster.topics]
        self._looks = 0
        for topic, member in split.outside:
            lost = len(roster.ownership[topic].owned[member])
            self.losses[topic][member] = lost
            self.gaps[topic] += lost
            self.loads[member] -= lost

    def deal(self, goal: Sequence[int]) -> None:
        """Give what nobody owns to members below their ``goal``."""
        if not any(self.gaps):
            return
        lacking = [most - load for most, load in zip(goal, self.loads, strict=True)]
        dealt = deal_gaps(self.subscribers, self.gaps, lacking)
        for topic, takers in dealt.items():
            self.gains[topic] += takers
            self.gaps[topic] -= len(takers)
        self.loads = [most - lack for most, lack in zip(goal, lacking, strict=True)]

    def swap(self, goal: Sequence[int]) -> None:
        """Where a gap's subscribers are all full, one of them takes it and passes on something else it just got."""
        wanting = self._below(goal)
        if not (wanting and any(self.gaps)):
            return
        pools = self._pools()
        for topic, gap in enumerate(self.gaps):
            if gap and wanting:
                able = frozenset(self.subscribers[topic])
                for _ in range(gap):
                    if not self._swap_one(topic, able, wanting, goal, pools):
                        break

    def _pools(self) -> dict[int, _Pool]:
        """What members just got, topics with the same subscribers together (they share one tuple of them)."""
        pools: dict[int, _Pool] = {}
        for topic, (gains, places) in enumerate(zip(self.gains, self.subscribers, strict=True)):
            pool = pools.setdefault(id(places), _Pool(places))
            for member in gains:
                pool.topics.setdefault(member, []).append(topic)
        return pools

    def _swap_one(
        self, topic: int, able: frozenset[int], wanting: set[int], goal: Sequence[int], pools: dict[int, _Pool]
    ) -> bool:
        here = pools[id(self.subscribers[topic])]
        for pool in pools.values():
            self._looks += 1
            if self._looks > SWAP_LOOKS_MAX:
                return False
            takers = wanting.intersection(pool.places) if pool is not here else ()
            passing = able.intersection(pool.topics) if takers else ()
            if passing:
                # A topic spreads over many members if who has none of it yet comes first.
                giver = min(passing, key=lambda member: (member in self.gains[topic], member))
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
                    wanting.remove(taker)
                return True
        return False

    def hand_over(self, limit: Sequence[int], goal: Sequence[int]) -> None:
        """Members above their ``limit`` give to members below their ``goal``, one partition of a topic at a time."""
        givers = {member for member, load in enumerate(self.loads) if load > limit[member]}
        takers = self._below(goal)
        went_on = True
        while givers and takers and went_on:
            went_on = False
            for topic, (known, places) in enumerate(zip(self.ownership, self.subscribers, strict=True)):
                losses = self.losses[topic]
                giving = [m for m in givers.intersection(known.owned) if losses.get(m, 0) < len(known.owned[m])]
                taking = takers.intersection(places) if giving else ()
                if not taking:
                    continue
                went_on = True
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
    """Give each topic's ``gaps`` to subscribers who are ``lacking`` most, which is counted down; topic -> takers.

    Topics with few subscribers choose first. One to each in a round, so that a topic has many owners.
    """
    dealt: dict[int, list[int]] = {}
    for topic in sorted((topic for topic, gap in enumerate(gaps) if gap), key=lambda topic: len(subscribers[topic])):
        left = gaps[topic]
        takers: list[int] = []
        while left:
            round_ = sorted(subscribers[topic], key=lacking.__getitem__, reverse=True)[:left]
            least = lacking[round_[-1]]
            if least <= 0:
                round_ = [member for member in round_ if lacking[member] > 0]
                if not round_:
                    break
            # Where there is plenty for all, as many rounds at once as nobody has enough in.
            rounds = max(1, min(left // len(subscribers[topic]), least))
            for member in round_:
                lacking[member] -= rounds
            takers += round_ * rounds
            left -= len(round_) * rounds
        if takers:
            dealt[topic] = takers
    return dealt
