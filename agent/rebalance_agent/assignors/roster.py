"""A group made ready for a strategy: ordered, checked, counted. The same first step for all of them.

From here on members and topics are integers, places in `Roster.members` and `Roster.topics`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_agent.assignors.claims import Claim, Ownership, settle
from rebalance_agent.assignors.settings import Setting
from rebalance_agent.errors import AssignmentError, DecodeError
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import (
    GroupSubscription,
    MemberSubscription,
    TopicMetadata,
    member_order,
)

__all__ = ["Plan", "Reader", "Roster", "Told", "call_the_roll"]

Plan = list[dict[str, tuple[int, ...]]]
"""What each member is to own, by its place in the roster: topic -> ascending partition numbers."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a member's user data says: settings by name, and the partitions it owns."""

    settings: Mapping[str, int]
    owned: TopicPartitions = field(default_factory=dict)


Reader = Callable[[bytes], Told]
"""Decodes a strategy's user data; raises `DecodeError`."""


@dataclass(frozen=True, slots=True)
class Roster:
    """A group in order.

    ``members`` are in Java's order, ``topics`` those that somebody subscribes to and that have partitions, sorted as
    Java sorts strings. ``subscribers`` and ``ownership`` go by topic, ``settings`` (name -> values) by member. Topics
    with the same subscribers share one tuple of them.
    """

    group: str
    members: tuple[MemberSubscription, ...]
    topics: tuple[str, ...]
    metadata: tuple[TopicMetadata, ...]
    subscribers: tuple[tuple[int, ...], ...]
    ownership: tuple[Ownership, ...]
    settings: Mapping[str, tuple[int, ...]]
    unknown_topics: tuple[str, ...]
    user_data_errors: Mapping[str, str]

    @property
    def partitions(self) -> list[int]:
        """The number of partitions of each topic."""
        return [topic.partitions for topic in self.metadata]

    def owned_counts(self) -> list[int]:
        """How many partitions each member owns."""
        counts = [0] * len(self.members)
        for topic in self.ownership:
            for member, numbers in topic.owned.items():
                counts[member] += len(numbers)
        return counts

    def uniform(self) -> bool:
        """Whether all members that subscribe to anything known subscribe to the same topics.

        Equal subscribers are one shared tuple (see `Roster`), so identity decides.
        """
        return len({id(places) for places in self.subscribers}) <= 1

    def empty_plan(self) -> Plan:
        """A plan that gives nobody anything yet."""
        return [{} for _ in self.members]


def call_the_roll(group: GroupSubscription, settings: Sequence[Setting] = (), reader: Reader | None = None) -> Roster:
    """Order and check ``group``; read its members' user data with ``reader``.

    User data that does not decode is that member's problem only: it gets the settings' configured or default values,
    counts as owning what its subscription says, and is named in ``user_data_errors``.

    Raises:
        AssignmentError: a member id appears twice, or a member's configured value is out of bounds.
    """
    members = tuple(sorted(group.members, key=member_order))
    _refuse_twins(members)
    told, errors = _read_user_data(members, reader)
    by_topic = _subscribers_by_topic(members)
    topics = tuple(
        sorted(
            (topic for topic in by_topic if topic in group.topics and group.topics[topic].partitions > 0),
            key=_utf16,
        )
    )
    metadata = tuple(group.topics[topic] for topic in topics)
    subscribers = tuple(by_topic[topic] for topic in topics)
    return Roster(
        group=group.group,
        members=members,
        topics=topics,
        metadata=metadata,
        subscribers=subscribers,
        ownership=_ownership(members, told, topics, metadata, subscribers),
        settings={setting.name: _values(setting, members, told) for setting in settings},
        unknown_topics=tuple(sorted(by_topic.keys() - set(topics))),
        user_data_errors=errors,
    )


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def _refuse_twins(members: Sequence[MemberSubscription]) -> None:
    seen: set[str] = set()
    for member in members:
        if member.member_id in seen:
            raise AssignmentError(f"the member id {member.member_id[:200]!r} appears twice in the group")
        seen.add(member.member_id)


def _read_user_data(
    members: Sequence[MemberSubscription], reader: Reader | None
) -> tuple[list[Told | None], dict[str, str]]:
    told: list[Told | None] = [None] * len(members)
    errors: dict[str, str] = {}
    if reader is None:
        return told, errors
    for place, member in enumerate(members):
        if not member.user_data:
            continue
        try:
            told[place] = reader(member.user_data)
        except DecodeError as error:
            errors[member.member_id] = str(error)
    return told, errors


def _subscribers_by_topic(members: Sequence[MemberSubscription]) -> dict[str, tuple[int, ...]]:
    """Topic -> the places of its subscribers. Members of one subscription are handled as one, for speed."""
    kinds: dict[tuple[str, ...], list[int]] = {}
    for place, member in enumerate(members):
        kinds.setdefault(tuple(member.topics), []).append(place)
    kinds_of_topic: dict[str, list[int]] = {}
    for kind, topics in enumerate(kinds):
        for topic in dict.fromkeys(topics):
            kinds_of_topic.setdefault(topic, []).append(kind)
    places = list(kinds.values())
    merged: dict[tuple[int, ...], tuple[int, ...]] = {}
    by_topic: dict[str, tuple[int, ...]] = {}
    for topic, kind_list in kinds_of_topic.items():
        key = tuple(kind_list)
        if key not in merged:
            merged[key] = tuple(sorted(place for kind in key for place in places[kind]))
        by_topic[topic] = merged[key]
    return by_topic


def _ownership(
    members: Sequence[MemberSubscription],
    told: Sequence[Told | None],
    topics: Sequence[str],
    metadata: Sequence[TopicMetadata],
    subscribers: Sequence[tuple[int, ...]],
) -> tuple[Ownership, ...]:
    claims: dict[str, list[Claim]] = {topic: [] for topic in topics}
    for place, member in enumerate(members):
        # What the subscription says outranks user data, which not every client keeps up to date.
        report = told[place]
        owned = member.owned or (report.owned if report else {})
        for topic, numbers in owned.items():
            claimed = claims.get(topic)
            if claimed is not None:
                claimed.append((member.generation, place, tuple(numbers)))
    sets: dict[tuple[int, ...], frozenset[int]] = {}
    ownership = []
    for topic, known, places in zip(topics, metadata, subscribers, strict=True):
        if not claims[topic]:
            ownership.append(Ownership())
            continue
        if places not in sets:
            sets[places] = frozenset(places)
        ownership.append(settle(claims[topic], known.partitions, sets[places]))
    return tuple(ownership)


def _values(setting: Setting, members: Sequence[MemberSubscription], told: Sequence[Told | None]) -> tuple[int, ...]:
    return tuple(
        report.settings[setting.name] if report else setting.of(member.config)
        for member, report in zip(members, told, strict=True)
    )
