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

__all__ = ["Locality", "MemberKind", "Preference", "locality_of"]


@dataclass(frozen=True, slots=True)
class Preference:
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

    def misses(self, preference: Preference) -> int:
        """How many of ``wish`` a member of this kind does not meet: 0, 1 or 2."""
        far = preference.racks is not None and self.rack is not None and self.rack not in preference.racks
        return far + (preference.labels is not None and preference.labels not in self.labels)


@dataclass(frozen=True, slots=True)
class Locality:
    """``kinds`` by member; ``wishes`` by topic: one for each partition, equal ones the same object."""

    kinds: tuple[MemberKind, ...]
    preferences: tuple[tuple[Preference, ...], ...]

    @property
    def matters(self) -> bool:
        """Whether it makes a difference to anything who owns it."""
        distinct = {id(preference): preference for row in self.preferences for preference in row}
        return any(preference.racks is not None or preference.labels is not None for preference in distinct.values())


def locality_of(roster: Roster) -> Locality:
    """Compare what members are with what partitions wish for."""
    racks = [member.rack or None for member in roster.members]
    labels_by_text = {text: labels_of(text) for text in set(roster.of(LABELS))}
    labels = [labels_by_text[text] for text in roster.of(LABELS)]
    affinities = affinities_of(roster.shared_by_all(AFFINITY))
    preferred_labels = set(affinities.values())
    matched_by_text = {
        text: frozenset(preferred for preferred in preferred_labels if preferred <= has)
        for text, has in labels_by_text.items()
    }
    kinds = tuple(
        MemberKind(topics, rack, matched_by_text[text])
        for topics, rack, text in zip(topics_of_members(roster), racks, roster.of(LABELS), strict=True)
    )
    distinct_preferences: dict[Preference, Preference] = {}
    preferences = []
    for topic, metadata, subscribers in zip(roster.topics, roster.metadata, roster.subscribers, strict=True):
        affinity = _divides(affinities.get(topic), [labels[member] for member in subscribers])
        member_racks = {rack for member in subscribers if (rack := racks[member])}
        by_row: dict[tuple[str, ...], Preference] = {}
        row_of = metadata.racks or ()
        topic_preferences = []
        for number in range(metadata.partitions):
            row = row_of[number] if number < len(row_of) else ()
            if row not in by_row:
                nearby_racks = frozenset(member_racks.intersection(row))
                preference = Preference(
                    subscribers, nearby_racks if nearby_racks and nearby_racks != member_racks else None, affinity
                )
                by_row[row] = distinct_preferences.setdefault(preference, preference)
            topic_preferences.append(by_row[row])
        preferences.append(tuple(topic_preferences))
    return Locality(kinds, tuple(preferences))


def _divides(affinity: Labels | None, labels: Sequence[Labels]) -> Labels | None:
    """The affinity, if some subscribers have its labels and some do not."""
    if affinity is None or len({affinity <= member_labels for member_labels in set(labels)}) == 1:
        return None
    return affinity
