"""A group made ready for a strategy: ordered, checked, counted. The same first step for all of them.

From here on members and topics are integers, places in `Roster.members` and `Roster.topics`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from rebalance_agent.assignors.claims import TopicOwnership
from rebalance_agent.assignors.ownership_index import OwnershipIndex, build_index, settle_all
from rebalance_agent.assignors.strategy_settings import Setting
from rebalance_agent.assignors.subscribers import subscribers_by_topic
from rebalance_agent.errors import DecodeError
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import (
    UNKNOWN_GENERATION,
    GroupSubscription,
    MemberSubscription,
    TopicMetadata,
    member_order,
)

__all__ = ["MemberUserData", "Plan", "Reader", "Roster", "RosterCache", "prepare_roster", "prepare_roster_again"]

Plan = list[dict[str, tuple[int, ...]]]
"""What each member is to own, by its place in the roster: topic -> ascending partition numbers."""


@dataclass(frozen=True, slots=True)
class MemberUserData:
    """What a member says in its user data: settings by name, and what it has, as far as the strategy needs it.

    ``owned`` was assigned in ``generation`` (-1: not said); ``standbys`` are partitions that it has a copy of.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    owned: TopicPartitions = field(default_factory=dict)
    generation: int = UNKNOWN_GENERATION
    standbys: TopicPartitions = field(default_factory=dict)


Reader = Callable[[bytes], MemberUserData]
"""Decodes a strategy's user data; raises `DecodeError`."""

_T = TypeVar("_T")


