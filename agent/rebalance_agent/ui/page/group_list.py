"""Writes the list of groups: those with the worst problems first, a hundred per page."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import quote, urlencode

from rebalance_agent.api.history import HistoryLimits
from rebalance_agent.api.query import GroupQuery
from rebalance_agent.api.routes import MATCH_MAX, OFFSET_MAX, SORT_KEYS
from rebalance_agent.api.shapes import GroupSummary, values_of
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.metrics.short_names import short_name
from rebalance_agent.model.baseline import AdviceSavings
from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupState
from rebalance_agent.ui.page.page_frame import ago, chips, note, unknown
from rebalance_agent.ui.page.savings_note import savings_note
from rebalance_agent.ui.page.trouble import Level, RecentRebalances, Trouble, trouble
from rebalance_agent.ui.sentences.group_table import text_without_rebalance
from rebalance_agent.ui.svg.pieces import trigger_name
from rebalance_agent.ui.words import escaped, plural, printable, shortened, stall_text

__all__ = ["PAGE_ROWS", "FleetSummary", "ListQuery", "group_link", "listing", "parsed_query"]

PAGE_ROWS = 100
"""Groups per page: as many as a user reads, and about 60 kB before compression."""

RUNNING = "running"
"""Value of the parameter ``state`` for all groups that are rebalancing now."""

_REMEMBERED = HistoryLimits().rebalances
_WORST, _HOUR = "worst", "hour"
_NONE = "none yet"
_COLUMNS = (
    ("group", "group", "Group"),
    ("worst", "worst", "Problem"),
    ("state", "state", "State"),
    ("-members", "members", "Members"),
    ("-skew", "skew", "Skew"),
    ("-stall", "stall", "Last stall"),
    ("-hour", "hour", "Rebalances in 1 h"),
    ("-last", "last", "Last rebalance"),
)
_NUMBERS = frozenset(("members", "skew", "stall", "hour"))


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Parameters of the page's URL. ``match``: part of a name, or a shell pattern; ``state``: empty for any state."""

    match: str = ""
    state: str = ""
    sort: str = _WORST
    offset: int = 0

    def address(self, **changes: object) -> str:
        """Return the URL of this query with ``changes``; the first group is first unless ``offset`` is changed."""
        other = replace(self, **{"offset": 0, **changes})  # type: ignore[arg-type]
        given = {key: getattr(other, key) for key in ("match", "state", "sort", "offset")}
        usual = {key: getattr(_USUAL, key) for key in given}
        query = urlencode({key: value for key, value in given.items() if value != usual[key]})
        return f"./?{query}" if query else "./"


_USUAL = ListQuery()


class FleetSummary(NamedTuple):
    """``groups`` of ``total``; ``past``: group -> recent rebalances, for groups that rebalanced in the last hour.

    ``savings``: what recommended changes save in ``groups``.
    """

    groups: Sequence[GroupSummary]
    total: int
    past: Mapping[str, RecentRebalances]
    now_ms: int
    savings: AdviceSavings | None = None


class _Row(NamedTuple):
    group: GroupSummary
    hour: int
    trouble: Trouble


def parsed_query(parameters: Mapping[str, str]) -> ListQuery:
    """Return the validated query of the address's parameters.

    Raises:
        InvalidInputError: a parameter is invalid; the error names it.
    """
    match, state = parameters.get("match", ""), parameters.get("state", "")
    sort, offset = parameters.get("sort", _WORST), parameters.get("offset", "0")
    if len(match) > MATCH_MAX:
        raise InvalidInputError("match", f"must have at most {MATCH_MAX} characters")
    if state and state != RUNNING and state not in values_of(GroupState):
        raise InvalidInputError("state", f"must be {RUNNING} or one of {', '.join(values_of(GroupState))}")
    if sort.removeprefix("-") not in {_WORST, _HOUR, *SORT_KEYS}:
        raise InvalidInputError("sort", f"must be one of {', '.join((_WORST, _HOUR, *SORT_KEYS))}")
    if not (offset.isascii() and offset.isdigit() and len(offset) <= len(str(OFFSET_MAX))):
        raise InvalidInputError("offset", f"must be a whole number up to {OFFSET_MAX}")
    return ListQuery(match, state, sort, int(offset))


