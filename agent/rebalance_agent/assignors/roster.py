"""Prepares a group for strategies: members and topics in order, settings read, ownership checked.

In a roster and in plans, members and topics are integers: indexes in `Roster.members` and `Roster.topics`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from rebalance_agent.assignors.claims import TopicOwnership
from rebalance_agent.assignors.member_settings import not_sent, values_of
from rebalance_agent.assignors.ownership_index import OwnershipIndex, settle_all
from rebalance_agent.assignors.strategy_settings import Setting
from rebalance_agent.assignors.subscribers import indexes_by_value, subscribers_by_topic
from rebalance_agent.errors import DecodeError
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import (
    UNKNOWN_GENERATION,
    GroupSubscription,
    MemberSubscription,
    MemberUserData,
    TopicMetadata,
    java_order,
    member_order,
)

__all__ = ["CopiesPlan", "Plan", "Reader", "Roster", "RosterCache", "prepare_roster", "prepare_roster_again"]

Plan = list[dict[str, tuple[int, ...]]]
"""The partitions of each member, by its index in the roster: topic -> ascending partition numbers."""


class CopiesPlan(NamedTuple):
    """The copies of each member, including copies for which partitions wait (see `AssignedCopies`).

    ``missing``: the number of copies that the group's setting requires but for which no host is left; a copy of a unit
    counts once.
    """

    standbys: Plan
    warmups: Plan
    missing: int = 0


Reader = Callable[[bytes], MemberUserData]
"""Decodes a strategy's user data; raises `DecodeError`."""

_T = TypeVar("_T")


@dataclass(slots=True)
class RosterCache:
    """Values derived from a roster, computed once; not part of the roster's value.

    ``count_promise``: the result of `promise.by_count`, which does not depend on ownership. ``unit_hosts``: each unit's
    host in the best balance, if units wait for copies (see ``units``).
    """

    count_promise: Any = None
    owned_counts: tuple[int, ...] | None = None
    drafts: dict[tuple[tuple[int, ...], ...], Any] = field(default_factory=dict)
    unit_hosts: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class Roster:
    """A group in order, ready for a strategy.

    ``members`` are in Java's order; ``topics`` are those that have subscribers and partitions, sorted as Java sorts
    strings. ``subscribers`` are by topic; ``settings`` (name -> values) and ``standbys`` (copies that a member claims
    to have) are by member. Topics with the same subscribers share one tuple of them, so that ``id()`` compares them.
    ``duplicate_ids`` are member ids that occurred more than once; one subscription of each counts.
    """

    group: str
    members: tuple[MemberSubscription, ...]
    topics: tuple[str, ...]
    metadata: tuple[TopicMetadata, ...]
    subscribers: tuple[tuple[int, ...], ...]
    ownership_index: OwnershipIndex
    settings: Mapping[str, tuple[Any, ...]]
    shared: Mapping[str, Any]
    standbys: tuple[TopicPartitions, ...]
    unknown_topics: tuple[str, ...]
    user_data_errors: Mapping[str, str]
    duplicate_ids: tuple[str, ...] = ()
    # Not an init argument, so that `dataclasses.replace` starts with an empty cache.
    cache: RosterCache = field(default_factory=RosterCache, init=False, repr=False, compare=False)

    def of(self, setting: Setting[_T]) -> tuple[_T, ...]:
        """Return each member's value of ``setting``, which is not shared."""
        return self.settings[setting.name]

    def shared_by_all(self, setting: Setting[_T]) -> _T:
        """Return the group's value of a shared ``setting``."""
        value: _T = self.shared[setting.name]
        return value

    @property
    def partitions(self) -> list[int]:
        """The number of partitions of each topic."""
        return [topic.partitions for topic in self.metadata]

    @property
    def ownership(self) -> Sequence[TopicOwnership]:
        """Ownership by topic."""
        return self.ownership_index.ownership

    def owned_counts(self) -> list[int]:
        """Return the number of partitions that each member owns."""
        if self.cache.owned_counts is None:
            self.cache.owned_counts = tuple(sum(map(len, owned.values())) for owned in self.ownership_index.holdings)
        return list(self.cache.owned_counts)

    def uniform(self) -> bool:
        """Return whether all members with any known topic subscribe to the same topics.

        Equal subscribers are one shared tuple (see `Roster`), so identity decides.
        """
        return len({id(members) for members in self.subscribers}) <= 1

    def copartitions(self) -> list[tuple[int, ...]]:
        """Return topics in groups of equal partition count and equal subscribers (one shared tuple, see `Roster`)."""
        return list(map(tuple, indexes_by_value(zip(self.partitions, map(id, self.subscribers), strict=True)).values()))

    def empty_plan(self) -> Plan:
        """Return a plan that assigns nothing."""
        return [{} for _ in self.members]


