"""The causes of a rebalance, from the difference of two generations and the members' reports."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_agent.model.episode import TRIGGER_PRECEDENCE, Trigger
from rebalance_agent.model.generation_diff import GenerationDiff
from rebalance_agent.model.group import Member
from rebalance_agent.tracking.cluster_topics import ClusterTopics
from rebalance_agent.tracking.completed_generation import Departure, Episode, Generation
from rebalance_agent.tracking.evidence.member_reports import MemberReports, ReportSpan
from rebalance_agent.tracking.rebalance.diff_cache import difference

__all__ = ["episode_causes", "generation_causes", "in_precedence"]

_BY_DEPARTURE = {
    Departure.LEFT: Trigger.MEMBER_LEFT,
    Departure.FAILED: Trigger.MEMBER_FAILED,
    Departure.UNKNOWN: Trigger.MEMBER_GONE,
}


def in_precedence(causes: Iterable[Trigger]) -> tuple[Trigger, ...]:
    """Return each cause once, ordered by precedence; the first one is the trigger."""
    return tuple(sorted(set(causes), key=TRIGGER_PRECEDENCE.index))


def episode_causes(episode: Episode, reports: MemberReports, topics: ClusterTopics) -> tuple[Trigger, ...]:
    """Return the causes of a whole episode: those of its generations, without the rejoin of a follow-up."""
    if not episode.known:
        return (Trigger.UNKNOWN,)
    causes = {cause for before, after in episode.steps() for cause in generation_causes(before, after, reports, topics)}
    if Trigger.GROUP_STARTED in causes:
        # A streams group creates its internal topics when it starts; they may be seen before or after its generation.
        causes -= {Trigger.TOPICS_CHANGED}
    return in_precedence(causes - {Trigger.REJOIN} or causes)


def generation_causes(
    before: Generation | None, after: Generation, reports: MemberReports, topics: ClusterTopics
) -> tuple[Trigger, ...]:
    """Return the causes of one generation, given the one before it (None or Empty: the group started)."""
    if before is None or not before.members:
        return (Trigger.GROUP_STARTED,)
    diff = difference(before, after)
    span = ReportSpan.between(before, after)
    causes = {_BY_DEPARTURE[reports.departure(member, span, after.departures)] for member in diff.gone}
    if diff.replaced:
        causes.add(Trigger.MEMBER_REPLACED)
    if diff.joined:
        causes.add(Trigger.MEMBER_JOINED)
    if diff.assignor_changed:
        causes.add(Trigger.ASSIGNOR_CHANGED)
    causes |= _topic_causes(before, after, diff, topics)
    return in_precedence(causes or {Trigger.REJOIN})


def _topic_causes(before: Generation, after: Generation, diff: GenerationDiff, topics: ClusterTopics) -> set[Trigger]:
    causes: set[Trigger] = set()
    for old, new in diff.resubscribed:
        was, now = _subscribed(old), _subscribed(new)
        followed = all(topics.created_after(topic, before.seen_ms) for topic in now - was) and all(
            topics.known and not topics.exists(topic) for topic in was - now
        )
        causes.add(Trigger.TOPICS_CHANGED if followed else Trigger.SUBSCRIPTION_CHANGED)
    subscribed = set[str]().union(*map(_subscribed, before.members)) & set[str]().union(
        *map(_subscribed, after.members)
    )
    for topic in subscribed:
        had, has = before.topics.get(topic), after.topics.get(topic)
        if had is None and has is not None and topics.created_after(topic, before.seen_ms):
            causes.add(Trigger.TOPICS_CHANGED)
        elif had is not None and has is not None and had != has:
            causes.add(Trigger.PARTITIONS_CHANGED)
    return causes


def _subscribed(member: Member) -> set[str]:
    return set(member.subscription.topics) if member.subscription else set()