def group_link(group: str) -> str:
    """Return the address of a group's page; the name is a parameter, since browsers resolve ``..`` in paths.

    Long names are shortened as on /metrics: a name in Kafka may be four times as long as a URL may be.
    """
    return f"group?name={quote(short_name(group), safe='', errors='surrogatepass')}"


def listing(fleet: FleetSummary, query: ListQuery) -> tuple[str, str]:
    """Return the page's title and HTML: totals, the form for the query, the groups."""
    rows = [_row(group, fleet) for group in fleet.groups]
    critical = sum(row.trouble.level is Level.CRITICAL for row in rows)
    title = plural(critical, "critical group") if critical else "groups"
    selected = _ordered(list(filter(_chooser(query), rows)), query.sort)
    page = selected[query.offset : query.offset + PAGE_ROWS]
    return title, (
        f"<h1>Consumer groups</h1>{_numbers(fleet, rows, critical)}{savings_note(fleet.savings)}"
        f'<section aria-label="Groups">'
        f"{_form(query)}{_count_line(query, selected, rows)}"
        f"{_table(page, query) if page else ''}{_pages(query, len(selected))}</section>"
    )


def _row(group: GroupSummary, fleet: FleetSummary) -> _Row:
    recent = fleet.past.get(group.group, RecentRebalances())
    return _Row(group, recent.hour, trouble(group, recent, fleet.now_ms))


def _numbers(fleet: FleetSummary, rows: Sequence[_Row], critical: int) -> str:
    beyond = fleet.total - len(rows)
    more = f"This page lists the first {len(rows):,} groups by name. {beyond:,} more are only in the API."
    warnings = sum(row.trouble.level is Level.WARNING for row in rows)
    return chips(
        (
            ("groups", f"{fleet.total:,}"),
            ("critical", f'<span class="{"critical" if critical else "ok"}">{critical:,}</span>'),
            ("warning", f"{warnings:,}"),
            ("rebalancing now", f"{sum(row.group.running is not None for row in rows):,}"),
            ("rebalances in the last hour", f"{sum(row.hour for row in rows):,}"),
        )
    ) + (note(more, "warning") if beyond > 0 else "")


def _form(query: ListQuery) -> str:
    states = (("", "any state"), (RUNNING, "rebalancing now"), *((state, state) for state in values_of(GroupState)))
    options = "".join(
        f'<option value="{escaped(value)}"{" selected" if value == query.state else ""}>{escaped(text)}</option>'
        for value, text in states
    )
    return (
        '<form id="wanted" method="get" action="./" role="search" aria-label="Groups">'
        f'<label>Name <input type="search" name="match" value="{escaped(query.match)}" maxlength="{MATCH_MAX}" '
        'placeholder="part of a name, or orders-*" autocomplete="off"></label>'
        f'<label>State <select name="state">{options}</select></label>'
        f'<input type="hidden" name="sort" value="{escaped(query.sort)}"><button type="submit">Show</button></form>'
    )


def _count_line(query: ListQuery, selected: Sequence[_Row], rows: Sequence[_Row]) -> str:
    if not rows:
        return note("No groups yet. A group is listed as soon as the coordinator has a record of it.")
    if not selected:
        return note(f'None of the {len(rows):,} groups matches. <a href="./">Show all</a>')
    first, last = query.offset + 1, min(query.offset + PAGE_ROWS, len(selected))
    total = f"{len(selected):,} groups"
    count = f"{first:,} to {last:,} of {total}" if len(selected) > PAGE_ROWS else total
    order = next((title for _, key, title in _COLUMNS if key == query.sort.removeprefix("-")), query.sort)
    return f'<p class="found">{count}, by {escaped(order.lower())}</p>'


