"""Who is near to what: which members miss a partition's racks, or the labels that its topic prefers.

A rack is missed by a member whose known rack holds no replica, as long as another subscriber's rack holds one. Labels
are missed by a member that does not have all that the topic prefers, as long as another subscriber does. Each miss
counts one, so a partition can be missed twice. What nobody can avoid, and what is not known, is no miss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_agent.assignors.roster import Roster
from rebalance_agent.assignors.strategies.labels import AFFINITY, LABELS, Labels, affinities_of, labels_of
from rebalance_agent.assignors.strategies.member_classes import topics_of_members

__all__ = ["Locality", "MemberKind", "Wish", "nearness"]


@dataclass(frozen=True, slots=True)
class Wish:
    """What partitions would like in their owner. ``subscribers`` is who may own them, as in the roster.

    ``racks`` hold replicas, ``labels`` are preferred; None where that makes no difference between the subscribers.
    """

    subscribers: tuple[int, ...]
    racks: frozenset[str] | None
    labels: Labels | None


@dataclass(frozen=True, slots=True)
class MemberKind:
    """What wishes can tell members apart by: ``topics`` (places of subscriber tuples), rack, labels matched."""

    topics: tuple[int, ...]
    rack: str | None
    labels: frozenset[Labels]

    def misses(self, wish: Wish) -> int:
        """How many of ``wish`` a member of this kind does not meet: 0, 1 or 2."""
        far = wish.racks is not None and self.rack is not None and self.rack not in wish.racks
        return far + (wish.labels is not None and wish.labels not in self.labels)


@dataclass(frozen=True, slots=True)
class Locality:
    """``kinds`` by member; ``wishes`` by topic: one for each partition, equal ones the same object."""

    kinds: tuple[MemberKind, ...]
    wishes: tuple[tuple[Wish, ...], ...]

    @property
    def matters(self) -> bool:
        """Whether it makes a difference to anything who owns it."""
        distinct = {id(wish): wish for row in self.wishes for wish in row}
        return any(wish.racks is not None or wish.labels is not None for wish in distinct.values())


def nearness(roster: Roster) -> Locality:
    """Compare what members are with what partitions wish for."""
    racks = [member.rack or None for member in roster.members]
    labels_by_text = {text: labels_of(text) for text in set(roster.of(LABELS))}
    labels = [labels_by_text[text] for text in roster.of(LABELS)]
    affinities = affinities_of(roster.shared_by_all(AFFINITY))
    wanted = set(affinities.values())
    matched_by_text = {text: frozenset(some for some in wanted if some <= has) for text, has in labels_by_text.items()}
    kinds = tuple(
        MemberKind(topics, rack, matched_by_text[text])
        for topics, rack, text in zip(topics_of_members(roster), racks, roster.of(LABELS), strict=True)
    )
    known: dict[Wish, Wish] = {}
    wishes = []
    for topic, metadata, places in zip(roster.topics, roster.metadata, roster.subscribers, strict=True):
        affinity = _divides(affinities.get(topic), [labels[member] for member in places])
        around = {rack for member in places if (rack := racks[member])}
        by_row: dict[tuple[str, ...], Wish] = {}
        row_of = metadata.racks or ()
        row_wishes = []
        for number in range(metadata.partitions):
            row = row_of[number] if number < len(row_of) else ()
            if row not in by_row:
                near = frozenset(around.intersection(row))
                wish = Wish(places, near if near and near != around else None, affinity)
                by_row[row] = known.setdefault(wish, wish)
            row_wishes.append(by_row[row])
        wishes.append(tuple(row_wishes))
    return Locality(kinds, tuple(wishes))


def _divides(affinity: Labels | None, labels: Sequence[Labels]) -> Labels | None:
    """The affinity, if some subscribers have its labels and some do not."""
    if affinity is None or len({affinity <= has for has in set(labels)}) == 1:
        return None
    return affinity
