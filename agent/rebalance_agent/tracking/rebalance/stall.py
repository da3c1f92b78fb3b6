"""Measures an episode's stall: how long its partitions were not consumed. It is exact if members report, else bounded.

A partition is stalled from the moment when its owner stopped consuming it until the new owner's assigned callback
returned. Under an eager protocol all partitions stop; under a cooperative one, those that move or lost their owner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise

from rebalance_agent.model.episode import Basis, Stall
from rebalance_agent.model.generation_diff import Owners, Partition, owners
from rebalance_agent.model.group import Member
from rebalance_agent.tracking.completed_generation import Episode, Generation, PartitionHandover, subscribed_topics
from rebalance_agent.tracking.evidence.known_times import FOREVER_MS
from rebalance_agent.tracking.evidence.member_reports import MemberReports
from rebalance_agent.tracking.evidence.owned_at_join import kept_partitions
from rebalance_agent.tracking.patterns.group_stalls import StallLimits, stalled_spans
from rebalance_agent.tracking.rebalance.moment import Moment, UnknownMomentError, interim_resumed, interim_stopped
from rebalance_agent.tracking.rebalance.moments import StepMoments
from rebalance_agent.tracking.rebalance.open_stall import OpenStall, without_reported

__all__ = ["STALL_MAX_MS", "MeasuredStall", "measure_stall"]

STALL_MAX_MS = 86_400_000
"""Longest stall (ms) of a partition: a longer one counts as a day, since it is probably due to a clock that was set."""


@dataclass(frozen=True, slots=True)
class MeasuredStall:
    """The stall of an episode, and the partitions whose stall may not have ended when it was measured.

    ``group_spans``: the lengths (seconds) of the periods in which enough partitions were certainly stalled for the
    group to count as stalled.
    """

    stall: Stall | None = None
    group_spans: tuple[float, ...] = ()
    open: Mapping[Partition, OpenStall] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _PartitionStall:
    """Bounds of one partition's stall (ms); ``upper_ms`` is None if its beginning or its end is unknown.

    ``since_ms``: when it had certainly begun; from then on it certainly lasted ``lower_ms``.
    """

    since_ms: int
    lower_ms: int
    upper_ms: int | None
    exact: bool


def measure_stall(
    episode: Episode,
    reports: MemberReports,
    carried: Mapping[Partition, OpenStall] | None = None,
    limits: StallLimits = StallLimits(),  # noqa: B008 - it is frozen
) -> MeasuredStall:
    """Return the stall of a closed episode; None if its start, the state before it, or some of its steps are unknown.

    ``carried``: stalls of the episode before that may not have ended. A partition that its new owner lost again before
    consuming it has been stalled since then.
    """
    if not (episode.last.members and episode.last.value.protocol_type == "consumer"):
        return MeasuredStall()
    carried = without_reported(carried or {}, reports)
    if not episode.known or any(generation.incomplete for generation in episode.generations):
        return MeasuredStall(open=_unmeasured(episode, reports, carried))
    still_open = dict(carried)
    try:
        stalls = _partition_stalls(episode, reports, still_open)
    except UnknownMomentError:
        return MeasuredStall(open=_unmeasured(episode, reports, carried))
    uppers = [(stall.upper_ms, count) for stall, count in stalls.items() if stall.upper_ms is not None]
    bounded = len(uppers) == len(stalls)
    stall = Stall(
        seconds=max((upper_ms for upper_ms, _ in uppers), default=0) / 1000 if bounded else None,
        lower_seconds=max((stall.lower_ms for stall in stalls), default=0) / 1000,
        partition_seconds=sum(stall.lower_ms * count for stall, count in stalls.items()) / 1000,
        upper_partition_seconds=sum(upper_ms * count for upper_ms, count in uppers) / 1000 if bounded else None,
        basis=Basis.EXACT if all(stall.exact for stall in stalls) else Basis.BOUND,
    )
    needed = limits.needed(sum(episode.last.topics.values()))
    return MeasuredStall(stall, tuple(stalled_spans(_changes(stalls), needed)), _not_over(still_open, episode))


def _not_over(stalls: Mapping[Partition, OpenStall], episode: Episode) -> Mapping[Partition, OpenStall]:
    """Return the stalls that may continue, for the topics that the group still subscribes to."""
    last = episode.last
    at_ms, topics = last.timestamp_ms, last.topics.keys() | subscribed_topics(last.value)
    unanswered = last.unanswered
    over: dict[Hashable, bool] = {}
    not_over: dict[Partition, OpenStall] = {}
    for partition, stalled in stalls.items():
        if partition[0] in topics:
            alike = stalled.alike(partition)
            if alike not in over:
                over[alike] = stalled.over(partition, at_ms, contact_ms=at_ms, unanswered=unanswered)
            if not over[alike]:
                not_over[partition] = stalled
    return not_over


def _unmeasured(
    episode: Episode, reports: MemberReports, carried: Mapping[Partition, OpenStall]
) -> Mapping[Partition, OpenStall]:
    """Return the open stalls after an episode that cannot be measured.

    A partition that the episode assigned, or took away, has been stalled since the carried stall began, or since any
    time after the generation before, unless its new owner is known to consume it.
    """
    still_open, last = dict(carried), owners(episode.last.value)
    since_ms = episode.before.timestamp_ms if episode.before else -FOREVER_MS
    for before, generation in episode.steps():
        step = StepMoments(episode, before, generation, reports)
        had = owners(before.value if before else None, _ids(generation))
        kept = _kept_consuming(step, before, generation, had)
        if not episode.known:
            # Generations are missing: other members may have owned partitions that a member seems to have kept.
            kept &= generation.surely_kept
        endless: dict[Hashable, OpenStall | None] = {}
        for partition, owner in owners(generation.value).items():
            if partition in kept:
                continue
            stalled = still_open.pop(partition, None)
            began_ms = since_ms if stalled is None else stalled.since_ms
            alike = (step.alike(partition, None, owner), began_ms)
            if alike not in endless:
                handover = step.handovers(partition)[-1]
                goes_on = step.resumed(partition, owner, handover).endless
                endless[alike] = step.open_stall(partition, owner, handover, began_ms) if goes_on else None
            if (found := endless[alike]) is not None:
                still_open[partition] = found
    first = owners(episode.before.value if episode.before else None)
    for partition in (still_open.keys() | first.keys()) - last.keys():
        stalled = still_open.get(partition)
        still_open[partition] = _unowned(episode, since_ms if stalled is None else stalled.since_ms)
    return _not_over(still_open, episode)


def _changes(stalls: Mapping[_PartitionStall, int]) -> Counter[int]:
    """Return time (ms) -> change in the number of certainly stalled partitions at that time."""
    changes = Counter[int]()
    for stall, count in stalls.items():
        changes[stall.since_ms] += count
        changes[stall.since_ms + stall.lower_ms] -= count
    return changes


@dataclass(slots=True)
class _Followed:
    """The result of a step for ``count`` equal partitions: their ``stalls`` in it, and their state after it.

    ``idle``: when the partitions stopped, if they have no owner after the step. ``still_open``: their stall, if it
    continues. ``carried``: the stall that continued from before.
    """

    stalls: tuple[_PartitionStall, ...]
    idle: Moment | None
    still_open: OpenStall | None
    carried: OpenStall | None
    count: int = 0


def _partition_stalls(
    episode: Episode, reports: MemberReports, still_open: dict[Partition, OpenStall]
) -> Counter[_PartitionStall]:
    """Return the stalls of the episode's partitions, and how often each occurs; ``still_open`` is updated.

    Partitions that moved between the same two members are treated as equal if nothing is known about one alone: each
    such pair of members is followed once.
    """
    stalls = Counter[_PartitionStall]()
    idle: dict[Partition, Moment] = {}
    for before, generation in episode.steps():
        step = StepMoments(episode, before, generation, reports)
        # If several members share a partition (share groups), the remaining members decide when it stopped.
        had = owners(before.value if before else None, _ids(generation))
        has = owners(generation.value)
        kept = _kept_consuming(step, before, generation, had)
        followed: dict[Hashable, _Followed] = {}
        # Some partitions had owners only within the step: a static member got them, and left temporarily.
        within = (partition for partition, handover in generation.handovers.items() if handover.earlier)
        for partition in dict.fromkeys(chain(had, has, idle, within)):
            if partition in kept:
                continue
            old, new = had.get(partition), has.get(partition)
            stopped, carried = idle.pop(partition, None), still_open.pop(partition, None)
            alike = (step.alike(partition, old, new), carried and carried.alike(partition), stopped)
            found = followed.get(alike)
            if found is None:
                found = followed[alike] = _follow(step, partition, (old, new), stopped, carried)
            found.count += 1
            if found.idle is not None:
                idle[partition] = found.idle
            elif found.still_open is not None:
                still_open[partition] = found.still_open
        for found in followed.values():
            for stall in found.stalls:
                stalls[stall] += found.count
    for partition, stopped in idle.items():
        still_open[partition] = _unowned(episode, stopped.earliest_ms)
    return stalls


def _follow(
    step: StepMoments,
    partition: Partition,
    members: tuple[Member | None, Member | None],
    stopped: Moment | None,
    carried: OpenStall | None,
) -> _Followed:
    """Return the effect of the step on a partition; ``members``: its owners before and after.

    ``stopped``: when it stopped, if it had no owner before; ``carried``: an earlier stall that may have continued.
    """
    old, new = members
    stalls = [_between(*interruption) for interruption in step.interruptions(partition, old)] if old else []
    handovers = step.handovers(partition)
    if old or stopped is None:
        stopped = _stopped(step, partition, old, handovers[0], carried)
    for handover, following in pairwise(handovers):
        stall, began_ms = _between(stopped, interim_resumed(handover, following)), stopped.earliest_ms
        stopped = interim_stopped(handover, following)
        if handover.consumed_ms is None:  # perhaps it was never consumed: then both stalls are one
            stopped = stopped.not_after(began_ms)
            stall = stall if new is None else replace(stall, upper_ms=0, exact=False)
        stalls.append(stall)
    claimed = step.claimed_by_another(partition, old)
    if new is None:
        return _Followed(tuple(stalls), stopped.not_before(FOREVER_MS) if claimed else stopped, None, carried)
    goes_on: OpenStall | None = None
    stopped, resumed = stopped.until(step.joined_ms), step.resumed(partition, new, handovers[-1])
    if resumed.endless:
        since_ms = stopped.earliest_ms if carried is None else min(stopped.earliest_ms, carried.since_ms)
        goes_on = step.open_stall(partition, new, handovers[-1], since_ms)
        resumed = step.resumed_later(partition, resumed)
    if claimed or (old and step.may_have_lost(partition, old)):
        stopped = stopped.not_before(resumed.earliest_ms)  # it may have lost the partition only after the record
    return _Followed((*stalls, _between(stopped, resumed)), None, goes_on, carried)


def _unowned(episode: Episode, since_ms: int) -> OpenStall:
    """Return the stall of a partition that has no owner after the episode; no commit ends it."""
    return OpenStall(since_ms, since_ms, -1, episode.last.first_commits, frozenset())


def _stopped(
    step: StepMoments,
    partition: Partition,
    owner: Member | None,
    handover: PartitionHandover,
    carried: OpenStall | None,
) -> Moment:
    """Return when the partition stopped; without an ``owner`` before, when it could first have been consumed.

    It may not have been consumed since a ``carried`` stall.
    """
    stopped = step.appeared(handover) if owner is None else step.stopped(partition, owner, handover)
    if carried is None or (owner and step.may_have_lost(partition, owner)):
        return stopped  # the owner kept it: a carried stall belongs to the generation that gave it
    contact_ms = -FOREVER_MS if owner is None else step.contact_ms(owner, handover)
    over = carried.over(partition, stopped.latest_ms, contact_ms=contact_ms, unanswered=step.unanswered)
    return stopped if over else stopped.not_after(carried.since_ms)


def _kept_consuming(step: StepMoments, before: Generation | None, after: Generation, had: Owners) -> set[Partition]:
    """Return the partitions that did not stop, since a member kept them and did not lose them before it joined.

    ``had``: the owners before, preferably those that stayed.
    """
    kept = set() if step.everything_stops else kept_partitions(before, after)
    return {
        partition
        for partition in kept
        if (owner := had.get(partition)) is None
        or not (step.gave_up(partition, owner) or step.may_have_lost(partition, owner))
    }


def _ids(generation: Generation) -> set[str]:
    return {member.member_id for member in generation.members}


def _between(stopped: Moment, resumed: Moment) -> _PartitionStall:
    lower = min(max(0, resumed.earliest_ms - stopped.latest_ms), STALL_MAX_MS)
    if resumed.endless or stopped.earliest_ms <= -FOREVER_MS:
        return _PartitionStall(stopped.latest_ms, lower, None, exact=False)
    upper = min(max(lower, resumed.latest_ms - stopped.earliest_ms), STALL_MAX_MS)
    return _PartitionStall(stopped.latest_ms, lower, upper, stopped.exact and resumed.exact)
