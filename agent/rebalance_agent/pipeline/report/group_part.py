"""Renders the second part of the page: one group's rebalances, partition owners, skew, what-if and baselines."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from rebalance_agent.pipeline.report.charts import Bar, Stack, bars, heat_map, stacks, week
from rebalance_agent.pipeline.report.fleet_part import recommended_words
from rebalance_agent.pipeline.report.group_links import group_name
from rebalance_agent.pipeline.report.report_rows import (
    EPISODES_MAX,
    OWNERS_MAX,
    EpisodeRow,
    GroupRow,
    OwnersRow,
    ReportData,
    ReportGroup,
    WhatIfRow,
)
from rebalance_agent.ui.svg.canvas import MARGIN_LEFT, Canvas, Scale, nice_ticks
from rebalance_agent.ui.svg.pieces import figure, legend, trigger_class, trigger_name
from rebalance_agent.ui.words import WEEKDAYS, count, day, escaped, minute, percent, rounded_duration, shortened

__all__ = ["group_section"]

_MEMBERS_SHOWN = 24
_STRATEGIES_SHOWN = 12
_CAP_OF_MEDIAN = 25  # a column above this multiple of the median is cut off, so that the others stay visible
_PHASES = (("p-join", "join"), ("p-sync", "sync"), ("p-reconcile", "reconcile"))


def group_section(report: ReportData, row: GroupRow, detail: ReportGroup, anchor: str, *, shown: bool) -> str:
    """Render one group as a collapsible section, expanded if ``shown``; ``anchor`` is its HTML id."""
    figures = [
        _stall(detail),
        _owners(detail),
        _skew(detail),
        _whatif(row, detail, moves=False),
        _whatif(row, detail, moves=True),
        _baselines(detail),
    ]
    facts = [
        row.group_type,
        shortened(row.assignor) if row.assignor else "",
        row.protocol,
        _number(row.members, "member"),
        _number(row.partitions, "partition"),
        _number(row.rebalances, "rebalance"),
        f"{percent(row.availability, 2)} available" if row.availability is not None else "",
        f"flapping: {', '.join(shortened(each, 40) for each in row.flapping[:3])}" if row.flapping else "",
    ]
    chips = "".join(f"<li>{escaped(each)}</li>" for each in facts if each)
    return (
        f'<details class="group" id="{anchor}"{" open" if shown else ""}>'
        f"<summary><h3>{escaped(group_name(report, row.key))}</h3>"
        f"<span>{escaped(rounded_duration(row.stalled_partition_seconds))} of standstill</span></summary>"
        f'<ul class="chips">{chips}</ul>{_advice(row)}<div class="grid">{"".join(figures)}</div></details>'
    )


def _number(value: int, what: str) -> str:
    return f"{value:,} {what}" if value == 1 else f"{value:,} {what}s"


def _advice(row: GroupRow) -> str:
    if not row.sentence:
        return ""
    chosen = row.recommended or row.static_membership
    heading = f"<strong>{escaped(recommended_words(row))}</strong> " if chosen else ""
    return f'<p class="advice">{heading}{escaped(shortened(row.sentence, 600))}</p>'


def _stall(detail: ReportGroup) -> str:
    words = "Stall by phase"
    episodes = [each for each in detail.episodes[-EPISODES_MAX:] if _length(each) is not None]
    if not episodes:
        return figure(words, '<p class="none">Nobody knows how long these rebalances took.</p>', wide=True)
    normal = {each.hour_of_week: each.stall_p95 for each in detail.baselines}
    columns = [
        Stack(
            label=label,
            layers=[
                (kind, seconds, f"{_head(each)}: {phase} {rounded_duration(seconds)}{_stall_words(each)}")
                for (kind, phase), seconds in zip(_PHASES, _phases(each), strict=True)
            ],
            mark=each.stall_seconds,
            mark_tip=f"{_head(each)}{_stall_words(each)}, normal up to "
            f"{rounded_duration(normal.get(each.completed_at.weekday() * 24 + each.completed_at.hour))}",
        )
        for each, label in zip(episodes, _dates(episodes), strict=True)
    ]
    highest = sorted(max(_length(each) or 0, each.stall_seconds or 0) for each in episodes)
    cap = _CAP_OF_MEDIAN * statistics.median(highest)
    picture = stacks(
        columns, (words, "phases of each rebalance, and the longest stall of a partition"), cap=cap or None
    )
    shown = [
        (kind, f"{phase} phase") for kind, phase in _PHASES if any(_phases(each)[_index(kind)] for each in episodes)
    ]
    data = [
        (
            minute(each.completed_at),
            count(each.generation),
            *map(rounded_duration, _phases(each)),
            rounded_duration(each.stall_seconds),
        )
        for each in reversed(episodes)
    ]
    says = f"The last {len(episodes)} rebalances, each as long as its phases; the stroke is the longest stall."
    heads = ("completed (UTC)", "generation", "join", "sync", "reconcile", "longest stall")
    below = legend([*shown, ("mark", "longest stall of a partition")])
    return figure(words, picture, says=says, below=below, data=(heads, data), wide=True)


def _phases(episode: EpisodeRow) -> tuple[float, float, float]:
    return episode.join_seconds or 0.0, episode.sync_seconds or 0.0, episode.reconcile_seconds or 0.0


def _index(kind: str) -> int:
    return next(index for index, (known, _) in enumerate(_PHASES) if known == kind)


def _length(episode: EpisodeRow) -> float | None:
    known = [episode.join_seconds, episode.sync_seconds, episode.reconcile_seconds, episode.stall_seconds]
    return None if all(value is None for value in known) else sum(_phases(episode))


def _head(episode: EpisodeRow) -> str:
    return f"generation {episode.generation:,}, {minute(episode.completed_at)}, {trigger_name(episode.trigger)}"


def _stall_words(episode: EpisodeRow) -> str:
    if episode.stall_seconds is None:
        return ""
    basis = "" if episode.stall_basis == "exact" else " at most"
    slow = f", waited for {shortened(episode.slowest, 60)}" if episode.slowest else ""
    return f", stall{basis} {rounded_duration(episode.stall_seconds)}{slow}"


def _owners(detail: ReportGroup) -> str:
    words = "Who owned how many partitions"
    generations = detail.owners[-OWNERS_MAX:]
    if not generations:
        return figure(words, '<p class="none">No generation is known with its members.</p>', wide=True)
    presence: Counter[str] = Counter()
    for each in generations:
        presence.update(each.partitions.keys())
    latest = generations[-1].partitions
    members = sorted(presence, key=lambda each: (each not in latest, -presence[each], each))[:_MEMBERS_SHOWN]
    came = {
        member: next(index for index, each in enumerate(generations) if member in each.partitions) for member in members
    }
    order = sorted(members, key=lambda each: (came[each], each))
    rows = [(member, [_cell(member, each) for each in generations]) for member in order]
    head = [
        (
            trigger_class(each.trigger),
            f"generation {each.generation:,}, {minute(each.completed_at)}: {trigger_name(each.trigger)}",
        )
        for each in generations
    ]
    partitions_max = max((each.partitions.get(member, 0) for each in generations for member in members), default=0)
    height = 54 + 17.0 * len(rows)
    picture = heat_map(
        [(_short(member), cells) for member, cells in rows],
        _dates(generations),
        (words, "members by generation, the stronger the more partitions"),
        size=(1_080, height),
        left=190,
        numbers=lambda value: f"{value:.0f}",
        head=head,
    )
    left = len(presence) - len(members)
    says = (
        f"The last {len(generations)} generations, a column each; the strip above tells why each began. "
        f"The fullest member had {partitions_max:,} partitions."
        + (f" {left:,} members that were there for the shortest time are left out." if left > 0 else "")
    )
    seen = sorted({each.trigger for each in generations})
    data = [(member, *(count(each.partitions.get(member)) for each in generations[-8:])) for member, _ in rows]
    heads = ("member", *(f"gen. {each.generation}" for each in generations[-8:]))
    below = legend((trigger_class(each), trigger_name(each)) for each in seen)
    return figure(words, picture, says=says, below=below, data=(heads, data), wide=True)


def _cell(member: str, generation: OwnersRow) -> tuple[float, str]:
    owned = generation.partitions.get(member, -1)
    return owned, f"{shortened(member, 60)}: {owned} partitions in generation {generation.generation:,}"


def _short(member: str) -> str:
    """Shorten a member's name to its end: names in one group usually have the same beginning."""
    length_max = 27
    return member if len(member) <= length_max else "…" + member[-length_max + 1 :]


