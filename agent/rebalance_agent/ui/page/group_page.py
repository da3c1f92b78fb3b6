"""Writes one group's page: state, timeline of owners, last rebalances in sentences and as a table, moves, members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_agent.api.shapes import GroupDetail, GroupSummary, HostSpreadSummary
from rebalance_agent.model.baseline import AdviceSavings
from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.ui.page.owners_timeline import timeline
from rebalance_agent.ui.page.page_frame import ago, cells, chips, note, notes, since, unknown
from rebalance_agent.ui.page.savings_note import savings_note
from rebalance_agent.ui.page.timeline_columns import TimelineColumn
from rebalance_agent.ui.page.trouble import Level, lasting
from rebalance_agent.ui.sentences.catch_up_text import catch_up_text, lag_number
from rebalance_agent.ui.sentences.dead_letter_text import dead_letter_text
from rebalance_agent.ui.sentences.deliveries_text import deliveries_text
from rebalance_agent.ui.sentences.empty_text import copartition_text, empty_text, urgency
from rebalance_agent.ui.sentences.explanation import Explanation, Paragraph
from rebalance_agent.ui.sentences.group_detail import (
    MOVE_HEADINGS,
    GroupCloseUp,
    awaited_text,
    member_table,
    move_rows,
    moves_title,
    rebalance_rows,
)
from rebalance_agent.ui.sentences.group_stall import stall_limit
from rebalance_agent.ui.sentences.topology_text import TOPOLOGY_HEADINGS, topology_rows
from rebalance_agent.ui.sentences.unsettled import pending_text, unsettled_text
from rebalance_agent.ui.svg.pieces import trigger_name
from rebalance_agent.ui.words import duration, escaped, partition_seconds, printable, shortened, stalled_partitions_text

__all__ = ["MEMBERS_SHOWN", "MOVES_SHOWN", "group_content"]

MEMBERS_SHOWN = 200
"""Maximum number of members shown in the table, the most loaded first."""

MOVES_SHOWN = 100
"""Maximum number of rows shown in the table of moves."""

FLAPPING_SHOWN = 8
"""Maximum number of flapping members listed by name."""

SUBTOPOLOGIES_SHOWN = 100
"""Maximum number of subtopologies shown in the table of a streams group's topology."""

TEXT_MAX = 2_000
"""Maximum number of characters of a cell to show: a member may own partitions of thousands of topics."""

_REBALANCE_HEADINGS = (
    "when",
    "generation",
    "why",
    "longest stall",
    "stalled partition-seconds",
    "moved",
    "slowest",
    "members",
)
"""Headings of the same columns as in `watch`, but longer."""


def group_content(
    close_up: GroupCloseUp,
    columns: Sequence[TimelineColumn],
    unread: int,
    explanation: Explanation,
    savings: AdviceSavings | None = None,
) -> str:
    """Return the page's HTML.

    ``columns``: the timeline's columns; ``unread``: number of older rebalances that the timeline still lacks.
    ``savings``: what recommended changes save in the group.
    """
    summary = close_up.detail.summary
    return (
        f'<p class="back"><a href="./">All groups</a></p><h1>{escaped(shortened(printable(summary.group)))}</h1>'
        f"{_kind(close_up.detail)}{_facts(close_up.detail)}"
        f"{notes([_now(close_up.detail), *_unknowns(close_up)])}"
        f'<section aria-label="Timeline" class="picture">{timeline(columns, summary.running, unread=unread)}</section>'
        f'<section aria-labelledby="why"><h2 id="why">What happened last</h2>{_explanation(explanation)}'
        f"{savings_note(savings)}</section>"
        f'<section aria-labelledby="rebalances"><h2 id="rebalances">Rebalances</h2>{_rebalances(close_up)}</section>'
        f'<section aria-labelledby="moves">{_moves(close_up)}</section>'
        f'<section aria-labelledby="members">{_members(close_up)}</section>'
        f"{_topology(close_up.detail)}"
    )


