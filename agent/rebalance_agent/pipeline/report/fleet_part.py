"""Renders the first part of the page: the cost of rebalances in all groups by time, trigger, hour, storm and deploy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rebalance_agent.pipeline.report.charts import Bar, Stack, bars, lanes, spark, stacks, week
from rebalance_agent.pipeline.report.group_links import group_link, group_name
from rebalance_agent.pipeline.report.report_rows import GroupKey, GroupRow, ReportData
from rebalance_agent.ui.svg.pieces import figure, legend, trigger_class, trigger_name
from rebalance_agent.ui.words import (
    DASH,
    TIMES,
    WEEKDAYS,
    count,
    day,
    escaped,
    minute,
    percent,
    rounded_duration,
    share,
    shortened,
)

__all__ = ["fleet_section", "group_table", "recommended_words", "tiles"]

_DEPLOYS_SHOWN = 10
_STORMY_GROUPS_SHOWN = 12
_DAY_S = 86_400


def tiles(report: ReportData) -> str:
    """Render the key figures at the top of the page."""
    groups = report.groups
    cost = sum(group.stalled_partition_seconds for group in groups)
    known = [group for group in groups if group.partition_seconds]
    busy = sum(group.partition_seconds or 0.0 for group in known)
    lost = sum(group.stalled_partition_seconds for group in known)
    deploys = sum(deploy.stalled_partition_seconds for deploy in report.deploys)
    saved = sum(max(0.0, group.saved_partition_seconds or 0.0) for group in groups)
    shown = [
        ("groups", count(report.groups_in_all or len(groups)), f"{sum(group.members for group in groups):,} members"),
        ("rebalances", count(sum(group.rebalances for group in groups)), _per_day(report)),
        ("partition standstill", rounded_duration(cost), f"partitions {TIMES} time without anybody working on them"),
        ("partition availability", percent(1 - share(lost, busy) if busy else None, 2), f"over {len(known):,} groups"),
        ("deploys", count(report.deploys_in_all or len(report.deploys)), f"{rounded_duration(deploys)} of standstill"),
        (
            "storm hours",
            count(len(report.storms)),
            f"in {len({(storm.cluster_id, storm.group) for storm in report.storms}):,} groups",
        ),
        ("would be saved", rounded_duration(saved), f"{percent(share(saved, cost), 0)} by what is recommended below"),
    ]
    items = "".join(
        f"<div><dt>{escaped(label)}</dt><dd>{escaped(value)}</dd><dd>{escaped(note)}</dd></div>"
        for label, value, note in shown
    )
    return f'<dl class="tiles">{items}</dl>'


def fleet_section(report: ReportData) -> str:
    """Render all charts of the fleet."""
    figures = [
        _cost_over_time(report),
        _triggers(report),
        _hours(report),
        _storms(report),
        _deploys(report),
    ]
    return f'<section id="fleet"><h2>The fleet</h2><div class="grid">{"".join(figures)}</div></section>'


def _per_day(report: ReportData) -> str:
    days = max(1.0, (report.until - report.since).total_seconds() / _DAY_S)
    return f"{sum(group.rebalances for group in report.groups) / days:,.1f} a day"


def _cost_over_time(report: ReportData) -> str:
    by_period: dict[int, list[tuple[str, float, int]]] = defaultdict(list)
    by_trigger: dict[str, float] = defaultdict(float)
    for row in report.costs:
        by_period[row.period].append((row.trigger, row.stalled_partition_seconds, row.rebalances))
        by_trigger[row.trigger] += row.stalled_partition_seconds
    order = sorted(by_trigger, key=lambda each: -by_trigger[each])
    rank = {trigger: index for index, trigger in enumerate(order)}
    columns, data = [], []
    for period in range(report.periods):
        layers = sorted(by_period[period], key=lambda layer: rank[layer[0]])
        when = _period_words(report, period)
        whole = rounded_duration(sum(each[1] for each in layers))
        columns.append(
            Stack(
                label=_period_label(report, period),
                layers=[
                    (
                        trigger_class(trigger),
                        cost,
                        f"{when}, {trigger_name(trigger)}: {rounded_duration(cost)} of {whole}, {number:,} times",
                    )
                    for trigger, cost, number in layers
                ],
            )
        )
        data.append((when, whole, count(sum(each[2] for each in layers))))
    words = "What rebalances cost, over time"
    picture = stacks(columns, (words, "partition standstill by the trigger of the rebalance, stacked for each period"))
    shown = [(trigger_class(each), trigger_name(each)) for each in order]
    says = "Partition standstill: for each partition, the time in which nobody worked on it because of a rebalance."
    heads = ("time (UTC)", "standstill", "rebalances")
    return figure(words, picture, says=says, below=legend(shown), data=(heads, data), wide=True)


def _period_words(report: ReportData, period: int) -> str:
    at = report.period_at(period)
    return f"{WEEKDAYS[at.weekday()]} {day(at)}" if report.period_seconds >= _DAY_S else minute(at)


def _period_label(report: ReportData, period: int) -> str:
    at = report.period_at(period)
    if report.period_seconds >= _DAY_S:
        return day(at)
    return f"{at:%H:%M}" if at.hour else day(at)


def _triggers(report: ReportData) -> str:
    costs: dict[str, float] = defaultdict(float)
    numbers: dict[str, int] = defaultdict(int)
    for row in report.costs:
        costs[row.trigger] += row.stalled_partition_seconds
        numbers[row.trigger] += row.rebalances
    total, order = sum(costs.values()), sorted(costs, key=lambda trigger: (-costs[trigger], trigger))
    rows = [
        Bar(
            label=trigger_name(trigger),
            value=costs[trigger],
            words=f"{rounded_duration(costs[trigger])} · {count(numbers[trigger])}{TIMES}",
            kind=trigger_class(trigger),
            tip=f"{trigger_name(trigger)}: {percent(share(costs[trigger], total))} of the cost, "
            f"{numbers[trigger]:,} rebalances, {rounded_duration(share(costs[trigger], numbers[trigger]))} each",
        )
        for trigger in order
    ]
    words = "Why groups rebalance"
    data = [(trigger_name(trigger), rounded_duration(costs[trigger]), count(numbers[trigger])) for trigger in order]
    picture = bars(rows, (words, "partition standstill by trigger"))
    return figure(
        words,
        picture,
        says="Standstill and number of rebalances by what set them off.",
        data=(("trigger", "standstill", "rebalances"), data),
    )


def _hours(report: ReportData) -> str:
    values = {hour.hour_of_week: hour.stalled_partition_seconds for hour in report.week}
    tips = {
        hour.hour_of_week: f"{WEEKDAYS[hour.hour_of_week // 24]} {hour.hour_of_week % 24:02}:00: "
        f"{rounded_duration(hour.stalled_partition_seconds)}, {hour.rebalances:,} rebalances"
        for hour in report.week
    }
    worst = sorted(report.week, key=lambda hour: -hour.stalled_partition_seconds)
    data = [
        (
            f"{WEEKDAYS[hour.hour_of_week // 24]} {hour.hour_of_week % 24:02}:00",
            rounded_duration(hour.stalled_partition_seconds),
            count(hour.rebalances),
        )
        for hour in worst[:24]
    ]
    words = "When it hurts"
    return figure(
        words,
        week(values, tips, (words, "partition standstill by day and hour of the week, UTC")),
        says="Standstill by hour of the week (UTC), all weeks together; the stronger, the more.",
        data=(("hour", "standstill", "rebalances"), data),
    )


def _storms(report: ReportData) -> str:
    words = "Storms"
    by_group: dict[GroupKey, list[tuple[float, int, str]]] = defaultdict(list)
    length = max(1.0, (report.until - report.since).total_seconds())
    for row in report.storms:
        position = (row.hour - report.since).total_seconds() / length
        tip = f"{shortened(row.group)}: {row.rebalances:,} rebalances in the hour of {minute(row.hour)}"
        by_group[row.cluster_id, row.group].append((position, row.rebalances, tip))
    if not by_group:
        return figure(words, '<p class="none">No group was stormy.</p>', wide=True)
    order = sorted(by_group, key=lambda each: (-sum(disc[1] for disc in by_group[each]), each))
    rebalances_max = max(disc[1] for discs in by_group.values() for disc in discs)
    rows = [
        (group_name(report, key), [(position, number / rebalances_max, tip) for position, number, tip in by_group[key]])
        for key in order[:_STORMY_GROUPS_SHOWN]
    ]
    left = len(order) - len(rows)
    says = "Hours in which a group rebalanced again and again; the larger, the more often."
    if left > 0:
        says += f" {left:,} more groups had storms."
    data = [
        (group_name(report, key), count(len(by_group[key])), count(sum(disc[1] for disc in by_group[key])))
        for key in order
    ]
    picture = lanes(rows, _time_ticks(report), (words, "stormy hours of the groups that had most"))
    return figure(words, picture, says=says, data=(("group", "stormy hours", "rebalances in them"), data), wide=True)


def _time_ticks(report: ReportData) -> list[tuple[float, str]]:
    step = max(1, report.periods // 10)
    return [(period / report.periods, _period_label(report, period)) for period in range(0, report.periods, step)]


def _deploys(report: ReportData) -> str:
    words = "What deploys cost"
    if not report.deploys:
        return figure(words, '<p class="none">No deploy was recognised.</p>', wide=True)
    order = sorted(report.deploys, key=lambda deploy: -deploy.stalled_partition_seconds)
    rows = [
        Bar(
            label=f"{group_name(report, (deploy.cluster_id, deploy.group))} · {minute(deploy.started_at)}",
            value=deploy.stalled_partition_seconds,
            words=f"{rounded_duration(deploy.stalled_partition_seconds)} · {deploy.rebalances:,} rebalances",
            kind="deploy",
            tip=f"{shortened(deploy.group)}, {minute(deploy.started_at)} to {deploy.ended_at:%H:%M}: "
            f"{deploy.rebalances:,} rebalances, the longest standstill {rounded_duration(deploy.stall_seconds)}",
        )
        for deploy in order[:_DEPLOYS_SHOWN]
    ]
    all_cost = sum(group.stalled_partition_seconds for group in report.groups)
    cost = sum(deploy.stalled_partition_seconds for deploy in report.deploys)
    number = report.deploys_in_all or len(report.deploys)
    says = (
        f"{number:,} deploys caused {percent(share(cost, all_cost), 0)} of all standstill, "
        f"{rounded_duration(share(cost, len(report.deploys)))} each; the dearest of them:"
    )
    data = [
        (
            minute(deploy.started_at),
            shortened(deploy.group),
            count(deploy.rebalances),
            rounded_duration(deploy.stalled_partition_seconds),
        )
        for deploy in order
    ]
    picture = bars(rows, (words, "partition standstill of the dearest deploys"), width=1_080)
    heads = ("started (UTC)", "group", "rebalances", "standstill")
    return figure(words, picture, says=says, data=(heads, data), wide=True)


# The table of all groups

_HEADS: Sequence[tuple[str, str, str]] = (
    ("group", "text", "its id"),
    ("type", "text", "group type and assignor"),
    ("members", "number", "at its last generation"),
    ("rebalances", "number", "in the whole time"),
    ("standstill", "number", f"partitions {TIMES} time without anybody working on them"),
    ("over time", "", "standstill in each period"),
    ("availability", "number", "share of partition-time that was worked"),
    ("stall p95", "number", "of the longest standstill of a partition in each rebalance"),
    ("skew", "number", "worst ratio of load to what the strategy promises; 1 is best"),
    ("mostly", "text", "the most frequent trigger"),
    ("would save", "number", "standstill that the recommendation saves"),
    ("with", "text", "what is recommended"),
)


def group_table(report: ReportData, anchors: Mapping[GroupKey, str]) -> str:
    """Render a table with one row for each group, the most expensive first; it can be sorted and filtered."""
    heads = "".join(
        f'<th scope="col" title="{escaped(title)}">'
        + (f'<button type="button" data-sort="{kind}">{escaped(words)}</button>' if kind else escaped(words))
        + "</th>"
        for words, kind, title in _HEADS
    )
    body = "".join(_line(report, each, anchors) for each in report.groups)
    left = (report.groups_in_all or len(report.groups)) - len(report.groups)
    more = f"<p>{left:,} groups with less standstill are not shown.</p>" if left > 0 else ""
    return (
        '<section id="groups"><h2>All groups</h2>'
        '<p><label for="wanted">Show only groups with </label><input id="wanted" type="search" autocomplete="off">'
        ' <span id="found" role="status"></span></p>'
        f'<div class="scroll"><table id="all-groups" class="sortable"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{more}</section>"
    )


def _line(report: ReportData, row: GroupRow, anchors: Mapping[GroupKey, str]) -> str:
    kind = f"{row.group_type} · {shortened(row.assignor, 40)}" if row.assignor else row.group_type
    cells: Iterable[tuple[str, float | None]] = (
        (escaped(kind), None),
        (count(row.members), row.members),
        (count(row.rebalances), row.rebalances),
        (rounded_duration(row.stalled_partition_seconds), row.stalled_partition_seconds),
        (spark(row.costs), None),
        (percent(row.availability, 2), -1 if row.availability is None else row.availability),
        (rounded_duration(row.stall_p95), row.stall_p95 or -1),
        (DASH if row.skew_max is None else f"{row.skew_max:.2f}", row.skew_max or -1),
        (escaped(trigger_name(row.trigger).partition(" (")[0]) if row.trigger else DASH, None),
        (rounded_duration(row.saved_partition_seconds or 0), row.saved_partition_seconds or 0),
        (escaped(recommended_words(row)), None),
    )
    rest = "".join(
        f"<td>{shown}</td>" if value is None else f'<td data-v="{value:.6g}">{shown}</td>' for shown, value in cells
    )
    return f'<tr><th scope="row">{group_link(report, row.key, anchors)}</th>{rest}</tr>'


def recommended_words(row: GroupRow) -> str:
    """Return the recommended strategy and ``static members``, whichever apply, as short text."""
    chosen = [shortened(row.recommended, 40)] if row.recommended else []
    return " + ".join([*chosen, "static members"] if row.static_membership else chosen) or DASH
