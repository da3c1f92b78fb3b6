"""Finds the causes of a rebalance, from the difference between two generations and the members' reports."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_agent.model.episode import TRIGGER_PRECEDENCE, Trigger
from rebalance_agent.model.generation_diff import GenerationDiff
from rebalance_agent.model.group import GroupSnapshot, GroupType, Member, RebalanceProtocol, is_cooperative
from rebalance_agent.model.member_changes import identity
from rebalance_agent.tracking.cluster_topics import ClusterTopics
from rebalance_agent.tracking.completed_generation import Episode, Generation, announces_followup
from rebalance_agent.tracking.evidence.coordinators import changed_since
from rebalance_agent.tracking.evidence.known_times import Departure
from rebalance_agent.tracking.evidence.member_reports import MemberReports, ReportSpan
from rebalance_agent.tracking.rebalance.diff_cache import difference

__all__ = [
    "METADATA_AGE_MAX_MS",
    "episode_causes",
    "generation_causes",
    "in_precedence",
    "one_departed",
    "partitions_shown",
    "staying_may_have_begun",
]

METADATA_AGE_MAX_MS = 300_000
"""How long (ms) after its creation a member may learn of a topic: Kafka's default of ``metadata.max.age.ms``."""

_BY_DEPARTURE = {
    Departure.LEFT: Trigger.MEMBER_LEFT,
    Departure.FAILED: Trigger.MEMBER_FAILED,
    Departure.EXPELLED: Trigger.MEMBER_FAILED,
    Departure.SILENT: Trigger.MEMBER_GONE,
    Departure.UNKNOWN: Trigger.MEMBER_GONE,
}


def in_precedence(causes: Iterable[Trigger]) -> tuple[Trigger, ...]:
    """Return each cause once, ordered by precedence; the first one is the trigger."""
    return tuple(sorted(set(causes), key=TRIGGER_PRECEDENCE.index))


def episode_causes(episode: Episode, reports: MemberReports, topics: ClusterTopics) -> tuple[Trigger, ...]:
    """Return the causes of a whole episode: its generations' causes, without the rejoin of a follow-up."""
    if not episode.known:
        return (Trigger.UNKNOWN,)
    causes = {cause for before, after in episode.steps() for cause in generation_causes(before, after, reports, topics)}
    if Trigger.GROUP_STARTED in causes:
        # A streams group creates its internal topics when it starts; they may appear before or after its generation.
        causes -= {Trigger.TOPICS_CHANGED}
    return in_precedence(causes - {Trigger.REJOIN} or causes)


def generation_causes(
    before: Generation | None, after: Generation, reports: MemberReports, topics: ClusterTopics
) -> tuple[Trigger, ...]:
    """Return the causes of one generation, given the one before it (None or Empty: the group started)."""
    if before is None or not before.members:
        # Members that came and left before any assignment are in no generation.
        return (Trigger.GROUP_STARTED if after.members else Trigger.MEMBER_GONE,)
    diff = difference(before, after)
    span = ReportSpan.between(before, after)
    causes = {_BY_DEPARTURE[reports.departure(member, span, after.departures)] for member in diff.gone}
    if diff.replaced:
        causes.add(Trigger.MEMBER_REPLACED)
    if diff.joined:
        causes.add(Trigger.MEMBER_JOINED)
    if diff.assignor_changed:
        causes.add(Trigger.ASSIGNOR_CHANGED)
    topic_causes = _topic_causes(before, after, diff, topics)
    if not topic_causes and _racks_changed(before, after, topics):
        causes.add(Trigger.RACKS_CHANGED)
    causes |= topic_causes
    return in_precedence(causes or {Trigger.REJOIN})


def one_departed(before: Generation | None, after: Generation) -> bool:
    """Whether only the departure of one member can have started the rebalance to ``after``.

    Otherwise a departed member may have consumed until the end of the join phase of a rebalance that others started.
    """
    if staying_may_have_begun(before, after):
        return False
    diff = difference(before, after)
    return len(diff.gone) == 1 and not (diff.joined or diff.replaced)


def staying_may_have_begun(before: Generation | None, after: Generation) -> bool:
    """Whether a remaining member may have started the rebalance, for example by subscribing to other topics.

    It may also have started the rebalance if no member joined or departed, if it had to revoke partitions and rejoin,
    if it revoked for a rebalance of a former coordinator that the new one does not continue, or if it may have lost its
    partitions in an error and rejoined (`infer_protocol`).
    """
    if before is None or before.topics != after.topics or announces_followup(before):
        return True
    if after.protocol is RebalanceProtocol.EAGER and is_cooperative(after.value.protocol or ""):
        return True
    if changed_since(before.timestamp_ms, after.coordinator_changes):
        return True
    diff = difference(before, after)
    return bool(diff.resubscribed) or not (diff.gone or diff.joined or diff.replaced)


