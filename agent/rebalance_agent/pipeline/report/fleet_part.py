"""Renders the first part of the page: rebalance cost in all groups by time, trigger, hour, storm and deploy."""

from __future__ import annotations

from collections import defaultdict

from rebalance_agent.pipeline.report.all_groups import group_name
from rebalance_agent.pipeline.report.charts import WIDE, Bar, Stack, bars, hour_name, lanes, stacks, week
from rebalance_agent.pipeline.report.report_rows import CostRow, GroupKey, ReportData, StormRow
from rebalance_agent.ui.svg.pieces import figure, key_figures, legend, trigger_class, trigger_name
from rebalance_agent.ui.words import (
    TIMES,
    WEEKDAYS,
    count,
    day,
    minute,
    percent,
    plural,
    rounded_duration,
    share,
    shortened,
)

__all__ = ["fleet_section", "tiles"]

_DEPLOYS_SHOWN = 10
_STORMY_GROUPS_SHOWN = 12
_DAY_S = 86_400


def tiles(report: ReportData) -> str:
    """Render the key figures at the top of the page."""
    groups = report.groups
    cost = sum(group.stalled_partition_seconds for group in groups)
    measured = [group for group in groups if group.partition_seconds]
    busy = sum(group.partition_seconds or 0.0 for group in measured)
    lost = sum(group.stalled_partition_seconds for group in measured)
    deploys = sum(deploy.stalled_partition_seconds for deploy in report.deploys)
    saved = sum(max(0.0, group.saved_partition_seconds or 0.0) for group in groups)
    rebalances, days = sum(group.rebalances for group in groups), max(1.0, _seconds(report) / _DAY_S)
    stormy = {(storm.cluster_id, storm.group) for storm in report.storms}
    shown = [
        ("groups", count(report.groups_in_all or len(groups)), f"{sum(group.members for group in groups):,} members"),
        ("rebalances", count(rebalances), f"{rebalances / days:,.1f} a day"),
        ("partition stall", rounded_duration(cost), f"partitions {TIMES} time without a consumer (lower bound)"),
        (
            "partition availability",
            percent(1 - share(lost, busy) if busy else None, 2),
            f"over {len(measured):,} groups",
        ),
        ("deploys", count(report.deploys_in_all or len(report.deploys)), f"{rounded_duration(deploys)} of stall"),
        ("storm hours", count(len(report.storms)), f"in {len(stormy):,} groups"),
        ("possible saving", rounded_duration(saved), f"{percent(share(saved, cost), 0)} by the recommendations below"),
    ]
    if report.taken is not None and report.taken.measured:
        note = f"by {report.taken.measured:,} recommended changes that groups made"
        shown.append(("saved per week", rounded_duration(max(0.0, report.taken.realised)), note))
    return key_figures(shown)


def fleet_section(report: ReportData) -> str:
    """Render all charts of the fleet."""
    charts = (_cost_over_time, _triggers, _hours, _storms, _deploys)
    figures = "".join(chart(report) for chart in charts)
    return f'<section id="fleet"><h2>The fleet</h2><div class="grid">{figures}</div></section>'


def _seconds(report: ReportData) -> float:
    return (report.until - report.since).total_seconds()


def _cost_over_time(report: ReportData) -> str:
    by_period: dict[int, list[CostRow]] = defaultdict(list)
    by_trigger: dict[str, float] = defaultdict(float)
    for row in report.costs:
        by_period[row.period].append(row)
        by_trigger[row.trigger] += row.stalled_partition_seconds
    order = sorted(by_trigger, key=lambda trigger: -by_trigger[trigger])
    columns, data = [], []
    for period in range(report.periods):
        rows = sorted(by_period[period], key=lambda row: order.index(row.trigger))
        at, whole = report.period_at(period), rounded_duration(sum(row.stalled_partition_seconds for row in rows))
        when = f"{WEEKDAYS[at.weekday()]} {day(at)}" if report.period_seconds >= _DAY_S else minute(at)
        layers = []
        for row in rows:
            name, cost = trigger_name(row.trigger), row.stalled_partition_seconds
            tip = f"{when}, {name}: {rounded_duration(cost)} of {whole}, {plural(row.rebalances, 'rebalance')}"
            layers.append((trigger_class(row.trigger), cost, tip))
        columns.append(Stack(_period_label(report, period), layers))
        data.append((when, whole, count(sum(row.rebalances for row in rows))))
    words = "What rebalances cost, over time"
    return figure(
        words,
        stacks(columns, (words, "partition stall by the trigger of the rebalance, stacked for each period")),
        says="Partition stall: how long partitions certainly had no consumer because of a rebalance, summed over "
        "partitions (lower bound).",
        below=legend((trigger_class(trigger), trigger_name(trigger)) for trigger in order),
        data=(("time (UTC)", "stall", "rebalances"), data),
        wide=True,
    )


def _period_label(report: ReportData, period: int) -> str:
    at = report.period_at(period)
    return f"{at:%H:%M}" if report.period_seconds < _DAY_S and at.hour else day(at)