def _dates(generations: Sequence[OwnersRow] | Sequence[EpisodeRow]) -> list[str]:
    """Return the day as a label for the first generation of each day, and empty labels for the others."""
    days = [day(each.completed_at) for each in generations]
    return [each if index == 0 or days[index - 1] != each else "" for index, each in enumerate(days)]


def _skew(detail: ReportGroup) -> str:
    words = "Skew"
    known = [each for each in detail.episodes[-EPISODES_MAX:] if each.skew_ratio is not None]
    if not known:
        return figure(words, '<p class="none">Skew says nothing of this group.</p>')
    size = (520.0, 200.0)
    canvas = Canvas(*size)
    skew_max = max(each.skew_ratio or 1.0 for each in known)
    ticks = [1 + each for each in nice_ticks(max(skew_max - 1, 0.2), 3)]
    up = Scale(1, ticks[-1], size[1] - 26, 14)
    for tick in ticks:
        canvas.line(MARGIN_LEFT, up(tick), size[0] - 6, up(tick), "zero" if tick == 1 else "grid")
        canvas.text(MARGIN_LEFT - 7, up(tick) + 4, f"{tick:.2g}", "tick", anchor="end")
    along = Scale(0, max(1, len(known) - 1), MARGIN_LEFT + 6, size[0] - 12)
    points = [(along(index), up(each.skew_ratio or 1.0)) for index, each in enumerate(known)]
    canvas.path(points, "skew", steps=True)
    for (x, y), each in zip(points, known, strict=True):
        canvas.dot(x, y, 2.6, "skew-dot", f"{_head(each)}: skew {each.skew_ratio:.2f}")
    canvas.x_labels(((along(index), label) for index, label in enumerate(_dates(known)) if label), size[1] - 8)
    data = [(minute(each.completed_at), count(each.generation), f"{each.skew_ratio:.2f}") for each in reversed(known)]
    says = "The fullest member against what the strategy promises it; 1 is best."
    heads = ("completed (UTC)", "generation", "skew")
    return figure(words, canvas.svg(words, "skew ratio after each rebalance"), says=says, data=(heads, data))


