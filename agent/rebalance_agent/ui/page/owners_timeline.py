"""Writes the timeline of owners as a figure: pictures for wide and for narrow screens, a legend, and a table."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.model.episode import Trigger
from rebalance_agent.tracking.views import RunningRebalance
from rebalance_agent.ui.page.owners_picture import SIGNS, SLIM, WIDE, member_rows, picture
from rebalance_agent.ui.page.timeline_columns import TimelineColumn
from rebalance_agent.ui.svg.pieces import figure, legend, trigger_class, trigger_name
from rebalance_agent.ui.words import DASH, escaped, plural, shortened, stall_text, time_of_day

__all__ = ["timeline"]

TABLE_COLUMNS = 8
"""The number of last rebalances that the table shows."""

_TITLE = "Owners over time"


def timeline(columns: Sequence[TimelineColumn], running: RunningRebalance | None, *, unread: int = 0) -> str:
    """Return the figure's HTML. ``columns``: oldest first; ``unread``: number of older rebalances not read yet."""
    if not any(column.held for column in columns):
        why = "No rebalance has settled since the agent started; earlier owners are unknown."
        if columns:
            why = "The group had no members after any of the stored rebalances."
        return figure(_TITLE, f'<p class="none">{escaped(why)}</p>', wide=True)
    rows, left_out = member_rows(columns, WIDE)
    kinds = [
        (trigger_class(trigger), f"{SIGNS[trigger]} {trigger_name(trigger)}") for trigger in sorted(_triggers(columns))
    ]
    below = legend([*kinds, ("stall", "stalled"), ("h2", "few partitions"), ("h8", "many partitions")])
    says = (
        "Each bar shows a member's partitions; a stronger colour means more partitions, and the number is shown where "
        "it changes. A gap is a stall; a wider gap is a longer stall. If a bar has no gap, the member kept consuming. "
        "Periods without rebalances are shortened."
    )
    says += (
        f" {left_out:,} members are not shown: those that were in the group for the shortest time." if left_out else ""
    )
    says += f" {unread} older rebalances are still being read." if unread else ""
    pictures = f'<div class="roomy">{picture(columns, running, WIDE, _TITLE)}</div>{_slim(columns, running)}'
    return figure(_TITLE, pictures, says=says, below=below, data=_table(columns, rows), wide=True)


def _slim(columns: Sequence[TimelineColumn], running: RunningRebalance | None) -> str:
    """Return the picture for narrow screens: the last columns, and a note on the columns and members left out."""
    last = columns[-SLIM.columns :]
    if not any(column.held for column in last):
        return f'<p class="slim">The group had no members after the last {plural(len(last), "rebalance")}.</p>'
    _, left_out = member_rows(last, SLIM)
    more = [plural(len(columns) - len(last), "more rebalance")] if len(columns) > len(last) else []
    more += [plural(left_out, "more member")] if left_out else []
    omitted = f"<p>A wider screen shows {' and '.join(more)}.</p>" if more else ""
    return f'<div class="slim">{picture(last, running, SLIM, _TITLE)}{omitted}</div>'


def _triggers(columns: Sequence[TimelineColumn]) -> set[Trigger]:
    return {column.trigger for column in columns}


def _table(columns: Sequence[TimelineColumn], rows: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    last = columns[-TABLE_COLUMNS:]
    head = ["member", *(f"gen. {column.last:,} {time_of_day(column.at_ms)}" for column in last)]
    body = [["why", *(trigger_name(column.trigger) for column in last)]]
    body.append(["longest stall", *(stall_text(column.stall) if column.stall else "unknown" for column in last)])
    for member in rows:
        counts = [column.held.get(member) for column in last]
        if any(counts):
            body.append([shortened(member), *(str(held.partitions) if held else DASH for held in counts)])
    return head, body