def _triggers(report: ReportData) -> str:
    costs: dict[str, float] = defaultdict(float)
    numbers: dict[str, int] = defaultdict(int)
    for row in report.costs:
        costs[row.trigger] += row.stalled_partition_seconds
        numbers[row.trigger] += row.rebalances
    total, rows, data = sum(costs.values()), [], []
    for trigger, cost in sorted(costs.items(), key=lambda item: (-item[1], item[0])):
        name, stall, number = trigger_name(trigger), rounded_duration(cost), numbers[trigger]
        tip = (
            f"{name}: {percent(share(cost, total))} of the cost, "
            f"{number:,} rebalances, {rounded_duration(share(cost, number))} each"
        )
        rows.append(Bar(name, cost, f"{stall} · {count(number)}{TIMES}", trigger_class(trigger), tip))
        data.append((name, stall, count(number)))
    words = "Why groups rebalance"
    return figure(
        words,
        bars(rows, (words, "partition stall by trigger")),
        says="Stalls and number of rebalances by trigger.",
        data=(("trigger", "stall", "rebalances"), data),
    )


def _hours(report: ReportData) -> str:
    values = {
        hour.hour_of_week: (
            hour.stalled_partition_seconds,
            f"{rounded_duration(hour.stalled_partition_seconds)}, {hour.rebalances:,} rebalances",
        )
        for hour in report.week
    }
    worst = sorted(report.week, key=lambda hour: -hour.stalled_partition_seconds)
    data = [
        (hour_name(hour.hour_of_week), rounded_duration(hour.stalled_partition_seconds), count(hour.rebalances))
        for hour in worst[:24]
    ]
    words = "When partitions stall"
    return figure(
        words,
        week(values, (words, "partition stall by day and hour of the week, UTC")),
        says="Stalls by hour of the week (UTC), summed over all weeks; a stronger colour means a longer stall.",
        data=(("hour", "stall", "rebalances"), data),
    )


def _storms(report: ReportData) -> str:
    words = "Storms"
    if not report.storms:
        return figure(words, '<p class="none">No group had a storm.</p>', wide=True)
    by_group: dict[GroupKey, list[StormRow]] = defaultdict(list)
    for storm in report.storms:
        by_group[storm.cluster_id, storm.group].append(storm)
    numbers = {key: sum(storm.rebalances for storm in storms) for key, storms in by_group.items()}
    order = sorted(by_group, key=lambda key: (-numbers[key], key))
    shown, rebalances_max = order[:_STORMY_GROUPS_SHOWN], max(storm.rebalances for storm in report.storms)
    length = max(1.0, _seconds(report))
    rows = [
        (
            group_name(report, key),
            [
                (
                    (storm.hour - report.since).total_seconds() / length,
                    storm.rebalances / rebalances_max,
                    f"{shortened(storm.group)}: {storm.rebalances:,} rebalances in the hour of {minute(storm.hour)}",
                )
                for storm in by_group[key]
            ],
        )
        for key in shown
    ]
    periods = range(0, report.periods, max(1, report.periods // 10))
    ticks = [(period / report.periods, _period_label(report, period)) for period in periods]
    left = len(order) - len(shown)
    more = f" {left:,} more groups had storms." if left > 0 else ""
    data = [(group_name(report, key), count(len(by_group[key])), count(numbers[key])) for key in order]
    return figure(
        words,
        lanes(rows, ticks, (words, "storm hours of the groups with the most storm hours")),
        says=f"Hours in which a group rebalanced repeatedly; a larger mark means more rebalances.{more}",
        data=(("group", "storm hours", "rebalances in them"), data),
        wide=True,
    )


def _deploys(report: ReportData) -> str:
    words = "What deploys cost"
    if not report.deploys:
        return figure(words, '<p class="none">No deploy was detected.</p>', wide=True)
    rows, data = [], []
    for deploy in sorted(report.deploys, key=lambda deploy: -deploy.stalled_partition_seconds):
        cost, stall = deploy.stalled_partition_seconds, rounded_duration(deploy.stalled_partition_seconds)
        started, name = minute(deploy.started_at), shortened(deploy.group)
        label = f"{group_name(report, (deploy.cluster_id, deploy.group))} · {started}"
        tip = (
            f"{name}, {started} to {deploy.ended_at:%H:%M}: "
            f"{deploy.rebalances:,} rebalances, the longest stall {rounded_duration(deploy.stall_seconds)} or more"
        )
        rows.append(Bar(label, cost, f"{stall} · {deploy.rebalances:,} rebalances", "deploy", tip))
        data.append((started, name, count(deploy.rebalances), stall))
    all_cost = sum(group.stalled_partition_seconds for group in report.groups)
    cost = sum(deploy.stalled_partition_seconds for deploy in report.deploys)
    says = (
        f"{report.deploys_in_all or len(rows):,} deploys caused {percent(share(cost, all_cost), 0)} of all stall, "
        f"{rounded_duration(share(cost, len(rows)))} each; the most expensive ones:"
    )
    return figure(
        words,
        bars(rows[:_DEPLOYS_SHOWN], (words, "partition stall of the most expensive deploys"), width=WIDE),
        says=says,
        data=(("started (UTC)", "group", "rebalances", "stall"), data),
        wide=True,
    )
