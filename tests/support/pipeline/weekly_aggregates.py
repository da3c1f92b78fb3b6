"""The rows of the weekly page in plain Python over event objects, independent of the Spark code."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict

from rebalance_agent.model.events import GenerationEvent, GroupGoneEvent
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.weekly.weekly_rows import (
    FlapperRow,
    GroupWeeks,
    SkewRow,
    TimeoutRow,
    WeeklyRows,
    WeekTotals,
)
from support.pipeline import aggregates
from support.pipeline.aggregates import HOUR_MS

DAY_MS = 24 * HOUR_MS


def weekly_rows(events, week, made_at):
    """The rows for all ``events``. Those of a group are in order; a cluster's time ends with its last event."""
    begin_ms = int(week.start.timestamp() * 1000)
    ends, groups = Counter(), defaultdict(list)
    for event in events:
        ends[event.cluster_id] = max(ends[event.cluster_id], event.timestamp_ms)
        groups[event.cluster_id, event.group].append(event)
    rows, flappers, skews, timeouts, numbers, days = [], [], [], [], set(), [0.0] * 14
    for key, of_group in groups.items():
        hours = aggregates.group_hours(of_group, ends[key[0]])
        numbers |= hours.keys()
        weeks = [_hours_of(hours, begin_ms), _hours_of(hours, begin_ms - 7 * DAY_MS)]
        for number, hour in (weeks[0] | weeks[1]).items():
            days[(number * HOUR_MS - begin_ms) // DAY_MS + 7] += hour["stalled_partition_seconds"]
        deploys = [_deploys(of_group, begin_ms), _deploys(of_group, begin_ms - 7 * DAY_MS)]
        totals = [
            _totals(weeks[index], deploys[index], _member_hours(of_group, ends[key[0]], at_ms))
            for index, at_ms in enumerate((begin_ms, begin_ms - 7 * DAY_MS))
        ]
        if any(weeks):
            rows.append(GroupWeeks(*key, *totals, _costliest(deploys[0])))
        flappers += _flappers(key, weeks)
        skewed = [hour["skew_max"] for hour in weeks[0].values() if (hour["skew_max"] or 0) > 1.5]
        skews += [SkewRow(*key, max(skewed), len(skewed))] if skewed else []
        timeouts += _timeouts(key, of_group, begin_ms)
    return WeeklyRows(
        week=week,
        first=_time(min(numbers) * HOUR_MS),
        end=_time((max(numbers) + 1) * HOUR_MS),
        groups=tuple(rows),
        days=tuple(days),
        flappers=tuple(sorted(flappers, key=lambda row: (-row.hours, row.cluster_id, row.group, row.name))),
        skews=tuple(sorted(skews, key=lambda row: (-row.skew_max, row.cluster_id, row.group))),
        timeouts=tuple(sorted(timeouts, key=lambda row: -row.waited_seconds / row.timeout_seconds)),
        made_at=made_at,
    )


def _time(at_ms):
    return dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC)


def _hours_of(hours, begin_ms):
    return {number: hour for number, hour in hours.items() if begin_ms <= number * HOUR_MS < begin_ms + 7 * DAY_MS}


def _episodes(events, begin_ms):
    """The episodes that completed in the week that begins at ``begin_ms``."""
    return [
        event
        for event in events
        if isinstance(event, GenerationEvent)
        and event.closes_episode
        and begin_ms <= event.phases.completed_ms < begin_ms + 7 * DAY_MS
    ]


def _deploys(events, begin_ms):
    """Event id of a rollout -> its rebalances of the week."""
    rollouts = sorted(
        (event for event in events if isinstance(event, RolloutEvent)),
        key=lambda event: (event.started_ms, event.first_generation, event.last_generation, event.timestamp_ms),
    )
    found = defaultdict(list)
    for episode in _episodes(events, begin_ms):
        for rollout in rollouts:
            if (
                rollout.first_generation <= episode.generation <= rollout.last_generation
                and rollout.started_ms <= episode.phases.completed_ms <= rollout.timestamp_ms
            ):
                found[rollout.event_id].append(episode)
                break
    return found


def _cost(episodes):
    return sum(episode.stall.partition_seconds for episode in episodes if episode.stall)


def _started(episodes):
    return min(
        episode.phases.completed_ms if episode.phases.started_ms is None else episode.phases.started_ms
        for episode in episodes
    )


def _costliest(deploys):
    if not deploys:
        return None
    return _time(_started(min(deploys.values(), key=lambda episodes: (-_cost(episodes), _started(episodes)))))


def _totals(hours, deploys, members):
    return WeekTotals(
        stalled_partition_seconds=sum(hour["stalled_partition_seconds"] for hour in hours.values()),
        partition_seconds=sum(hour["partition_seconds"] for hour in hours.values()),
        rebalances=sum(hour["rebalances"] for hour in hours.values()),
        deploys=len(deploys),
        deploy_rebalances=sum(map(len, deploys.values())),
        deploy_stalled_partition_seconds=sum(map(_cost, deploys.values())),
        member_hours=members[0],
        idle_member_hours=members[1],
    )


def _member_hours(events, end_ms, begin_ms):
    """Hours of members, and of members without a partition."""
    total = idle = 0.0
    steps = [event for event in events if isinstance(event, GenerationEvent | GroupGoneEvent)]
    for event, until in zip(steps, [*(step.timestamp_ms for step in steps[1:]), end_ms], strict=True):
        if not isinstance(event, GenerationEvent) or not sum(event.topics.values()):
            continue
        hours = max(0, min(until, begin_ms + 7 * DAY_MS) - max(event.timestamp_ms, begin_ms)) / HOUR_MS
        total += hours * len(event.members)
        if event.assignor not in ("failover", "cooperative-failover", "stream"):
            idle += hours * sum(_idle(member, event.group_type) for member in event.members)
    return total, idle


def _idle(member, group_type):
    if group_type.value == "streams" and (member.streams is None or member.streams.copies):
        return False
    return not count_partitions(member.assigned)


def _flappers(key, weeks):
    counts = [Counter(name for hour in hours.values() for name in hour["flapping"]) for hours in weeks]
    return [FlapperRow(*key, name, counts[0][name], counts[1][name]) for name in counts[0] | counts[1]]


def _timeouts(key, events, begin_ms):
    near = []
    for event in _episodes(events, begin_ms):
        timeouts = [member.rebalance_timeout_ms for member in event.members if member.rebalance_timeout_ms]
        if event.slowest_lower_seconds and timeouts:
            limit = max(timeouts) / 1000
            slowest = [member.client_id for member in event.members if member.member_id == event.slowest_member_id]
            name = event.slowest_client_id or (slowest[0] if slowest else None)
            near.append((event.slowest_lower_seconds / limit, event.slowest_lower_seconds, limit, name))
    near = [wait for wait in near if wait[0] >= 0.5]
    return [TimeoutRow(*key, *max(near)[1:3], len(near), max(near)[3])] if near else []