def _table(rows: Sequence[_Row], query: ListQuery) -> str:
    head = "".join(_heading(first, key, title, query) for first, key, title in _COLUMNS)
    body = "".join(f'<tr class="l{row.trouble.level.value}">{_cells(row)}</tr>' for row in rows)
    return (
        '<div class="scroll wide" role="region" tabindex="0" aria-label="Groups"><table class="groups">'
        f'<caption class="sr">Consumer groups</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _heading(first: str, key: str, title: str, query: ListQuery) -> str:
    is_current = query.sort.removeprefix("-") == key
    other = query.sort.removeprefix("-") if query.sort.startswith("-") else f"-{query.sort}"
    link = query.address(sort=other if is_current else first)
    down = query.sort.startswith("-") or query.sort == _WORST
    state = f' aria-sort="{"descending" if down else "ascending"}"' if is_current else ""
    kind = ' class="n"' if key in _NUMBERS else ""
    return f'<th scope="col"{state}{kind}><a href="{escaped(link)}">{escaped(title)}</a></th>'


def _cells(row: _Row) -> str:
    group = row.group
    name, link = escaped(shortened(printable(group.group))), group_link(group.group)
    linked = f'<a href="{escaped(link)}">{name}</a>'
    polled = "" if group.source is not Source.ADMIN else ' <span class="unknown">(only polled)</span>'
    since = f' <span data-since="{group.running.started_ms}"></span>' if group.running else ""
    why = "; ".join(map(escaped, row.trouble.why))
    mark = {Level.CRITICAL: "critical", Level.WARNING: "warning", Level.OK: "ok"}[row.trouble.level]
    skew = unknown() if group.skew_ratio is None else f"{group.skew_ratio:.2f}"
    hour = f"{row.hour:,}" + ("+" if row.hour >= _REMEMBERED else "")
    return (
        f'<th scope="row">{linked}</th>'
        f'<td><span class="level {mark}">{mark}</span> {why}</td>'
        f"<td>{escaped(group.state)}{since}{polled}</td>"
        f'<td class="n">{group.members:,}</td>'
        f'<td class="n">{skew}</td>'
        f'<td class="n">{_stall(group)}</td><td class="n">{hour}</td><td>{_last(group)}</td>'
    )


def _stall(group: GroupSummary) -> str:
    if (last := group.last) is None:
        return text_without_rebalance(group, _NONE)
    return escaped(stall_text(last.stall)) if last.stall else unknown()


def _last(group: GroupSummary) -> str:
    if (last := group.last) is None:
        return text_without_rebalance(group, _NONE)
    return f"{ago(last.timestamp_ms)}: {escaped(trigger_name(last.trigger))}"


def _pages(query: ListQuery, total: int) -> str:
    links = []
    if query.offset:
        before = query.address(offset=max(0, query.offset - PAGE_ROWS))
        links.append(f'<a rel="prev" href="{escaped(before)}">Previous {PAGE_ROWS}</a>')
    if query.offset + PAGE_ROWS < total:
        after = query.address(offset=query.offset + PAGE_ROWS)
        links.append(f'<a rel="next" href="{escaped(after)}">Next {PAGE_ROWS}</a>')
    return f'<nav class="pages" aria-label="More groups">{"".join(links)}</nav>' if links else ""


def _chooser(query: ListQuery) -> Callable[[_Row], bool]:
    text = query.match if re.search(r"[*?\[]", query.match) else f"*{query.match}*"
    matches = re.compile(fnmatch.translate(text), re.IGNORECASE).match

    def chosen(row: _Row) -> bool:
        state = (
            not query.state
            or (query.state == RUNNING and row.group.running is not None)
            or row.group.state == query.state
        )
        return state and (not query.match or matches(row.group.group) is not None)

    return chosen


def _ordered(rows: list[_Row], sort: str) -> list[_Row]:
    key = sort.removeprefix("-")
    if key not in (_WORST, _HOUR):
        by_name = {row.group.group: row for row in rows}
        return [by_name[group.group] for group in GroupQuery(sort=sort).ordered([row.group for row in rows])]
    rows.sort(key=lambda row: row.group.group)
    if key == _HOUR:
        rows.sort(key=lambda row: row.hour, reverse=sort.startswith("-"))
    else:
        rows.sort(key=lambda row: (row.trouble.level, row.trouble.weight), reverse=not sort.startswith("-"))
    return rows
