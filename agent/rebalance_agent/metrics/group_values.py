"""Computes the values of group metrics that have more labels than ``consumergroup`` or that change with time."""

from __future__ import annotations

from rebalance_agent.metrics.group_metric import FOLDED, ExportedGroup, Values, client_labels, polled
from rebalance_agent.model.episode import Basis, FailureReason, Trigger
from rebalance_agent.model.group import SETTLED, STATES
from rebalance_agent.tracking.evidence.known_times import Departure
from rebalance_agent.tracking.patterns.empty_groups import UnownedReason
from rebalance_agent.tracking.patterns.group_stalls import Limit
from rebalance_agent.tracking.views import COUNTED_LATE_MS, GroupView, StallHistogram, partition_seconds_at

__all__ = [
    "MEMBERS_SHOWN_SECONDS",
    "completed",
    "dead_letter_queue",
    "departures",
    "empty_seconds",
    "failed",
    "group_stalls",
    "in_progress",
    "members_until_ms",
    "partition_seconds",
    "seats_taken",
    "skews",
    "slowest",
    "stalls",
    "states",
    "unowned",
    "worst_topics",
]

MEMBERS_SHOWN_SECONDS = 3600
"""For this number of seconds after a rebalance, its slowest member and its departed members are exported."""


_TRIGGERS = tuple((trigger,) for trigger in Trigger)
"""The labels of `completed`."""


_SHOWN_AS = {Departure.SILENT: Departure.UNKNOWN}
"""Departures of members that may have failed are exported as unknown, because the evidence does not decide it."""


def states(group: ExportedGroup) -> Values:
    """Return one series for each state that the group type can have: 1 for the present state, 0 for the others."""
    view = group.view
    return [((state,), int(state is view.state)) for state in STATES[view.group_type]]


def completed(group: ExportedGroup) -> Values:
    """Return the number of completed rebalances for each trigger, including triggers with 0."""
    completed = group.view.counters.completed
    return () if polled(group.view) else [(labels, completed.get(labels[0], 0)) for labels in _TRIGGERS]


def failed(group: ExportedGroup) -> Values:
    """Return aborted generations and, after the first report of a member, failed assign() calls."""
    counters = group.view.counters
    failed = {FailureReason.ABORTED: counters.aborted, FailureReason.ASSIGN_ERROR: counters.assign_errors}
    return () if polled(group.view) else [((why,), number) for why, number in failed.items() if number is not None]


def stalls(group: ExportedGroup) -> Values:
    """Return the histogram of each basis; `Basis.BOUND` has a histogram from the first view on."""
    born = () if polled(group.view) else (Basis.BOUND,)
    stalls = {basis: StallHistogram() for basis in born} | group.view.counters.stalls
    return [((basis,), stalls[basis]) for basis in Basis if basis in stalls]


def in_progress(view: GroupView, now_ms: int) -> Values:
    """Return the seconds since the running rebalance began; 0 if no rebalance is running."""
    if polled(view) and view.state not in SETTLED:
        return ()  # a poll shows a rebalance, but not its start
    return (((), max(0, now_ms - view.running.started_ms) / 1000 if view.running else 0),)


def empty_seconds(view: GroupView, now_ms: int) -> Values:
    """Return the seconds since the last member left; 0 while there are members, no series if the time is unknown."""
    if view.members:
        return (((), 0),)
    return (((), max(0, now_ms - view.empty.since_ms) / 1000),) if view.empty else ()


def unowned(view: GroupView, now_ms: int) -> Values:
    """Return the partition-seconds without an owner for each reason, including reasons with 0."""
    if polled(view) or not view.consumes:
        return ()
    seconds = view.unowned.at(now_ms - COUNTED_LATE_MS)
    return [((reason,), seconds.get(reason, 0.0)) for reason in UnownedReason]


def group_stalls(view: GroupView, now_ms: int) -> Values:
    """Return the seconds of the group's stalls that reached each limit, including limits with 0."""
    if polled(view) or not view.consumes:
        return ()
    seconds = view.stalled_time.at(now_ms - COUNTED_LATE_MS)
    return [((limit,), seconds[limit]) for limit in Limit]


def partition_seconds(view: GroupView, now_ms: int, index: int) -> Values:
    """Return the stalled (``index`` 0) or all (``index`` 1) partition-seconds at ``now_ms``."""
    if polled(view) or not view.consumes:
        return ()
    return (((), partition_seconds_at(view, now_ms)[index]),)


def skews(group: ExportedGroup) -> Values:
    """Return the skew for each weight (partitions, lag, rate) that is known."""
    view = group.view
    ratios = {"partitions": view.skew_ratio, "lag": view.lag_skew_ratio, "rate": view.rate_skew_ratio}
    return [((weight,), ratio) for weight, ratio in ratios.items() if ratio is not None]


def dead_letter_queue(group: ExportedGroup) -> Values:
    """Return the dead letter queue, if the group has one; a topic that is not shown has the label `FOLDED`."""
    queue = group.view.dead_letter_queue
    if queue is None or not queue.topic:
        return ()
    topic = queue.topic if group.limits.topic_shown(queue.topic) else FOLDED
    return [((topic, str(queue.copies_records).lower()), 1)]


def worst_topics(group: ExportedGroup) -> Values:
    """Return the topics with the lowest spread, at most ``top_topics``."""
    limits = group.limits
    spread = ((ratio, topic) for topic, ratio in group.view.topic_spread if ratio < 1 and limits.topic_shown(topic))
    return [((topic,), ratio) for ratio, topic in sorted(spread)[: limits.top_topics]]


def seats_taken(group: ExportedGroup) -> Values:
    """Return when consumers took seats (epoch seconds): the newest ``max_member_series``, one for equal labels."""
    taken: dict[tuple[str, ...], float] = {}
    for member in group.view.members:
        if (occupant := member.occupant) is not None:
            labels = (*client_labels(member.client_id, member.host), *client_labels(occupant.client_id, occupant.host))
            taken[labels] = max(taken.get(labels, 0.0), occupant.since_ms / 1000)
    newest = sorted(taken, key=lambda labels: (-taken[labels], labels))[: group.limits.max_member_series]
    return [(labels, taken[labels]) for labels in sorted(newest)]


def members_until_ms(view: GroupView, now_ms: int) -> int | None:
    """Return the time (epoch ms) until which `slowest` and `departures` do not change; None if neither has series."""
    times = [each.at_ms for each in view.awaited] + [each.at_ms for each in view.departed]
    until = (at_ms + MEMBERS_SHOWN_SECONDS * 1000 for at_ms in times)
    return min((until_ms for until_ms in until if now_ms < until_ms), default=None)


def slowest(view: GroupView, now_ms: int) -> Values:
    """Return the seconds of the slowest member of each rebalance in the last `MEMBERS_SHOWN_SECONDS`."""
    since_ms = now_ms - MEMBERS_SHOWN_SECONDS * 1000
    return [((member.client_id, member.host), member.seconds) for member in view.awaited if member.at_ms > since_ms]


def departures(view: GroupView, now_ms: int) -> Values:
    """Return how often each member that failed or keeps leaving departed, for `MEMBERS_SHOWN_SECONDS`."""
    since_ms = now_ms - MEMBERS_SHOWN_SECONDS * 1000
    return [
        ((member.client_id, member.host, _SHOWN_AS.get(member.how, member.how)), member.times)
        for member in view.departed
        if member.at_ms > since_ms
    ]