@dataclass(slots=True)
class RosterCache:
    """What has been worked out about a roster, so that it is not worked out again. No part of its value.

    ``even``: the promise of `promise.by_count`, which depends on nothing that is owned.
    """

    ownership_index: OwnershipIndex | None = None
    count_promise: Any = None
    owned_counts: tuple[int, ...] | None = None
    drafts: dict[tuple[tuple[int, ...], ...], Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Roster:
    """A group in order.

    ``members`` are in Java's order, ``topics`` those that somebody subscribes to and that have partitions, sorted as
    Java sorts strings. ``subscribers`` and ``ownership`` go by topic, ``settings`` (name -> values) and ``standbys``
    (the copies that a member says it has) by member. Topics with the same subscribers share one tuple of them.
    ``twins`` are member ids that appeared more than once: one subscription of each counts.
    """

    group: str
    members: tuple[MemberSubscription, ...]
    topics: tuple[str, ...]
    metadata: tuple[TopicMetadata, ...]
    subscribers: tuple[tuple[int, ...], ...]
    ownership: Sequence[TopicOwnership]
    settings: Mapping[str, tuple[Any, ...]]
    shared: Mapping[str, Any]
    standbys: tuple[TopicPartitions, ...]
    unknown_topics: tuple[str, ...]
    user_data_errors: Mapping[str, str]
    duplicate_ids: tuple[str, ...] = ()
    # Not an argument, so that `dataclasses.replace` begins with a blank sheet.
    cache: RosterCache = field(default_factory=RosterCache, init=False, repr=False, compare=False)

    def of(self, setting: Setting[_T]) -> tuple[_T, ...]:
        """Each member's value of its own ``setting``."""
        return self.settings[setting.name]

    def shared_by_all(self, setting: Setting[_T]) -> _T:
        """The group's value of a shared ``setting``."""
        value: _T = self.shared[setting.name]
        return value

    @property
    def partitions(self) -> list[int]:
        """The number of partitions of each topic."""
        return [topic.partitions for topic in self.metadata]

    @property
    def ownership_index(self) -> OwnershipIndex:
        """Ownership, and the same by member and what nobody owns."""
        if self.cache.ownership_index is None:
            topics = dict(zip(self.topics, self.partitions, strict=True))
            self.cache.ownership_index = build_index(self.ownership, topics, len(self.members))
        return self.cache.ownership_index

    def owned_counts(self) -> list[int]:
        """How many partitions each member owns."""
        if self.cache.owned_counts is None:
            self.cache.owned_counts = tuple(sum(map(len, owned.values())) for owned in self.ownership_index.holdings)
        return list(self.cache.owned_counts)

    def uniform(self) -> bool:
        """Whether all members that subscribe to anything known subscribe to the same topics.

        Equal subscribers are one shared tuple (see `Roster`), so identity decides.
        """
        return len({id(members) for members in self.subscribers}) <= 1

    def empty_plan(self) -> Plan:
        """A plan that gives nobody anything yet."""
        return [{} for _ in self.members]


def prepare_roster(
    group: GroupSubscription,
    settings: Sequence[Setting[Any]] = (),
    reader: Reader | None = None,
    *,
    believe_owned: bool = True,
    only_owned: bool = False,
) -> Roster:
    """Order and check ``group``; read its members' user data with ``reader``.

    User data that does not decode is that member's problem only: it gets the settings' configured or default values,
    counts as owning what its subscription says, and is named in ``user_data_errors``. Of members with one id, only one
    counts, whatever their order. ``believe_owned``: whether user data may say what is owned; under the cooperative
    protocol the subscription alone does (KIP-429). ``only_owned``: it says nothing else, so that it is not even read
    where the subscription says what is owned and since when.

    Raises:
        AssignmentError: a configured value is not what its setting takes.
    """
    members, duplicate_ids = _without_duplicates(sorted(group.members, key=member_order))
    reports, errors = _read_user_data(members, reader, only_owned=only_owned)
    if not believe_owned:
        reports = [report and replace(report, owned={}) for report in reports]
    by_topic = subscribers_by_topic(members)
    topics = tuple(
        sorted(
            (topic for topic in by_topic if topic in group.topics and group.topics[topic].partitions > 0),
            key=_utf16,
        )
    )
    metadata = tuple(group.topics[topic] for topic in topics)
    subscribers = tuple(by_topic[topic] for topic in topics)
    ownership_index = settle_all(
        _claims(members, reports),
        {topic: group.topics[topic].partitions for topic in topics},
        subscribers,
        [member.topics for member in members],
    )
    roster = Roster(
        group=group.group,
        members=members,
        topics=topics,
        metadata=metadata,
        subscribers=subscribers,
        ownership=ownership_index.ownership,
        settings={setting.name: _values(setting, members, reports) for setting in settings if not setting.shared},
        shared={setting.name: setting.of(group.config) for setting in settings if setting.shared},
        standbys=tuple(_standbys(member, report) for member, report in zip(members, reports, strict=True)),
        unknown_topics=tuple(sorted(by_topic.keys() - set(topics))),
        user_data_errors=errors,
        duplicate_ids=duplicate_ids,
    )
    roster.cache.ownership_index = ownership_index
    return roster


def prepare_roster_again(
    roster: Roster,
    holdings: Sequence[TopicPartitions],
    reports: Sequence[MemberUserData | None],
    settings: Sequence[Setting[Any]] = (),
    config: Mapping[str, str] | None = None,
    standbys: Sequence[TopicPartitions] | None = None,
) -> Roster:
    """The members of ``roster`` again, as a strategy with these ``settings`` reads them: nothing is ordered anew.

    By member: they claim ``holdings``, all since one generation, have copies of ``standbys``, and say in user data what
    is in ``told``, ownership apart. All of them are configured with ``config``.

    Raises:
        AssignmentError: a configured value is not what its setting takes.
    """
    ownership_index = settle_all(
        [(0, owned) for owned in holdings],
        dict(zip(roster.topics, roster.partitions, strict=True)),
        roster.subscribers,
        [member.topics for member in roster.members],
    )
    values = {setting.name: setting.of(config or {}) for setting in settings}
    again = replace(
        roster,
        ownership=ownership_index.ownership,
        settings={
            each.name: tuple(
                [
                    report.settings.get(each.name, values[each.name]) if report else values[each.name]
                    for report in reports
                ]
            )
            for each in settings
            if not each.shared
        },
        shared={each.name: values[each.name] for each in settings if each.shared},
        standbys=tuple(map(_in_sets, standbys)) if standbys else ({},) * len(holdings),
        user_data_errors={},
    )
    again.cache.ownership_index, again.cache.count_promise = ownership_index, roster.cache.count_promise
    return again


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def _without_duplicates(
    members: Sequence[MemberSubscription],
) -> tuple[tuple[MemberSubscription, ...], tuple[str, ...]]:
    """One member of each id, the one with the newest generation, and the ids that appeared more than once."""
    by_id: dict[str, MemberSubscription] = {}
    duplicate_ids: dict[str, None] = {}
    for member in members:
        other = by_id.setdefault(member.member_id, member)
        if other is not member:
            duplicate_ids[member.member_id] = None
            by_id[member.member_id] = max(other, member, key=_newest)
    return (tuple(by_id.values()) if duplicate_ids else tuple(members)), tuple(duplicate_ids)


def _newest(member: MemberSubscription) -> tuple[int, str]:
    # The text settles what the generation does not: any rule will do that does not depend on the input's order.
    fields = (member.topics, member.instance_id, sorted(member.owned.items()), member.rack, member.user_data)
    return member.generation, repr((*fields, sorted(member.config.items()), sorted(member.standbys.items())))


def _read_user_data(
    members: Sequence[MemberSubscription], reader: Reader | None, *, only_owned: bool
) -> tuple[list[MemberUserData | None], dict[str, str]]:
    reports: list[MemberUserData | None] = [None] * len(members)
    errors: dict[str, str] = {}
    if reader is None:
        return reports, errors
    for index, member in enumerate(members):
        is_redundant = only_owned and member.owned and member.generation != UNKNOWN_GENERATION
        if not member.user_data or is_redundant:
            continue
        try:
            reports[index] = reader(member.user_data)
        except DecodeError as error:
            errors[member.member_id] = str(error)
    return reports, errors


def _claims(
    members: Sequence[MemberSubscription], reports: Sequence[MemberUserData | None]
) -> list[tuple[int, TopicPartitions]]:
    """Each member's generation and what it says it owns."""
    claims = []
    for member, report in zip(members, reports, strict=True):
        # What the subscription says outranks user data, which not every client keeps up to date.
        # Each is as old as the place that says it: who missed an assignment goes on sending an older one.
        stated, stated_since = (report.owned, report.generation) if report else ({}, UNKNOWN_GENERATION)
        if member.owned or not stated:
            owned, since, otherwise = member.owned, member.generation, stated_since
        else:
            owned, since, otherwise = stated, stated_since, member.generation
        claims.append((otherwise if since == UNKNOWN_GENERATION else since, owned))
    return claims


def _standbys(member: MemberSubscription, report: MemberUserData | None) -> TopicPartitions:
    return _in_sets(member.standbys or (report.standbys if report else {}))


def _in_sets(claimed: TopicPartitions) -> TopicPartitions:
    # Which copies there can be is for the plan to say, so that what it gave counts as kept: of a changelog that nobody
    # subscribes to, a leader may know too little, or nothing.
    return {topic: tuple(sorted(set(numbers))) for topic, numbers in claimed.items()}


def _values(
    setting: Setting[_T], members: Sequence[MemberSubscription], reports: Sequence[MemberUserData | None]
) -> tuple[_T, ...]:
    return tuple(
        report.settings[setting.name] if report and setting.name in report.settings else setting.of(member.config)
        for member, report in zip(members, reports, strict=True)
    )
