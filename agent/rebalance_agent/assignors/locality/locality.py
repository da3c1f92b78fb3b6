"""Locality: finds the members that are not in the racks of a partition, or lack the labels that its topic prefers.

A member misses the racks if its known rack has no replica while another subscriber's rack has one. A member misses the
labels if it lacks a label that the topic prefers while another subscriber has all of these labels. Each miss counts 1,
so a partition has up to 2 misses. Properties that no subscriber has, or that are unknown, are not misses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.assignors.balance.member_classes import topics_of_members
from rebalance_agent.assignors.locality.labels import Labels, labels_of
from rebalance_agent.assignors.roster import Roster

__all__ = ["Locality", "MemberKind", "Preference", "locality_of", "racks_known"]


@dataclass(frozen=True, slots=True)
class Preference:
    """The racks and labels that partitions prefer. ``subscribers``: the members that may own them, as in the roster.

    ``racks``: the racks with replicas; ``labels``: the preferred labels; None if all subscribers are equal in this
    respect.
    """

    subscribers: tuple[int, ...]
    racks: frozenset[str] | None
    labels: Labels | None


@dataclass(frozen=True, slots=True)
class MemberKind:
    """The properties of members that preferences distinguish: topics (see `topics_of_members`), rack, labels."""

    topics: tuple[int, ...]
    rack: str | None
    labels: frozenset[Labels]

    def misses(self, preference: Preference) -> int:
        """Return how many parts of ``preference`` members of this kind do not meet: 0, 1 or 2."""
        far = preference.racks is not None and self.rack is not None and self.rack not in preference.racks
        return far + (preference.labels is not None and preference.labels not in self.labels)


@dataclass(frozen=True, slots=True)
class Locality:
    """``kinds`` by member; ``preferences`` by topic: one for each partition; equal preferences are one object."""

    kinds: tuple[MemberKind, ...]
    preferences: tuple[tuple[Preference, ...], ...]

    @property
    def matters(self) -> bool:
        """Whether the owner makes a difference for any partition."""
        distinct = {id(preference): preference for row in self.preferences for preference in row}
        return any(preference.racks is not None or preference.labels is not None for preference in distinct.values())


def racks_known(roster: Roster) -> bool:
    """Return whether some members and some replicas have a known rack; cheap."""
    return any(member.rack for member in roster.members) and any(metadata.racks for metadata in roster.metadata)


def locality_of(
    roster: Roster, label_texts: Sequence[str] = (), affinities: Mapping[str, Labels] | None = None
) -> Locality:
    """Return the kinds of members and the preferences of partitions of ``roster``.

    ``label_texts``: the labels of each member, or empty for no labels; ``affinities``: topic -> labels that the topic
    prefers.
    """
    texts = label_texts or ("",) * len(roster.members)
    affinities = affinities or {}
    racks = [member.rack or None for member in roster.members]
    labels_by_text = {text: labels_of(text) for text in set(texts)}
    labels = [labels_by_text[text] for text in texts]
    preferred_labels = set(affinities.values())
    matched_by_text = {
        text: frozenset(preferred for preferred in preferred_labels if preferred <= has)
        for text, has in labels_by_text.items()
    }
    kinds = tuple(
        MemberKind(topics, rack, matched_by_text[text])
        for topics, rack, text in zip(topics_of_members(roster), racks, texts, strict=True)
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
    """Return the affinity if some subscribers have its labels and some do not; otherwise None."""
    if affinity is None or len({affinity <= member_labels for member_labels in set(labels)}) == 1:
        return None
    return affinity
