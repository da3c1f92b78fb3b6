"""The pipeline's aggregates in plain Python over event objects, independent of the Spark code."""

from __future__ import annotations

import math
from collections import defaultdict

from rebalance_agent.model.events import AbortedEvent, GenerationEvent, GroupGoneEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.partitions import count_partitions

HOUR_MS = 3_600_000


def percentile(values, percent):
    """The smallest value that at least ``percent`` % of ``values`` do not exceed; None without values."""
    ordered = sorted(values)
    return ordered[math.ceil(len(ordered) * percent / 100) - 1] if ordered else None


def generation_row(event):
    """The row of table ``generations`` for an event of one part; times in epoch milliseconds."""
    phases, stall, classic = event.phases, event.stall, event.group_type is GroupType.CLASSIC
    slowest = [each.client_id for each in event.members if each.member_id == event.slowest_member_id]
    return {
        "event_id": event.event_id,
        "group": event.group,
        "group_type": event.group_type.value,
        "generation": event.generation,
        "previous_generation": event.previous_generation,
        "episode_generation": event.episode_generation,
        "closes_episode": event.closes_episode,
        "followups": event.followups,
        "completed_at": phases.completed_ms,
        "started_at": phases.started_ms,
        "assignor": event.assignor,
        "protocol": event.protocol.value,
        "source": event.source.value,
        "revision": event.revision,
        "trigger": event.trigger.value,
        "causes": [each.value for each in event.causes],
        "join_seconds": phases.join_seconds if classic else None,
        "sync_seconds": phases.sync_seconds if classic else None,
        "assignor_wait_seconds": event.assignor_wait_seconds,
        "reconcile_seconds": None if classic else phases.sync_seconds,
        "stall_seconds": stall and stall.lower_seconds,
        "stall_upper_seconds": stall and stall.seconds,
        "stall_basis": stall and stall.basis.value,
        "stalled_partition_seconds": stall and stall.partition_seconds,
        "member_count": len(event.members),
        "partition_count": sum(event.topics.values()),
        "moved": event.moved,
        "needed": event.needed,
        "excess": event.excess,
        "noop": event.noop,
        "skew_ratio": event.skew_ratio,
        "slowest_member_id": event.slowest_member_id,
        "slowest_client_id": slowest[0] if slowest else None,
        "slowest_seconds": event.slowest_seconds,
        "slowest_lower_seconds": event.slowest_lower_seconds,
        "flapping": None if event.flapping is None else list(event.flapping),
        "topics": dict(event.topics),
    }


def member_rows(event):
    """The rows of table ``members`` for an event."""
    return [
        {
            "event_id": event.event_id,
            "member_id": each.member_id,
            "client_id": each.client_id,
            "host": each.host.removeprefix("/"),
            "partitions": count_partitions(each.assigned),
            "owned": count_partitions(each.owned),
            "stop_seconds": each.stop_seconds,
        }
        for each in event.members
    ]


