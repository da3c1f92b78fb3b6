"""Bounds what a classic group's record may claim, before the tracker spends time and memory on it. Pure.

The leader of a group writes the assignment, and the coordinator does not read it: a record of 880 kB can assign 220,000
partitions of topics that do not exist. Partitions cost time in every later step, so they are counted here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rebalance_agent.model.group import UNREAD_ASSIGNMENTS, GroupSnapshot, Member
from rebalance_agent.model.partitions import CLAIMS_MAX, TopicPartitions, count_partitions
from rebalance_agent.model.subscription import ConsumerSubscription

__all__ = ["FREE_CLAIMS", "FREE_TOPICS", "bounded_claims", "claims"]

FREE_CLAIMS = 20_000
"""Partitions, assigned and owned, that members may claim even if they do not exist, since the list of topics may be
older than the record: twice the claims of a group with 10,000 partitions whose members send the partitions that they
own."""

FREE_TOPICS = 10_000
"""Maximum number of topics that all members together may subscribe to, whether these exist or not."""


def claims(value: GroupSnapshot) -> int:
    """Return the number of partitions that the members are assigned or own; each counts once for each member."""
    return sum(count_partitions(member.assigned) + count_partitions(member.owned) for member in value.members)


def bounded_claims(value: GroupSnapshot, topic_sizes: Mapping[str, int]) -> GroupSnapshot:
    """Return the record with at most `CLAIMS_MAX` partitions; most records are returned unchanged.

    Above `FREE_CLAIMS` only partitions that exist count; ``topic_sizes``: partitions by topic, empty if they are not
    known yet. If there are still too many, members keep no partitions, and the protocol type is `UNREAD_ASSIGNMENTS`.
    """
    topics = sum(len(member.subscription.topics) for member in value.members if member.subscription)
    claimed = claims(value)
    if topic_sizes and (topics > FREE_TOPICS or claimed > FREE_CLAIMS):
        value = replace(value, members=tuple(_existing(member, topic_sizes) for member in value.members))
        claimed = claims(value)
    if claimed > CLAIMS_MAX:
        members = tuple(replace(member, subscription=None, assignment=None) for member in value.members)
        value = replace(value, members=members, protocol_type=UNREAD_ASSIGNMENTS)
    return value


def _existing(member: Member, topic_sizes: Mapping[str, int]) -> Member:
    """Return the member with only those of its topics and partitions that exist."""
    subscription: ConsumerSubscription | None = None
    if member.subscription:
        subscription = replace(
            member.subscription,
            topics=tuple(topic for topic in member.subscription.topics if topic in topic_sizes),
            owned_partitions=_within(member.owned, topic_sizes),
        )
    assignment = member.assignment
    if assignment:
        assignment = replace(assignment, partitions=_within(member.assigned, topic_sizes))
    return replace(member, subscription=subscription, assignment=assignment)


def _within(partitions: TopicPartitions, topic_sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    within: dict[str, tuple[int, ...]] = {}
    for topic, numbers in partitions.items():
        if size := topic_sizes.get(topic, 0):
            # Numbers are ascending and nearly always all below the size.
            kept = numbers if numbers[-1] < size else tuple(number for number in numbers if number < size)
            if kept:
                within[topic] = kept
    return within
