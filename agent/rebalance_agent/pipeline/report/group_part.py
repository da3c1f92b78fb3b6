"""Renders the second part of the page: each group's rebalances, partition owners, skew, what-if and baselines."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from rebalance_agent.pipeline.recommendations.advice_state import AdviceState
from rebalance_agent.pipeline.recommendations.advice_words import advice_sentence
from rebalance_agent.pipeline.report.all_groups import group_name, recommended_words
from rebalance_agent.pipeline.report.charts import (
    LABELS_WIDTH,
    NARROW,
    WIDE,
    Bar,
    Stack,
    bars,
    heat_map,
    hour_name,
    stacks,
    week,
)
from rebalance_agent.pipeline.report.report_rows import (
    EPISODES_MAX,
    OWNERS_MAX,
    EpisodeRow,
    GroupRow,
    OwnersRow,
    ReportData,
    ReportGroup,
)
from rebalance_agent.ui.svg.canvas import MARGIN_LEFT, Canvas, Scale, nice_ticks
from rebalance_agent.ui.svg.pieces import figure, legend, trigger_class, trigger_name
from rebalance_agent.ui.words import (
    DASH,
    bounds_text,
    count,
    day,
    escaped,
    minute,
    percent,
    rounded_duration,
    shortened,
)

__all__ = ["group_section"]

_MEMBERS_SHOWN = 24
_STRATEGIES_SHOWN = 12
_CHANGES_SHOWN = 8  # the latest changes
_SENTENCE_MAX = 2_000  # enough for all sentences of advice, unless they contain very long client names
_CAP_OF_MEDIAN = 25  # a column above this multiple of the median is cut off, so that the others stay visible


def group_section(report: ReportData, row: GroupRow, detail: ReportGroup, anchor: str, *, shown: bool) -> str:
    """Render one group as a collapsible section, expanded if ``shown``; ``anchor`` is its HTML id."""
    figures = [
        _stall(detail),
        _owners(detail),
        _skew(detail),
        _whatif(row, detail, "stalled_partition_seconds", ("stall", "predicted partition stall")),
        _whatif(row, detail, "moved", ("moves", "partitions moved")),
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
        f"flapping: {', '.join(shortened(member, 40) for member in row.flapping[:3])}" if row.flapping else "",
    ]
    chips = "".join(f"<li>{escaped(fact)}</li>" for fact in facts if fact)
    return (
        f'<details class="group" id="{anchor}"{" open" if shown else ""}>'
        f"<summary><h3>{escaped(group_name(report, row.key))}</h3>"
        f"<span>{escaped(rounded_duration(row.stalled_partition_seconds))} of stall</span></summary>"
        f'<ul class="chips">{chips}</ul>{_advice(row)}{_facts(detail)}'
        f'<div class="grid">{"".join(figures)}</div></details>'
    )


def _number(value: int, what: str) -> str:
    return f"{value:,} {what}" if value == 1 else f"{value:,} {what}s"


def _advice(row: GroupRow) -> str:
    if not row.sentence:
        return ""
    chosen = row.recommended or row.static_membership
    heading = f"<strong>{escaped(recommended_words(row))}</strong> " if chosen else ""
    return f'<p class="advice">{heading}{escaped(shortened(row.sentence, _SENTENCE_MAX))}</p>'


def _facts(detail: ReportGroup) -> str:
    """Render the states of recommended changes (those that are open are above), and what changed in the group."""
    followed = [advice_sentence(row) for row in detail.advice if row.state is not AdviceState.OPEN]
    sentences = [*followed, *(change.sentence for change in detail.changes[-_CHANGES_SHOWN:])]
    items = "".join(f"<li>{escaped(shortened(sentence, _SENTENCE_MAX))}</li>" for sentence in sentences)
    return f'<ul class="changes">{items}</ul>' if items else ""


def _stall(detail: ReportGroup) -> str:
    words = "Stall by phase"
    episodes = [episode for episode in detail.episodes[-EPISODES_MAX:] if episode.timed]
    if not episodes:
        return figure(words, '<p class="none">The duration of these rebalances is unknown.</p>', wide=True)
    normal = {baseline.hour_of_week: baseline.stall_p95 for baseline in detail.baselines}
    columns, data = [], []
    for episode, label in zip(episodes, _dates(episodes), strict=True):
        at, stall = episode.completed_at, _stall_words(episode)
        layers = [
            (f"p-{phase.replace(' ', '-')}", seconds, f"{_head(episode)}: {phase} {rounded_duration(seconds)}{stall}")
            for phase, seconds in episode.phases.items()
        ]
        normal_stall = rounded_duration(normal.get(at.weekday() * 24 + at.hour))
        tip = f"{_head(episode)}{stall}, normal up to {normal_stall}"
        columns.append(Stack(label, layers, episode.stall_seconds, tip))
        phase_lengths = map(rounded_duration, episode.phases.values())
        data.append((minute(at), count(episode.generation), *phase_lengths, _stall_span(episode)))
    median = statistics.median(max(sum(episode.phases.values()), episode.stall_seconds or 0) for episode in episodes)
    description = "phases of each rebalance, and the longest stall of a partition"
    phases = [phase for phase in episodes[0].phases if any(episode.phases[phase] for episode in episodes)]
    shown = [(f"p-{phase.replace(' ', '-')}", f"{phase} phase") for phase in phases]
    return figure(
        words,
        stacks(columns, (words, description), cap=_CAP_OF_MEDIAN * median or None),
        says=f"The last {len(episodes)} rebalances: the length of a bar is the duration of its phases; the line marks "
        "the longest stall (lower bound).",
        below=legend([*shown, ("mark", "longest stall of a partition")]),
        data=(("completed (UTC)", "generation", *episodes[0].phases, "longest stall"), data[::-1]),
        wide=True,
    )


def _head(episode: EpisodeRow) -> str:
    return f"generation {episode.generation:,}, {minute(episode.completed_at)}, {trigger_name(episode.trigger)}"


def _stall_span(episode: EpisodeRow) -> str:
    if episode.stall_seconds is None:
        return DASH
    return bounds_text(episode.stall_seconds, episode.stall_upper_seconds, rounded_duration)


def _stall_words(episode: EpisodeRow) -> str:
    if episode.stall_seconds is None:
        return ""
    slow = f", waiting for {shortened(episode.slowest_client_id, 60)}" if episode.slowest_client_id else ""
    return f", stall {_stall_span(episode)}{slow}"


def _owners(detail: ReportGroup) -> str:
    words = "Partitions by member"
    generations = detail.owners[-OWNERS_MAX:]
    if not generations:
        return figure(words, '<p class="none">No generation is known with its members.</p>', wide=True)
    presence = Counter(member for generation in generations for member in generation.partitions)
    latest = generations[-1].partitions
    members = sorted(presence, key=lambda member: (member not in latest, -presence[member], member))[:_MEMBERS_SHOWN]
    came = {
        member: next(index for index, generation in enumerate(generations) if member in generation.partitions)
        for member in members
    }
    members.sort(key=lambda member: (came[member], member))
    head = [(trigger_class(generation.trigger), _beginning(generation)) for generation in generations]
    picture = heat_map(
        [(_short(member), [_cell(member, generation) for generation in generations]) for member in members],
        _dates(generations),
        (words, "members by generation; a stronger colour means more partitions"),
        size=(WIDE, 54 + 17.0 * len(members)),
        left=LABELS_WIDTH,
        numbers=lambda value: f"{value:.0f}",
        head=head,
    )
    owned = [generation.partitions.get(member, 0) for generation in generations for member in members]
    left = len(presence) - len(members)
    more = f" The {left:,} members that were in the group for the shortest time are omitted." if left > 0 else ""
    triggers = sorted({generation.trigger for generation in generations})
    recent = generations[-8:]
    data = [(member, *(count(generation.partitions.get(member)) for generation in recent)) for member in members]
    return figure(
        words,
        picture,
        says=f"The last {len(generations)} generations, one column for each; the strip above shows their triggers. "
        f"The highest number of partitions of a member was {max(owned, default=0):,}.{more}",
        below=legend((trigger_class(trigger), trigger_name(trigger)) for trigger in triggers),
        data=(("member", *(f"gen. {generation.generation}" for generation in recent)), data),
        wide=True,
    )


def _beginning(generation: OwnersRow) -> str:
    at, trigger = minute(generation.completed_at), trigger_name(generation.trigger)
    return f"generation {generation.generation:,}, {at}: {trigger}"


def _cell(member: str, generation: OwnersRow) -> tuple[float, str]:
    owned = generation.partitions.get(member, -1)
    return owned, f"{shortened(member, 60)}: {owned} partitions in generation {generation.generation:,}"


def _short(member: str) -> str:
    """Shorten a member's name to its end, because names in one group usually have the same beginning."""
    length_max = 27
    return member if len(member) <= length_max else "…" + member[-length_max + 1 :]