def _now(detail: GroupDetail) -> str:
    """Return a note on the group's present state if the group has no members or is rebalancing."""
    summary = detail.summary
    if summary.running is None:
        kind = ("", "warning", "critical")[urgency(summary, detail.now_ms)]
        return note(escaped(f"{empty_text(summary, detail.now_ms)}."), kind) if summary.empty else ""
    whole = f", group stalled {since(summary.stalled.since_ms)}" if summary.stalled else ""
    limit, waits = stall_limit(summary, detail.now_ms), pending_text(summary)
    return note(
        f"Rebalancing now ({escaped(summary.state)}) {since(summary.running.started_ms)}: "
        f"{escaped(stalled_partitions_text(summary.running))}{whole}{f', {escaped(waits)}' if waits else ''}.",
        str(limit) if limit else "busy",
    )


def _kind(detail: GroupDetail) -> str:
    summary = detail.summary
    protocol = None if summary.protocol is RebalanceProtocol.UNKNOWN else summary.protocol
    kind = ", ".join(
        escaped(shortened(printable(str(part)), 60))
        for part in (summary.group_type, summary.assignor, protocol)
        if part
    )
    generation = unknown() if summary.generation is None else f"{summary.generation:,}"
    queue = escaped(dead_letter_text(detail.dead_letter_queue))
    return (
        f'<p class="kind">{kind}; generation {generation}; first seen {ago(detail.first_seen_ms)}'
        f"{f'; {queue}' if queue else ''}</p>"
    )


def _facts(detail: GroupDetail) -> str:
    summary, counters = detail.summary, detail.counters
    partitions = unknown() if summary.partitions is None else f"{summary.partitions:,}"
    return chips(
        (
            ("state", escaped(summary.state)),
            ("members", f"{summary.members:,}{_besides(summary.idle_members, 'idle')}"),
            ("partitions", partitions + _besides(summary.unassigned, "without an owner", "critical besides")),
            ("skew", unknown() if summary.skew_ratio is None else f"{summary.skew_ratio:.2f}"),
            *_lag(summary),
            *((("topics on one host", _on_one_host(summary.host_spread)),) if summary.host_spread else ()),
            ("rebalances", f"{summary.rebalances:,}{_besides(summary.aborted, 'aborted')}"),
            ("moved", f"{counters.moved:,}{_besides(counters.moved_excess, 'excess')}"),
            ("stalled partition-seconds", f"{partition_seconds(counters.stalled_partition_seconds)} or more"),
        )
    )


def _lag(summary: GroupSummary) -> Iterator[tuple[str, str]]:
    """Yield the lag and the age of its oldest record, if the group's lag is measured."""
    if summary.lag:
        seconds = summary.lag.seconds if summary.lag.offsets else None
        age = "" if seconds is None else f' <span class="besides">(oldest: {duration(seconds)})</span>'
        yield "lag", f"{lag_number(summary)}{age}"


def _on_one_host(spread: HostSpreadSummary) -> str:
    return f"{spread.on_one_host:,} of {spread.topics:,}"


def _besides(number: int | None, words: str, kind: str = "besides") -> str:
    """Return a number in brackets, such as the number of idle members; an empty string if it is 0 or unknown."""
    return f' <span class="{kind}">({number:,} {words})</span>' if number else ""


def _unknowns(close_up: GroupCloseUp) -> Iterator[str]:
    """Yield notes on unknown values and problems of the group."""
    detail = close_up.detail
    if detail.summary.source is Source.ADMIN:
        yield note(
            "The agent only polls this group, because it has no permission to read __consumer_offsets. Generations, "
            "stalls and moves are unknown."
        )
    if unsettled := unsettled_text(detail.summary):
        yield note(unsettled)
    # Coordinators do not report the member that they wait for; the slowest member of earlier rebalances is likely.
    if awaited := awaited_text(close_up):
        yield note(escaped(awaited))
    if detail.summary.lag and (text := catch_up_text(detail.summary.lag.catch_up)):
        yield note(f"{text}.")
    if text := deliveries_text(detail.deliveries):
        yield note(f"{text}.")
    if text := copartition_text(detail.summary):
        yield note(f"{text[:1].upper() + text[1:]}.", Level.WARNING.css)
    for problem in lasting(detail.summary, FLAPPING_SHOWN):
        (text,) = problem.why
        yield note(f"{escaped(text[:1].upper() + text[1:])}.", problem.level.css)