def _topic_causes(before: Generation, after: Generation, diff: GenerationDiff, topics: ClusterTopics) -> set[Trigger]:
    causes: set[Trigger] = set()
    for old, new in diff.resubscribed:
        followed = _keeps_pattern(before, old, after, new) or _follows_topics(before, old, new, topics)
        causes.add(Trigger.TOPICS_CHANGED if followed else Trigger.SUBSCRIPTION_CHANGED)
    subscribed = _all_subscribed(before) & _all_subscribed(after)
    had, has = partitions_shown(before.value), partitions_shown(after.value)
    for topic in subscribed & has.keys():
        if topic not in had:
            causes.add(Trigger.TOPICS_CHANGED)
        elif has[topic] > had[topic] or topics.count(topic) == has[topic] < had[topic]:
            causes.add(Trigger.PARTITIONS_CHANGED)
    return causes


def partitions_shown(value: GroupSnapshot) -> dict[str, int]:
    """Return the lowest possible partition count of each topic, from the partitions that members are assigned or own.

    Records show the same to every observer, while the partition counts of a generation depend on when they were
    requested.
    """
    shown: dict[str, int] = {}
    for member in value.members:
        for partitions in (member.assigned, member.owned):
            for topic, numbers in partitions.items():
                if numbers and numbers[-1] >= shown.get(topic, 0):
                    shown[topic] = numbers[-1] + 1
    return shown


def _racks_changed(before: Generation, after: Generation, topics: ClusterTopics) -> bool:
    """Whether a member's rack changed, or the coordinator's hash of topics that are otherwise unchanged.

    The hash of a share group proves nothing: the coordinator assigns new partitions only in a later epoch, after it has
    initialized their state.
    """
    had, has = _racks(before), _racks(after)
    if any(had[name] != has[name] for name in had.keys() & has.keys()):
        return True
    was, now = before.metadata, after.metadata
    if was is None or now is None or before.group_type is not after.group_type:
        return False
    if after.group_type is GroupType.STREAMS:
        if not _shows_growth(before, after, topics):
            return False
    elif after.group_type is not GroupType.CONSUMER:
        return False
    same = was.topic_ids == now.topic_ids and _all_subscribed(before) == _all_subscribed(after)
    return (
        same
        and before.topics == after.topics
        and 0 not in (was.metadata_hash, now.metadata_hash)
        and was.metadata_hash != now.metadata_hash
    )


def _shows_growth(before: Generation, after: Generation, topics: ClusterTopics) -> bool:
    """Whether the tasks of a streams group would show it if one of its topics had other partitions than before.

    The coordinator must have validated the topics for both generations: then the internal topics exist and have as many
    partitions as the tasks need. A subtopology has as many tasks as its largest topic has partitions, so the growth of
    a smaller topic adds no task. A topic must not have been recreated, because the tasks contain no topic ids.
    """
    was, now = before.metadata, after.metadata
    if was is None or now is None or not was.validated_topology == now.validated_topology >= 0:
        return False
    if not topics.known or before.subtopologies != after.subtopologies:
        return False
    return all(
        (len(names) == 1 or len({after.topics.get(name) for name in names}) == 1)
        and not any(topics.created_after(name, before.seen_ms) for name in names)
        for names in after.subtopologies.values()
    )


def _racks(generation: Generation) -> dict[str, str]:
    subscriptions = ((identity(member), member.subscription) for member in generation.members)
    return {name: subscription.rack_id or "" for name, subscription in subscriptions if subscription}


def _keeps_pattern(before: Generation, old: Member, after: Generation, new: Member) -> bool:
    """Whether a member whose topics differ subscribes to the same pattern."""
    pattern = after.patterns.get(new.member_id)
    return pattern is not None and pattern == before.patterns.get(old.member_id)


def _follows_topics(before: Generation, old: Member, new: Member, topics: ClusterTopics) -> bool:
    """Whether a member's topics differ only in topics that were created recently or were deleted."""
    was, now, since_ms = _subscribed(old), _subscribed(new), before.seen_ms - METADATA_AGE_MAX_MS
    created = all(topics.created_after(topic, since_ms) for topic in now - was)
    return created and all(topics.known and not topics.exists(topic) for topic in was - now)


def _all_subscribed(generation: Generation) -> set[str]:
    # Nearly all members of a group subscribe to the same topics.
    return set[str]().union(*{member.subscription.topics for member in generation.members if member.subscription})


def _subscribed(member: Member) -> set[str]:
    return set(member.subscription.topics) if member.subscription else set()