def _dates(generations: Sequence[OwnersRow] | Sequence[EpisodeRow]) -> list[str]:
    """Return the day as a label for the first generation of each day, and empty labels for the others."""
    days = [day(generation.completed_at) for generation in generations]
    return [name if index == 0 or days[index - 1] != name else "" for index, name in enumerate(days)]


def _skew(detail: ReportGroup) -> str:
    words = "Skew"
    episodes = detail.episodes[-EPISODES_MAX:]
    skews = [(episode, episode.skew_ratio) for episode in episodes if episode.skew_ratio is not None]
    if not skews:
        return figure(words, '<p class="none">The skew of this group is unknown.</p>')
    canvas = Canvas(NARROW, 200.0)
    skew_max = max(skew or 1.0 for _, skew in skews)
    ticks = [1 + tick for tick in nice_ticks(max(skew_max - 1, 0.2), 3)]
    up = Scale(1, ticks[-1], canvas.height - 26, 14)
    for tick in ticks:
        canvas.line(MARGIN_LEFT, up(tick), NARROW - 6, up(tick), "zero" if tick == 1 else "grid")
        canvas.text(MARGIN_LEFT - 7, up(tick) + 4, f"{tick:.2g}", "tick", anchor="end")
    along = Scale(0, max(1, len(skews) - 1), MARGIN_LEFT + 6, NARROW - 12)
    canvas.path([(along(index), up(skew or 1.0)) for index, (_, skew) in enumerate(skews)], "skew", steps=True)
    for index, (episode, skew) in enumerate(skews):
        canvas.dot(along(index), up(skew or 1.0), 2.6, "skew-dot", f"{_head(episode)}: skew {skew:.2f}")
    dates = _dates([episode for episode, _ in skews])
    canvas.x_labels(((along(index), label) for index, label in enumerate(dates) if label), canvas.height - 8)
    data = [(minute(episode.completed_at), count(episode.generation), f"{skew:.2f}") for episode, skew in skews]
    return figure(
        words,
        canvas.svg(words, "skew ratio after each rebalance"),
        says="The most loaded member's load, divided by the load that the strategy guarantees; 1 is best.",
        data=(("completed (UTC)", "generation", "skew"), data[::-1]),
    )


