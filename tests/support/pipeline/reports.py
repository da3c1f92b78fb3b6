"""Reports for tests, from rows of synthetic histories, without Spark."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict

from rebalance_agent.model.events import GenerationEvent, RolloutEvent
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.pipeline.report.report_rows import (
    BaselineRow,
    CostRow,
    DeployRow,
    EpisodeRow,
    GroupRow,
    OwnersRow,
    ReportData,
    ReportGroup,
    StormRow,
    WeekRow,
    WhatIfRow,
)
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan
from rebalance_agent.testing.synthetic.synthetic_history import history
from support.pipeline.latest_events import latest

PERIOD_S = 86_400
PARTS = {
    "range": 1.0,
    "roundrobin": 1.12,
    "sticky": 0.71,
    "cooperative-sticky": 0.3,
    "weighted-sticky": 0.7,
    "cooperative-weighted-sticky": 0.31,
}
"""Strategy -> its share of the recorded cost, invented for pictures."""


def report_of(fleet: FleetPlan, *, details=6, rename=None):
    """The report of a synthetic history; ``rename``: number of a group -> its name."""
    costs, week, storms, deploys, groups, pictures = defaultdict(Counter), defaultdict(Counter), [], [], [], []
    since = dt.datetime.fromtimestamp(fleet.since_ms / 1000, dt.UTC)
    until = since + dt.timedelta(days=fleet.days)
    for number in range(fleet.groups):
        reported = latest(history(fleet, number))
        events = [each for each in reported if isinstance(each, GenerationEvent | RolloutEvent)]
        closing = [each for each in events if isinstance(each, GenerationEvent) and each.closes_episode]
        if not closing:
            continue
        name = (rename or {}).get(number, closing[0].group)
        per_day, per_hour = Counter(), Counter()
        for each in closing:
            at, cost = _at(each.timestamp_ms), each.stall.partition_seconds if each.stall else 0.0
            period = min(int((at - since).total_seconds() // PERIOD_S), fleet.days - 1)
            costs[period, each.trigger.value].update(n=1, cost=cost)
            week[at.weekday() * 24 + at.hour].update(n=1, cost=cost)
            per_day[period] += cost
            per_hour[at.replace(minute=0, second=0, microsecond=0)] += 1
        key = (fleet.cluster_id, name)
        storms += [StormRow(*key, hour, times) for hour, times in per_hour.items() if times >= 15]
        deploys += [
            DeployRow(
                *key,
                _at(each.started_ms),
                _at(each.timestamp_ms),
                each.rebalances,
                each.stalled_partition_seconds,
                each.stall_seconds,
            )
            for each in events
            if isinstance(each, RolloutEvent) and each.closed
        ]
        groups.append(_group(fleet, name, closing, [per_day[day] for day in range(fleet.days)]))
        pictures.append(_detail(key, events, closing, groups[-1]))
    groups.sort(key=lambda each: -each.stalled_partition_seconds)
    place = {each.key: number for number, each in enumerate(groups)}
    pictures.sort(key=lambda each: place[each.key])
    return ReportData(
        since=since,
        until=until,
        period_seconds=PERIOD_S,
        groups=tuple(groups),
        costs=tuple(CostRow(period, trigger, c["n"], c["cost"]) for (period, trigger), c in sorted(costs.items())),
        week=tuple(WeekRow(hour, c["n"], c["cost"]) for hour, c in sorted(week.items())),
        storms=tuple(storms),
        deploys=tuple(deploys),
        details=tuple(pictures[:details]),
    )


def _at(ms):
    return dt.datetime.fromtimestamp(ms / 1000, dt.UTC)


def _group(fleet, name, closing, costs):
    last = next((each for each in reversed(closing) if each.members), closing[-1])
    stalls = sorted(each.stall.lower_seconds for each in closing if each.stall)
    cost = sum(costs)
    partitions = sum(last.topics.values())
    clustered = last.assignor == "range"
    return GroupRow(
        cluster_id=fleet.cluster_id,
        group=name,
        group_type=last.group_type.value,
        protocol=last.protocol.value,
        assignor=last.assignor,
        members=len(last.members),
        partitions=partitions,
        rebalances=len(closing),
        stalled_partition_seconds=cost,
        partition_seconds=float(partitions * fleet.days * PERIOD_S),
        stall_p95=stalls[int(len(stalls) * 0.95)] if stalls else None,
        skew_max=max((each.skew_ratio for each in closing if each.skew_ratio), default=None),
        trigger=Counter(each.trigger.value for each in closing).most_common(1)[0][0],
        flapping=closing[-1].flapping or (),
        costs=tuple(costs),
        recommended="cooperative-sticky" if clustered else None,
        saved_partition_seconds=0.7 * cost if clustered else None,
        sentence="cooperative-sticky would have saved 70 % of the stall, and spread the topics evenly."
        if clustered
        else None,
    )


def _detail(key, events, closing, row):
    def name(member):
        return member.instance_id or member.client_id

    owners = []
    for each in [each for each in events if isinstance(each, GenerationEvent) and each.members][-60:]:
        counts = Counter()
        for member in each.members:
            counts[name(member)] += count_partitions(member.assigned)
        owners.append(OwnersRow(each.generation, _at(each.timestamp_ms), each.trigger.value, dict(counts)))
    moved, cost = sum(each.moved for each in closing), row.stalled_partition_seconds
    return ReportGroup(
        key=key,
        episodes=tuple(_episode(each) for each in closing[-120:]),
        owners=tuple(owners),
        whatif=(
            *(
                WhatIfRow(strategy, len(closing), None, int(moved * part), 1.0 + part, cost * part, moved, cost)
                for strategy, part in PARTS.items()
            ),
            WhatIfRow("failover", 0, "its members have no priorities"),
        ),
        baselines=tuple(
            BaselineRow(hour, 12, 2.0 + hour % 24 / 8, 5.0 + hour % 24 / 2) for hour in range(168) if hour % 5
        ),
    )


def _episode(each):
    slowest = next((m.client_id for m in each.members if m.member_id == each.slowest_member_id), None)
    return EpisodeRow(
        generation=each.generation,
        completed_at=_at(each.timestamp_ms),
        trigger=each.trigger.value,
        join_seconds=each.join_seconds,
        sync_seconds=each.sync_seconds,
        assignor_wait_seconds=each.assignor_wait_seconds,
        reconcile_seconds=each.reconcile_seconds,
        stall_seconds=each.stall.lower_seconds if each.stall else None,
        stall_upper_seconds=each.stall.seconds if each.stall else None,
        skew_ratio=each.skew_ratio,
        slowest_client_id=slowest,
    )