def prepare_roster(
    group: GroupSubscription,
    settings: Sequence[Setting[Any]] = (),
    reader: Reader | None = None,
    *,
    believe_owned: bool = True,
    only_owned: bool = False,
) -> Roster:
    """Order and check ``group``, and read its members' user data with ``reader``.

    User data that cannot be decoded affects only its member, which gets configured or default settings, owns what its
    subscription claims, and is named in ``user_data_errors``. If several members have the same id, one of them counts,
    independently of their order. ``believe_owned``: whether ownership is read from user data; under the cooperative
    protocol only the subscription counts (KIP-429). ``only_owned``: user data contains only ownership, so it is not
    read if the subscription states ownership and generation.

    Raises:
        AssignmentError: a configured value is not valid for its setting.
    """
    members, duplicate_ids = _without_duplicates(sorted(group.members, key=member_order))
    reports, errors = _read_user_data(members, reader, only_owned=only_owned)
    if not believe_owned:
        reports = [report and replace(report, owned={}) for report in reports]
    by_topic = subscribers_by_topic(members)
    existing = (topic for topic in by_topic if topic in group.topics and group.topics[topic].partitions > 0)
    topics = tuple(sorted(existing, key=java_order))
    metadata = tuple(group.topics[topic] for topic in topics)
    subscribers = tuple(by_topic[topic] for topic in topics)
    return Roster(
        group=group.group,
        members=members,
        topics=topics,
        metadata=metadata,
        subscribers=subscribers,
        ownership_index=settle_all(
            _claims(members, reports),
            {topic: group.topics[topic].partitions for topic in topics},
            subscribers,
            [member.topics for member in members],
        ),
        settings={
            setting.name: values_of(setting, members, reports, group.config)
            for setting in settings
            if not setting.shared
        },
        shared={setting.name: setting.of(group.config) for setting in settings if setting.shared},
        standbys=tuple(_standbys(member, report) for member, report in zip(members, reports, strict=True)),
        unknown_topics=tuple(sorted(by_topic.keys() - set(topics))),
        user_data_errors={**errors, **not_sent(members, reports, settings, errors)},
        duplicate_ids=duplicate_ids,
    )


def prepare_roster_again(
    roster: Roster,
    holdings: Sequence[TopicPartitions],
    reports: Sequence[MemberUserData | None],
    settings: Sequence[Setting[Any]] = (),
    config: Mapping[str, str] | None = None,
    standbys: Sequence[TopicPartitions] | None = None,
) -> Roster:
    """Return ``roster`` for a strategy with these ``settings``, without ordering members and topics again.

    By member: ``holdings`` are the owned partitions, all since one generation; ``standbys`` are the copied partitions;
    ``reports`` are the user data, of which the ownership is ignored. ``config`` applies to all members.

    Raises:
        AssignmentError: a configured value is not valid for its setting.
    """
    given = config or {}
    values = {setting.name: setting.of(given) for setting in settings}
    unsent = {setting.name: setting.unsent(given, given) for setting in settings}
    shared = {setting.name: values[setting.name] for setting in settings if setting.shared}
    again = replace(
        roster,
        ownership_index=settle_all(
            [(0, owned) for owned in holdings],
            dict(zip(roster.topics, roster.partitions, strict=True)),
            roster.subscribers,
            [member.topics for member in roster.members],
        ),
        settings={
            name: tuple([report.settings.get(name, value) if report else unsent[name] for report in reports])
            for name, value in values.items()
            if name not in shared
        },
        shared=shared,
        standbys=tuple(map(_in_sets, standbys)) if standbys else ({},) * len(holdings),
        user_data_errors={},
    )
    again.cache.count_promise = roster.cache.count_promise
    return again


def _without_duplicates(
    members: Sequence[MemberSubscription],
) -> tuple[tuple[MemberSubscription, ...], tuple[str, ...]]:
    """Return one member for each id, the one with the newest generation, and the ids that occurred more than once."""
    by_id: dict[str, MemberSubscription] = {}
    duplicate_ids: dict[str, None] = {}
    for member in members:
        other = by_id.setdefault(member.member_id, member)
        if other is not member:
            duplicate_ids[member.member_id] = None
            by_id[member.member_id] = max(other, member, key=_newest)
    return (tuple(by_id.values()) if duplicate_ids else tuple(members)), tuple(duplicate_ids)


def _newest(member: MemberSubscription) -> tuple[int, str]:
    # `repr` breaks ties between equal generations; any rule that does not depend on the input's order would do.
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
    """Return each member's generation and the partitions that it claims to own."""
    claims = []
    for member, report in zip(members, reports, strict=True):
        # The subscription takes precedence over user data, which not every client keeps up to date. Each has its own
        # generation: a member that missed an assignment keeps sending an older one.
        stated, stated_since = (report.owned, report.generation) if report else ({}, UNKNOWN_GENERATION)
        # A generation below zero is unknown, and all unknown generations are equally old.
        stated_since = max(UNKNOWN_GENERATION, stated_since)
        if member.owned or not stated:
            owned, since, otherwise = member.owned, member.generation, stated_since
        else:
            owned, since, otherwise = stated, stated_since, member.generation
        claims.append((otherwise if since == UNKNOWN_GENERATION else since, owned))
    return claims


def _standbys(member: MemberSubscription, report: MemberUserData | None) -> TopicPartitions:
    return _in_sets(member.standbys or (report.standbys if report else {}))


def _in_sets(claimed: TopicPartitions) -> TopicPartitions:
    # Copies are not checked against topics here: a leader may have no metadata of a changelog without subscribers,
    # and copies that an earlier plan assigned must still count as kept.
    return {topic: tuple(sorted(set(numbers))) for topic, numbers in claimed.items()}