def _whatif(row: GroupRow, detail: ReportGroup, quantity: str, names: tuple[str, str]) -> str:
    """Render what each strategy would have done; ``quantity``: a field of `WhatIfRow`, and its short and long name."""
    words, show = f"What if: {names[0]}", count if quantity == "moved" else rounded_duration
    replayed = [
        (getattr(replay, quantity), shortened(replay.strategy, 60), replay)
        for replay in sorted(detail.whatif, key=lambda replay: replay.strategy)
        if replay.refused is None and getattr(replay, quantity) is not None
    ]
    if not replayed:
        return figure(words, '<p class="none">This group was not replayed.</p>')
    recorded = [getattr(replay, f"recorded_{quantity}") for _, _, replay in replayed]
    reference = max((value for value in recorded if value is not None), default=None)
    rows, data = [], []
    for value, name, replay in sorted(replayed, key=lambda entry: entry[0]):
        moves, stall = count(replay.moved), rounded_duration(replay.stalled_partition_seconds)
        skew = "unknown" if replay.skew_max is None else f"{replay.skew_max:.2f}"
        tip = f"{name}: {moves} moves, predicted stall {stall}, worst skew {skew}, {replay.generations:,} generations"
        kinds = {row.assignor: "w-now", row.recommended: "w-best"}
        rows.append(Bar(name, value, show(value), kinds.get(replay.strategy, "w-other"), tip))
        data.append((name, moves, stall, count(replay.generations)))
    below = legend([("w-best", "recommended"), ("w-now", "in use now"), ("w-other", "others")])
    if refused := [replay for replay in detail.whatif if replay.refused is not None]:
        reasons = "; ".join(
            f"{shortened(replay.strategy, 60)}: {shortened(replay.refused or '', 160)}" for replay in refused[:4]
        )
        below += f"<p>Not replayed: {escaped(reasons)}.</p>"
    line = f"; the dashed line is the recorded value ({show(reference)})." if reference is not None else "."
    beyond = len(rows) - _STRATEGIES_SHOWN
    more = f" {beyond} worse strategies are omitted." if beyond > 0 else ""
    return figure(
        words,
        bars(rows[:_STRATEGIES_SHOWN], (words, f"{names[1]} by strategy"), reference=reference),
        says=f"The recorded history, replayed with each strategy{line}{more}",
        below=below,
        data=(("strategy", "moves", "predicted stall", "generations"), data),
    )


def _baselines(detail: ReportGroup) -> str:
    if not detail.baselines:
        return ""
    words = "What is normal"
    values, data = {}, []
    for baseline in detail.baselines:
        median, high = rounded_duration(baseline.stall_p50), rounded_duration(baseline.stall_p95)
        tip = f"half of the stalls up to {median}, 95 % up to {high}, {baseline.samples:,} rebalances"
        values[baseline.hour_of_week] = baseline.stall_p95 or baseline.stall_p50, tip
        data.append((hour_name(baseline.hour_of_week), count(baseline.samples), median, high))
    return figure(
        words,
        week(values, (words, "95th percentile of the stall by day and hour of the week, UTC")),
        says="95th percentile of the stalls by hour of the week (UTC); a stronger colour means a longer stall.",
        data=(("hour", "rebalances", "p50", "p95"), data),
    )
