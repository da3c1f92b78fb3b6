"""Writes HTML pieces: names and CSS classes of triggers, key figures, legends, figures with data tables, tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rebalance_agent.model.episode import Trigger
from rebalance_agent.ui.words import escaped

__all__ = ["TABLE_ROWS_MAX", "figure", "key_figures", "legend", "table", "table_parts", "trigger_class", "trigger_name"]

TABLE_ROWS_MAX = 60
"""Maximum number of rows of a figure's data table, which users read; all rows are in the pipeline's tables."""

_NAMES = {
    Trigger.GROUP_STARTED: "group started",
    Trigger.MEMBER_FAILED: "member failed",
    Trigger.MEMBER_LEFT: "member left",
    Trigger.MEMBER_GONE: "member gone (left or failed)",
    Trigger.MEMBER_REPLACED: "member replaced",
    Trigger.MEMBER_JOINED: "member joined",
    Trigger.SUBSCRIPTION_CHANGED: "subscription changed",
    Trigger.ASSIGNOR_CHANGED: "assignor changed",
    Trigger.TOPICS_CHANGED: "topics changed",
    Trigger.PARTITIONS_CHANGED: "partitions added",
    Trigger.RACKS_CHANGED: "racks changed",
    Trigger.REJOIN: "rejoin without a change",
    Trigger.UNKNOWN: "unknown",
}


def trigger_name(trigger: str) -> str:
    """Return a trigger in words; an unknown trigger (from a newer release) is returned unchanged."""
    return _NAMES[Trigger(trigger)] if trigger in _NAMES else trigger


def trigger_class(trigger: str) -> str:
    """Return the CSS class that has a trigger's colour."""
    shown = Trigger(trigger) if trigger in _NAMES else Trigger.UNKNOWN
    return f"t-{shown.value.replace('_', '-')}"


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Return a legend in one line; ``entries``: (CSS class, text)."""
    items = "".join(
        f'<li><svg viewBox="0 0 12 12" aria-hidden="true"><rect width="12" height="12" rx="3" class="{kind}"/></svg>'
        f"{escaped(words)}</li>"
        for kind, words in entries
    )
    return f'<ul class="legend">{items}</ul>'


def key_figures(figures: Iterable[tuple[str, str, str]]) -> str:
    """Return tiles with a page's most important numbers; ``figures``: label, value and note."""
    items = "".join(
        f"<div><dt>{escaped(label)}</dt><dd>{escaped(value)}</dd><dd>{escaped(note)}</dd></div>"
        for label, value, note in figures
    )
    return f'<dl class="tiles">{items}</dl>'


def figure(
    title: str,
    picture: str,
    *,
    says: str = "",
    below: str = "",
    data: tuple[Sequence[str], Sequence[Sequence[str]]] | None = None,
    wide: bool = False,
) -> str:
    """Return a figure: title, its text ``says``, picture, HTML ``below``, and ``data`` (headings, rows) to unfold."""
    description = f"<p>{escaped(says)}</p>" if says else ""
    rows = ""
    if data and data[1]:
        left_out = len(data[1]) - TABLE_ROWS_MAX
        more = f"<p>{left_out:,} more rows are in the tables.</p>" if left_out > 0 else ""
        shown = table(data[0], data[1][:TABLE_ROWS_MAX])
        rows = f'<details class="data"><summary>as a table</summary>{shown}{more}</details>'
    kind = ' class="wide"' if wide else ""
    return (
        f"<figure{kind}><figcaption><h3>{escaped(title)}</h3>{description}</figcaption>{picture}{below}{rows}</figure>"
    )


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts; the first cell of a row is its heading."""
    return f'<div class="scroll"><table>{table_parts(headings, (map(escaped, row) for row in rows))}</table></div>'


def table_parts(headings: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Return head and body of a table; ``rows``: HTML of cells; the first cell of a row is the row's heading."""
    head = "".join(f'<th scope="col">{escaped(heading)}</th>' for heading in headings)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>' for first, *rest in rows
    )
    return f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