def _whatif(row: GroupRow, detail: ReportGroup, *, moves: bool) -> str:
    words = "What if: moves" if moves else "What if: standstill"
    replayed = [each for each in detail.whatif if each.refused is None and _result(each, moves=moves) is not None]
    if not replayed:
        return figure(words, '<p class="none">This group was not replayed.</p>')
    recorded = max((value for each in replayed if (value := _recorded(each, moves=moves)) is not None), default=None)
    order = sorted(replayed, key=lambda each: (_result(each, moves=moves) or 0, each.strategy))
    show = count if moves else rounded_duration
    rows = [
        Bar(
            label=shortened(each.strategy, 60),
            value=_result(each, moves=moves) or 0,
            words=show(_result(each, moves=moves)),
            kind=_look(row, each),
            tip=f"{shortened(each.strategy, 60)}: {count(each.moved)} moves, predicted standstill "
            f"{rounded_duration(each.stalled_partition_seconds)}, worst skew "
            + ("unknown" if each.skew_max is None else f"{each.skew_max:.2f}")
            + f", {each.generations:,} generations",
        )
        for each in order[:_STRATEGIES_SHOWN]
    ]
    refused = [each for each in detail.whatif if each.refused is not None]
    beyond = len(order) - len(rows)
    below = legend([("w-best", "recommended"), ("w-now", "as it is now"), ("w-other", "others")])
    if refused:
        reasons = "; ".join(
            f"{shortened(each.strategy, 60)}: {shortened(each.refused or '', 160)}" for each in refused[:4]
        )
        below += f"<p>Not replayed: {escaped(reasons)}.</p>"
    says = "The recorded history, decided anew by each strategy" + (
        f"; the dashed line is what was recorded ({show(recorded)})." if recorded is not None else "."
    )
    if beyond > 0:
        says += f" {beyond} worse ones are left out."
    data = [
        (
            shortened(each.strategy, 60),
            count(each.moved),
            rounded_duration(each.stalled_partition_seconds),
            count(each.generations),
        )
        for each in order
    ]
    what = "partitions moved" if moves else "predicted partition standstill"
    picture = bars(rows, (words, f"{what} by strategy"), reference=recorded)
    heads = ("strategy", "moves", "predicted standstill", "generations")
    return figure(words, picture, says=says, below=below, data=(heads, data))


def _look(row: GroupRow, replay: WhatIfRow) -> str:
    if replay.strategy == row.recommended:
        return "w-best"
    return "w-now" if replay.strategy == row.assignor else "w-other"


def _result(replay: WhatIfRow, *, moves: bool) -> float | None:
    return replay.moved if moves else replay.stalled_partition_seconds


def _recorded(replay: WhatIfRow, *, moves: bool) -> float | None:
    return replay.recorded_moved if moves else replay.recorded_stalled_partition_seconds


def _baselines(detail: ReportGroup) -> str:
    if not detail.baselines:
        return ""
    words = "What is normal"
    values = {each.hour_of_week: each.stall_p95 or each.stall_p50 for each in detail.baselines}
    tips = {
        each.hour_of_week: f"{WEEKDAYS[each.hour_of_week // 24]} {each.hour_of_week % 24:02}:00: half of the stalls "
        f"up to {rounded_duration(each.stall_p50)}, 95 % up to {rounded_duration(each.stall_p95)}, "
        f"{each.samples:,} rebalances"
        for each in detail.baselines
    }
    data = [
        (
            f"{WEEKDAYS[each.hour_of_week // 24]} {each.hour_of_week % 24:02}:00",
            count(each.samples),
            rounded_duration(each.stall_p50),
            rounded_duration(each.stall_p95),
        )
        for each in detail.baselines
    ]
    picture = week(values, tips, (words, "95th percentile of the stall by day and hour of the week, UTC"))
    says = "95 % of the stalls at this hour of the week are not longer (UTC); the stronger, the longer."
    return figure(words, picture, says=says, data=(("hour", "rebalances", "p50", "p95"), data))
