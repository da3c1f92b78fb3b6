"""Describes in one sentence the causes of a rebalance, or a deploy, with the names of members and topics. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.events import Callback, MemberSnapshot
from rebalance_agent.model.reported.seat_event import names_seat
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.ui.sentences.explained.departed import departed, described
from rebalance_agent.ui.sentences.explained.observed_rebalance import ObservedRebalance
from rebalance_agent.ui.words import listed, partition_seconds, plural, printable

__all__ = ["rollout_text", "why"]


def why(rebalance: ObservedRebalance) -> str:
    """Return one sentence with every cause of the rebalance."""
    parts = [_CAUSES[cause](rebalance) for cause in rebalance.closing.causes]
    return f"Why: {'; '.join(dict.fromkeys(parts))}."


def rollout_text(event: RolloutEvent) -> str:
    """Return one sentence on a deploy: its workload and images, the replaced members, and what it cost."""
    workload = printable(event.workload) if event.workload else "the group's members"
    images = f" from {_images(event.from_images)} to {_images(event.to_images)}" if event.to_images else ""
    state = "" if event.closed else " so far, and may continue"
    number, members = event.members_replaced, plural(event.members, "member")
    # A second deploy can replace members again.
    replaced = f"replaced {number} of" if number <= event.members else f"made {plural(number, 'replacement')} among"
    return (
        f"A rollout of {workload}{images} {replaced} {members} in "
        f"{plural(event.rebalances, 'rebalance')} (generations {event.first_generation} to {event.last_generation}) "
        f"and cost at least {partition_seconds(event.stalled_partition_seconds)} stalled partition-seconds{state}."
    )


def _images(images: Sequence[str]) -> str:
    return listed([printable(image) for image in images], 3) if images else "an unknown image"


def _started(rebalance: ObservedRebalance) -> str:
    return f"the group started with {described(rebalance, rebalance.joined)}"


def _failed(rebalance: ObservedRebalance) -> str:
    lost = rebalance.closing.lost_min
    return f"{departed(rebalance, Trigger.MEMBER_FAILED).text(rebalance)} failed" + (
        f" with {plural(lost, 'partition')}" if lost else ""
    )


def _left(rebalance: ObservedRebalance) -> str:
    leavers = departed(rebalance, Trigger.MEMBER_LEFT)
    return f"{leavers.text(rebalance)} left{_reasons(rebalance, leavers.certainly)}"


def _gone(rebalance: ObservedRebalance) -> str:
    members = departed(rebalance, Trigger.MEMBER_GONE)
    verb = "are" if len(members.certainly) > 1 else "is"
    lost = ", so the number of lost partitions is unknown, too" if rebalance.closing.lost is None else ""
    return f"{members.text(rebalance)} {verb} gone (left or failed: neither reports nor commits show which{lost})"


def _replaced(rebalance: ObservedRebalance) -> str:
    members = [new for _, new in rebalance.changes.replaced]
    if not members:
        return "a static member rejoined"
    its, one = ("its", "") if len(members) == 1 else ("their", "s")
    # Without an occupant, the consumer has the same client id and host as the one before.
    if all(names_seat(member.instance_id) for member in members):
        return f"{described(rebalance, members)} took over {its} seat{one}"
    return f"{described(rebalance, members)} rejoined with {its} instance id{one}"


def _joined(rebalance: ObservedRebalance) -> str:
    if rebalance.before is None:
        return "a member joined (which one is unknown, because the previous generation was not observed)"
    return f"{described(rebalance, rebalance.joined)} joined" if rebalance.joined else "a member joined and left again"


def _resubscribed(rebalance: ObservedRebalance) -> str:
    changed = [new for old, new in rebalance.changes.stayed if set(new.topics) != set(old.topics)]
    added = sorted({topic for old, new in rebalance.changes.stayed for topic in set(new.topics) - set(old.topics)})
    dropped = sorted({topic for old, new in rebalance.changes.stayed for topic in set(old.topics) - set(new.topics)})
    changes = [f"added {_topics(added)}"] * bool(added) + [f"removed {_topics(dropped)}"] * bool(dropped)
    return f"{described(rebalance, changed)} changed {'its' if len(changed) <= 1 else 'their'} subscription" + (
        f" ({' and '.join(changes)})" if changes else ""
    )


def _assignor(rebalance: ObservedRebalance) -> str:
    before = rebalance.before.assignor if rebalance.before else None
    return f"the assignor changed from {before or 'another'} to {rebalance.closing.assignor or 'none'}"


def _topics_changed(rebalance: ObservedRebalance) -> str:
    before = rebalance.before.topics if rebalance.before else {}
    added = sorted(rebalance.closing.topics.keys() - before.keys()) if rebalance.before else []
    return f"topics were added: {_topics(added)}" if added else "topics were added or removed"


def _partitions_changed(rebalance: ObservedRebalance) -> str:
    before, after = rebalance.before.topics if rebalance.before else {}, rebalance.closing.topics
    grown = [
        f"{printable(topic)} grew from {plural(before[topic], 'partition')} to {after[topic]}"
        for topic in sorted(before.keys() & after.keys())
        if before[topic] != after[topic]
    ]
    return listed(grown) if grown else "a topic's partitions changed"


def _rejoined(rebalance: ObservedRebalance) -> str:
    joined = (
        event
        for member in rebalance.closing.members
        for event in rebalance.reports_of(member.member_id, [Callback.ASSIGNED])
    )
    reasons = {event.reason for event in joined if event.generation == rebalance.closing.generation}
    return f"members rejoined although nothing had changed{_in_brackets(reasons)}"


def _unknown(rebalance: ObservedRebalance) -> str:
    first = rebalance.generations[0]
    if first.previous_generation is None:
        return "unknown, because the previous generation was not observed"
    gone = first.generation - first.previous_generation - 1
    return (
        f"unknown, because compaction may have removed the records of {plural(gone, 'generation')} before it while "
        "no observer was running"
    )


_CAUSES: Mapping[Trigger, Callable[[ObservedRebalance], str]] = {
    Trigger.GROUP_STARTED: _started,
    Trigger.MEMBER_FAILED: _failed,
    Trigger.MEMBER_LEFT: _left,
    Trigger.MEMBER_GONE: _gone,
    Trigger.MEMBER_REPLACED: _replaced,
    Trigger.MEMBER_JOINED: _joined,
    Trigger.SUBSCRIPTION_CHANGED: _resubscribed,
    Trigger.ASSIGNOR_CHANGED: _assignor,
    Trigger.TOPICS_CHANGED: _topics_changed,
    Trigger.PARTITIONS_CHANGED: _partitions_changed,
    Trigger.RACKS_CHANGED: lambda _rebalance: "the rack of a member or of a partition's replicas changed",
    Trigger.REJOIN: _rejoined,
    Trigger.UNKNOWN: _unknown,
}


def _reasons(rebalance: ObservedRebalance, leavers: Sequence[MemberSnapshot]) -> str:
    # The reason in a report of the callback ``assigned`` is why the member joined, not why it left.
    ended = frozenset(Callback) - {Callback.ASSIGNED}
    return _in_brackets(
        {report.reason for member in leavers for report in rebalance.reports_of(member.member_id, ended)}
    )


def _in_brackets(reasons: Iterable[str | None]) -> str:
    texts = sorted(printable(reason) for reason in reasons if reason)
    return f" ({listed(texts, 3)})" if texts else ""


def _topics(topics: list[str]) -> str:
    return listed([printable(topic) for topic in topics])
