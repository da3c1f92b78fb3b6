"""Checks the results of a strategy's functions; each check raises ``ValueError`` if a result breaks the contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from rebalance_agent.assignors.balance.promise import Promise
from rebalance_agent.assignors.roster import CopiesPlan, Plan, Roster
from rebalance_agent.model.subscription import AssignedCopies, MemberUserData

__all__ = [
    "check_bytes",
    "check_copies",
    "check_copies_plan",
    "check_partitions",
    "check_plan",
    "check_promise",
    "check_redundancy",
    "check_shape",
    "check_topic_counts",
    "check_user_data",
]


def check_plan(plan: object, roster: Roster, copies: int) -> None:
    """Check that ``plan`` assigns each partition to at least one subscriber, and to at most ``copies`` of them.

    Raises:
        ValueError: the plan does not; the text names the first member or partition that breaks the rule.
    """
    rows = check_shape(plan, roster)
    counts = roster.partitions
    index = {topic: number for number, topic in enumerate(roster.topics)}
    # Topics with the same subscribers share one tuple of them, see Roster.
    subscribers = {id(members): frozenset(members) for members in roster.subscribers}
    owners = [[0] * count for count in counts]
    for member, given in enumerate(rows):
        for topic, numbers in given.items():
            at = index.get(topic)
            if at is None or member not in subscribers[id(roster.subscribers[at])]:
                name = roster.members[member].member_id
                raise ValueError(f"member {name!r} gets topic {topic!r}, which it does not subscribe to")
            if numbers and numbers[-1] >= counts[at]:
                raise ValueError(f"topic {topic!r} has {counts[at]} partitions, and no partition {numbers[-1]}")
            times = owners[at]
            for number in numbers:
                times[number] += 1
    for topic, times in zip(roster.topics, owners, strict=True):
        if min(times) < 1:
            raise ValueError(f"partition {times.index(0)} of topic {topic!r} has no owner")
        if max(times) > copies:
            highest = max(times)
            raise ValueError(
                f"partition {times.index(highest)} of topic {topic!r} has {highest} owners, more than {copies}"
            )


def check_shape(plan: object, roster: Roster) -> Plan:
    """Return ``plan`` if it is a list with topic -> ascending partition numbers for each member of ``roster``.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(plan, list) or len(plan) != len(roster.members):
        raise ValueError(f"a plan must be a list with one dict for each of the {len(roster.members)} members")
    for given in plan:
        check_partitions(given)
    return plan


def check_copies_plan(plan: object, roster: Roster) -> None:
    """Check that ``plan`` is a `CopiesPlan` for the members of ``roster``.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(plan, CopiesPlan):
        raise ValueError(f"a plan of copies must be a CopiesPlan, not {plan!r:.80}")  # noqa: TRY004 - see the module
    for copies in (plan.standbys, plan.warmups):
        check_shape(copies, roster)
    if type(plan.missing) is not int or plan.missing < 0:
        raise ValueError(f"`missing` of a CopiesPlan must be an int of 0 or more, not {plan.missing!r:.80}")


def check_copies(copies: object) -> None:
    """Check that ``copies`` is an `AssignedCopies`.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(copies, AssignedCopies):
        raise ValueError(f"copies must be AssignedCopies, not {copies!r:.80}")  # noqa: TRY004
    check_partitions(copies.standbys)
    check_partitions(copies.warmups)


def check_partitions(given: object) -> None:
    """Check that ``given`` is topic -> ascending partition numbers, each once.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(given, Mapping):
        raise ValueError(f"partitions must be a mapping of topics to numbers, not {given!r:.80}")  # noqa: TRY004
    for topic, numbers in given.items():
        if not isinstance(topic, str):
            raise ValueError(f"a topic must be a str, not {topic!r:.80}")  # noqa: TRY004
        if not isinstance(numbers, tuple) or not all(type(number) is int for number in numbers):
            raise ValueError(f"the partitions of topic {topic!r} must be a tuple of ints, not {numbers!r:.80}")
        if (numbers and numbers[0] < 0) or any(low >= high for low, high in pairwise(numbers)):
            raise ValueError(f"the partitions of topic {topic!r} must be ascending numbers from 0, not {numbers!r:.80}")


def check_promise(promise: object, roster: Roster) -> None:
    """Check that ``promise`` is a `Promise` to all members of ``roster``.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(promise, Promise):
        raise ValueError(f"a promise must be a Promise, not {promise!r:.80}")  # noqa: TRY004
    members = len(roster.members)
    parts: Sequence[Sequence[object]] = (
        promise.standing,
        promise.floors,
        promise.ranks,
        promise.levels or (0,) * members,
    )
    if any(len(part) != members or not all(type(value) is int for value in part) for part in parts):
        raise ValueError(f"each part of a promise must have one int for each of the {members} members")
    if any(low < 0 for low in promise.floors):
        raise ValueError("a promise must not have a floor below 0")


def check_redundancy(copies: object) -> None:
    """Check that ``copies``, the number of members that get each partition, is at least 1.

    Raises:
        ValueError: it is not.
    """
    if type(copies) is not int or copies < 1:
        raise ValueError(f"a redundancy must be an int of 1 or more, not {copies!r:.80}")


def check_user_data(report: object) -> None:
    """Check that ``report`` is a `MemberUserData`.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(report, MemberUserData):
        raise ValueError(f"a reader must return MemberUserData, not {report!r:.80}")  # noqa: TRY004
    check_partitions(report.owned)
    check_partitions(report.standbys)
    if not isinstance(report.settings, Mapping) or type(report.generation) is not int:
        raise ValueError("MemberUserData must have a mapping of settings and an int as generation")


def check_topic_counts(wanted: object) -> None:
    """Check that ``wanted`` is topic -> number of partitions.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(wanted, Mapping) or not all(
        isinstance(topic, str) and type(count) is int and count >= 0 for topic, count in wanted.items()
    ):
        raise ValueError(f"internal topics must be a mapping of topics to numbers of partitions, not {wanted!r:.80}")


def check_bytes(data: object) -> None:
    """Check that ``data`` is bytes.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(data, bytes):
        raise ValueError(f"user data must be bytes, not {data!r:.80}")  # noqa: TRY004