def _explanation(explanation: Explanation) -> str:
    if not explanation.rebalances:
        return note("No rebalance has settled since the agent started; earlier ones are unknown.")
    advice = note(f"<strong>Advice</strong> {escaped(explanation.advice)}", "advice") if explanation.advice else ""
    texts = "".join(
        f"<article><h3>{escaped(rebalance.heading)}</h3>{_sentences(rebalance)}</article>"
        for rebalance in reversed(explanation.rebalances)
    )
    rollouts = "".join(f"<p>{escaped(shortened(rollout, TEXT_MAX))}</p>" for rollout in explanation.rollouts)
    return f'{advice}<div class="explained">{texts}{rollouts}</div>'


def _sentences(paragraph: Paragraph) -> str:
    """Return the cause in bold, then the other sentences."""
    why, *course = (escaped(shortened(sentence, TEXT_MAX)) for sentence in paragraph.sentences)
    return f"<p><strong>{why}</strong></p>" + "".join(f"<p>{sentence}</p>" for sentence in course)


def _rebalances(close_up: GroupCloseUp) -> str:
    if not close_up.rebalances:
        return note("No rebalance is stored for this group.")
    rows = [
        [
            ago(rebalance.timestamp_ms),
            escaped(generations),
            escaped(trigger_name(trigger)),
            *(escaped(shortened(cell, TEXT_MAX)) for cell in rest),
        ]
        for rebalance, (_, generations, trigger, *rest) in zip(
            close_up.rebalances, rebalance_rows(close_up), strict=True
        )
    ]
    return cells(_REBALANCE_HEADINGS, rows, "Rebalances, newest first")


def _moves(close_up: GroupCloseUp) -> str:
    rows = move_rows(close_up)
    title = moves_title(close_up, rows)
    head = f'<h2 id="moves">{escaped(title[0].upper() + title[1:])}</h2>'
    if not rows:
        return head
    visible = [_shown(row) for row in rows[:MOVES_SHOWN]]
    more = note(f"{len(rows) - MOVES_SHOWN:,} more rows are not shown.") if len(rows) > MOVES_SHOWN else ""
    return head + cells(MOVE_HEADINGS, visible, "Partitions that changed owner") + more


def _members(close_up: GroupCloseUp) -> str:
    headings, rows = member_table(close_up)
    if not rows:
        return '<h2 id="members">Members</h2>' + note("The group has no members now.")
    return _titled("Members", headings, rows, MEMBERS_SHOWN, "Members, the most loaded first")


def _topology(detail: GroupDetail) -> str:
    if detail.topology is None:
        return ""
    caption = "Topics that each subtopology reads and writes"
    table = _titled("Topology", TOPOLOGY_HEADINGS, topology_rows(detail.topology), SUBTOPOLOGIES_SHOWN, caption)
    return f'<section aria-labelledby="topology">{table}</section>'


def _titled(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], rows_max: int, caption: str) -> str:
    """Return a table with its title; if not all rows are shown, the title contains their number."""
    more = f", the first {rows_max} of {len(rows):,}" if len(rows) > rows_max else ""
    table = cells(headings, [_shown(row) for row in rows[:rows_max]], caption)
    return f'<h2 id="{title.lower()}">{title}{more}</h2>{table}'


def _shown(row: Sequence[str]) -> list[str]:
    return [escaped(shortened(cell, TEXT_MAX)) for cell in row]
