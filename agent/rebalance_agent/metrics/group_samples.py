"""From a group's view to the values of its metrics.

What the source cannot know has no sample. What a group can ever count is there at 0 from first sight: a counter that
is born at 1 never shows in ``increase()``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rebalance_agent.metrics import group_rows as rows
from rebalance_agent.metrics.metric import Metric
from rebalance_agent.model.episode import Basis, FailureReason, Source, Trigger
from rebalance_agent.model.group import SETTLED, STATES
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.tracking.views import GroupView, StallHistogram, partition_seconds_at

__all__ = [
    "FOLDED",
    "GROUP_SERIES_MAX",
    "SLOWEST_SHOWN_SECONDS",
    "GroupSamples",
    "Sample",
    "SeriesLimits",
    "group_samples",
    "running_samples",
]

GROUP_SERIES_MAX = 61
"""Series of one group: what a fleet of thousands of groups can afford. Half of them are closed sets: a trigger each, a
state each, a bucket each; by `rollout_in_progress` and `flapping_members` alerts know when to be silent. Apart from it
stand the series that members bring (``owner_*``, ``slowest_member``, and the histogram of stalls that they measured
themselves), and three that are there where they are asked for: skew by lag and by rate, and co-partition breaks."""

SLOWEST_SHOWN_SECONDS = 3600
"""A member that was slow an hour ago is no longer who to look at."""

FOLDED = "_folded"
"""``client_id`` of the members beyond ``max_member_series``."""

_Owners = dict[tuple[str, str], tuple[int | None, int]]
"""(client id, host) -> (most partitions of one member, None where some member's are not known; number of members)."""


class Sample(NamedTuple):
    """One series: label values in the order of the metric's labels, and its value."""

    labels: tuple[str, ...]
    value: float | StallHistogram


@dataclass(frozen=True, slots=True)
class SeriesLimits:
    """Bounds of what one group may export.

    ``max_member_series``: different (client id, host) pairs; ``top_topics``: topics with a spread below 1;
    ``topic_shown``: whether a topic's name may become a label.
    """

    max_member_series: int = 100
    top_topics: int = 5
    topic_shown: Callable[[str], bool] = lambda _topic: True


class GroupSamples(NamedTuple):
    """Samples by metric, and how many (client id, host) pairs were folded to stay within the limits."""

    by_metric: Mapping[Metric, tuple[Sample, ...]]
    folded: int


def group_samples(view: GroupView, limits: SeriesLimits) -> GroupSamples:
    """Everything of a group that changes only with its view; see `running_samples` for what time changes."""
    owners, folded = _owners(view, limits)
    group = (view.group,)
    by_metric: dict[Metric, tuple[Sample, ...]] = {
        metric: (Sample(group, value),) for metric, value in (*_gauges(view), *_totals(view)) if value is not None
    }
    by_metric[rows.INFO] = (Sample((view.group, view.group_type, view.assignor or "", view.protocol, view.source), 1),)
    by_metric[rows.STATE] = tuple(
        Sample((view.group, state), int(state is view.state)) for state in STATES[view.group_type]
    )
    skews = {"partitions": view.skew_ratio, "lag": view.lag_skew_ratio, "rate": view.rate_skew_ratio}
    by_metric[rows.SKEW] = tuple(
        Sample((view.group, weight), ratio) for weight, ratio in skews.items() if ratio is not None
    )
    by_metric |= _by_cause(view)
    by_metric[rows.TOPIC_SPREAD] = _worst_topics(view, limits)
    by_metric[rows.OWNER_PARTITIONS] = tuple(
        Sample((view.group, *who), most) for who, (most, _) in owners.items() if most is not None
    )
    by_metric[rows.OWNER_MEMBERS] = tuple(Sample((view.group, *who), number) for who, (_, number) in owners.items())
    return GroupSamples(by_metric, folded)


def running_samples(view: GroupView, now_ms: int) -> Iterator[tuple[Metric, Sample]]:
    """What changes by the passing of time alone: ages, the two partition-second counters, what has had its hour."""
    running = view.running
    # A poll that shows one does not tell since when.
    if view.source is not Source.ADMIN or view.state in SETTLED:
        yield rows.IN_PROGRESS, Sample((view.group,), max(0, now_ms - running.started_ms) / 1000 if running else 0)
    if view.source is not Source.ADMIN and view.partitions is not None:
        stalled, total = partition_seconds_at(view, now_ms)
        yield rows.STALLED_PARTITION_SECONDS, Sample((view.group,), stalled)
        yield rows.PARTITION_SECONDS, Sample((view.group,), total)
    episode = view.last_episode
    if view.slowest_seconds is not None and episode and now_ms - episode.timestamp_ms < SLOWEST_SHOWN_SECONDS * 1000:
        host = (view.slowest_host or "").removeprefix("/")
        yield rows.SLOWEST_MEMBER, Sample((view.group, view.slowest_client_id or "", host), view.slowest_seconds)


def _gauges(view: GroupView) -> Iterator[tuple[Metric, float | None]]:
    yield rows.GENERATION, view.generation
    yield rows.MEMBERS, len(view.members)
    yield rows.STATIC_MEMBERS, view.static_members
    yield rows.IDLE_MEMBERS, view.idle_members
    yield rows.TIMEOUT, view.rebalance_timeout_seconds
    yield rows.PARTITIONS, view.partitions
    yield rows.UNASSIGNED, view.unassigned
    yield rows.IMBALANCE, view.imbalance
    yield rows.COPARTITION_BREAKS, view.copartition_breaks
    yield rows.METADATA_BYTES, view.metadata_bytes
    if view.source is not Source.ADMIN:
        yield rows.ROLLOUT, int(view.rollout is not None and not view.rollout.closed)
        yield rows.FLAPPING, len(view.flapping)
    yield rows.LAST_JOIN, view.last_join_seconds
    yield rows.LAST_SYNC, view.last_sync_seconds
    yield rows.LAST_RECONCILE, view.last_reconcile_seconds
    if view.last_episode is not None:
        yield rows.LAST_COMPLETED, view.last_episode.phases.completed_ms / 1000


def _totals(view: GroupView) -> Iterator[tuple[Metric, float]]:
    counters = view.counters
    if view.source is Source.ADMIN:
        # Polls miss rebalances: what changed between two of them is not a count of anything else.
        yield rows.POLLED_CHANGES, counters.polled_changes
        return
    yield rows.FOLLOWUPS, counters.followups
    yield rows.NOOP, counters.noop
    yield rows.REVOKED, counters.revoked
    yield rows.ASSIGNED, counters.assigned
    yield rows.LOST, counters.lost
    yield rows.MOVED, counters.moved
    yield rows.MOVED_EXCESS, counters.moved_excess


def _by_cause(view: GroupView) -> dict[Metric, tuple[Sample, ...]]:
    counters, polled = view.counters, view.source is Source.ADMIN
    born = () if polled else (Basis.BOUND,)
    stalls = {basis: StallHistogram() for basis in born} | counters.stalls
    samples = {rows.STALL: tuple(Sample((view.group, basis), stalls[basis]) for basis in Basis if basis in stalls)}
    if not polled:
        samples[rows.COMPLETED] = tuple(
            Sample((view.group, trigger), counters.completed.get(trigger, 0)) for trigger in Trigger
        )
        failed = {FailureReason.ABORTED: counters.aborted, FailureReason.ASSIGN_ERROR: counters.assign_errors}
        samples[rows.FAILED] = tuple(
            Sample((view.group, reason), count) for reason, count in failed.items() if count is not None
        )
    return samples


def _worst_topics(view: GroupView, limits: SeriesLimits) -> tuple[Sample, ...]:
    below = sorted((ratio, topic) for topic, ratio in view.topic_spread if ratio < 1 and limits.topic_shown(topic))
    return tuple(Sample((view.group, topic), ratio) for ratio, topic in below[: limits.top_topics])


def _owners(view: GroupView, limits: SeriesLimits) -> tuple[_Owners, int]:
    """The members by their labels, and how many pairs of labels were folded."""
    owners: _Owners = {}
    for member in view.members:
        partitions = None if member.assigned is None else count_partitions(member.assigned)
        _add(owners, (member.client_id, member.host.removeprefix("/")), partitions, 1)
    beyond = len(owners) - limits.max_member_series
    if beyond <= 0:
        return dict(sorted(owners.items())), 0
    # The most loaded keep their names: they are who an operator looks for.
    ranked = sorted(owners.items(), key=lambda item: (-(item[1][0] or 0), item[0]))
    kept = dict(sorted(ranked[: limits.max_member_series]))
    for _, (most, number) in ranked[limits.max_member_series :]:
        _add(kept, (FOLDED, ""), most, number)
    return kept, beyond


def _add(owners: _Owners, who: tuple[str, str], partitions: int | None, number: int) -> None:
    most, so_far = owners.get(who, (0, 0))
    highest = None if most is None or partitions is None else max(most, partitions)
    owners[who] = (highest, so_far + number)