def overlaps(begin_ms, end_ms):
    """Hour number -> milliseconds of the period in that hour."""
    for hour in range(begin_ms // HOUR_MS, end_ms // HOUR_MS + 1):
        inside = min(end_ms, (hour + 1) * HOUR_MS) - max(begin_ms, hour * HOUR_MS)
        if inside > 0:
            yield hour, inside


def group_hours(events, end_ms, gap_ms=60_000, storm=5):
    """Hour number -> measures of one group; ``events`` in order; the group exists until ``end_ms``."""
    hours = defaultdict(
        lambda: {"served": 0.0, "stalled": 0.0, "stalls": [], "skews": [], "slowest": [], "flapping": set()}
    )
    steps = [each for each in events if isinstance(each, GenerationEvent | GroupGoneEvent)]
    for each, until in zip(steps, [*(step.timestamp_ms for step in steps[1:]), end_ms], strict=True):
        if isinstance(each, GenerationEvent) and each.members:
            partitions = sum(each.topics.values())
            for hour, inside in overlaps(each.timestamp_ms, until):
                hours[hour]["served"] += partitions * inside / 1000
                if each.closes_episode and each.skew_ratio is not None and partitions:
                    hours[hour]["skews"].append(each.skew_ratio)
    for each in events:
        number = each.timestamp_ms // HOUR_MS
        if isinstance(each, AbortedEvent):
            hours[number]["aborted"] = hours[number].get("aborted", 0) + each.generations
        elif isinstance(each, GenerationEvent) and each.closes_episode:
            _episode(hours, hours[number], each)
    for begin_ms in _storms([each for each in events if _completes(each)], gap_ms, storm):
        hour = hours[begin_ms // HOUR_MS]
        hour["storms"] = hour.get("storms", 0) + 1
    return {number: _reported(hour) for number, hour in hours.items()}


def _completes(event):
    return isinstance(event, GenerationEvent) and event.closes_episode and bool(event.members)


def _episode(hours, hour, event):
    if event.members:
        triggers = hour.setdefault("by_trigger", {})
        triggers[event.trigger.value] = triggers.get(event.trigger.value, 0) + 1
    counted = {"noops": event.noop, "followups": event.followups, "moved": event.moved or 0}
    counted["moved_excess"] = event.excess or 0
    for name, value in counted.items():
        hour[name] = hour.get(name, 0) + value
    hour["flapping"] |= set(event.flapping or ())
    if event.slowest_seconds is not None:
        who = [each.client_id for each in event.members if each.member_id == event.slowest_member_id]
        hour["slowest"].append((event.slowest_seconds, who[0]))
    if event.stall is None:
        return
    hour["stalls"].append(event.stall.lower_seconds)
    length_ms = round(event.stall.lower_seconds * 1000)
    for number, inside in overlaps(event.timestamp_ms - length_ms, event.timestamp_ms):
        share = event.stall.partition_seconds * inside / length_ms
        hours[number]["stalled"] += share
        hours[number]["served"] += share if event.trigger.value == "group_started" else 0


def _storms(episodes, gap_ms, least):
    run = []
    for each in episodes:
        if run and each.timestamp_ms - run[-1] > gap_ms:
            if len(run) >= least:
                yield run[0]
            run = []
        run.append(each.timestamp_ms)
    if len(run) >= least:
        yield run[0]


def _reported(hour):
    total = max(hour["served"], hour["stalled"])
    return {
        "rebalances": sum(hour.get("by_trigger", {}).values()),
        "by_trigger": hour.get("by_trigger", {}),
        **{name: hour.get(name, 0) for name in ("noops", "followups", "aborted", "moved", "moved_excess", "storms")},
        **{f"stall_p{percent}": percentile(hour["stalls"], percent) for percent in (50, 95, 99)},
        "stall_max": max(hour["stalls"], default=None),
        "stalled_partition_seconds": hour["stalled"],
        "partition_seconds": total,
        "availability": 1 - hour["stalled"] / total if total else None,
        "skew_max": max(hour["skews"], default=None),
        "flapping": sorted(hour["flapping"]),
        "slowest_seconds": max(hour["slowest"], default=(None, None))[0],
        "slowest_client_id": max(hour["slowest"], default=(None, None))[1],
    }


def baselines(stalls, samples, days):
    """Hour of the week -> (scope, samples, p50, p95, p99) of one group's stalls: (epoch milliseconds, seconds)."""
    found = {}
    for hour in range(168):
        for scope, fits in (
            ("hour_of_week", lambda at, hour=hour: at % 168 == hour),
            ("hour_of_day", lambda at, hour=hour: at % 24 == hour % 24),
            ("week", lambda _at: True),
        ):
            some = [(at_ms, seconds) for at_ms, seconds in stalls if fits(at_ms // HOUR_MS + 72)]
            values = [seconds for _, seconds in some]
            if len(some) >= samples and len({at_ms // 86_400_000 for at_ms, _ in some}) >= days:
                reported = [percentile(values, each) if len(some) * (100 - each) >= 100 else None for each in (95, 99)]
                found[hour] = (scope, len(some), percentile(values, 50), *reported)
                break
    return found
