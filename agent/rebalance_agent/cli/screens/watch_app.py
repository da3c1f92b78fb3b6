"""The application of `watch`: a live table of groups on a terminal, with Textual."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Input, Static

from rebalance_agent.api.group_source import GroupSource
from rebalance_agent.api.query import GroupQuery
from rebalance_agent.api.routes import LIMIT_MAX
from rebalance_agent.api.shapes import GroupList
from rebalance_agent.cli.screens.watch_group import GroupScreen, caution
from rebalance_agent.cli.screens.watch_poll import Poller
from rebalance_agent.cli.screens.watch_rows import Rows
from rebalance_agent.ui.sentences.group_table import COLUMNS, WatchRow, group_rows, matching, urgent_lines
from rebalance_agent.ui.words import plural, printable

__all__ = ["GroupsScreen", "WatchApp"]

ROWS_MAX = 500
"""Maximum number of rows on screen; drawing more rows would take longer than the interval between polls."""


class WatchApp(App[None]):
    """The application: a screen with all groups, and a screen above it for an opened group."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "quit", "Quit", show=False, priority=True)]
    ENABLE_COMMAND_PALETTE = False
    TITLE = "rebalance-agent watch"
    CSS = """
    #status { height: auto; padding: 0 1; }
    #filter { display: none; height: 3; }
    #filter.open { display: block; }
    DataTable { height: 1fr; }
    .title { height: auto; padding: 1 1 0 1; text-style: bold; }
    """

    def __init__(self, first: Screen[None]) -> None:
        """Create the application. ``first``: the screen that it shows first."""
        super().__init__()
        self._first = first

    def on_mount(self) -> None:
        """Show the screen with all groups."""
        self.push_screen(self._first)


class GroupsScreen(Screen[None]):
    """The table of all groups: first groups that lost all their members, then rebalancing groups, then the others."""

    AUTO_FOCUS = "#groups"  # by default the filter has the focus until the screen is complete, and gets the first keys
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "app.quit", "Quit"),
        Binding("slash", "filter", "Filter"),
        Binding("s", "order", "Order"),
        Binding("r", "turn", "Reverse"),
        Binding("escape", "close_filter", "No filter", show=False),
    ]

    def __init__(
        self,
        groups: GroupSource,
        caveat: Callable[[], str] = str,
        filter_text: str = "",
        sort: str = "group",
        interval: float = 1.0,
    ) -> None:
        """``caveat`` returns why the data may be incomplete or out of date; ``filter_text``: the initial filter."""
        super().__init__()
        self._groups = groups
        self._caveat = caveat
        self._caution = ""
        self._filter_text = filter_text
        self._sort = sort
        self._interval = interval
        self._answer: GroupList | None = None
        self._error = ""
        query = GroupQuery(limit=LIMIT_MAX)
        self._poller = Poller(self, lambda: (groups.groups(query), caveat()), interval, self._show, self._fail)

    def compose(self) -> ComposeResult:
        """Return the status line, the filter, the table and the line of keys."""
        yield Static("connecting ...", id="status", markup=False)
        yield Input(self._filter_text, placeholder="part of a group's name, or a pattern such as orders-*", id="filter")
        yield DataTable(id="groups", cursor_type="row", zebra_stripes=True)
        yield Footer()

    def on_mount(self) -> None:
        """Start polling."""
        self._rows = Rows(self.query_one(DataTable))
        self._draw()
        self._poller.start()

    def on_unmount(self) -> None:
        """Stop polling."""
        self._poller.stop()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Apply the filter while the user types it."""
        self._filter_text = event.value
        self._draw()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Move the focus back to the table; the filter stays."""
        self.query_one(DataTable).focus()

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        """Sort by the clicked column; a second click reverses the order."""
        column = COLUMNS[event.column_index].sort
        self._sort = f"-{column}" if self._sort == column else column
        self._draw()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open the selected group."""
        if event.row_key.value is not None:
            self.app.push_screen(GroupScreen(self._groups, event.row_key.value, self._interval, self._caveat))

    def action_filter(self) -> None:
        """Open the filter's input field."""
        box = self.query_one("#filter", Input)
        box.add_class("open")
        box.focus()

    def action_close_filter(self) -> None:
        """Clear and close the filter."""
        box = self.query_one("#filter", Input)
        box.value = ""
        box.remove_class("open")
        self.query_one(DataTable).focus()

    def action_order(self) -> None:
        """Sort by the next column."""
        keys = [column.sort for column in COLUMNS]
        self._sort = keys[(keys.index(self._key) + 1) % len(keys)] if self._key in keys else keys[0]
        self._draw()

    def action_turn(self) -> None:
        """Reverse the order."""
        self._sort = self._key if self._sort.startswith("-") else f"-{self._key}"
        self._draw()

    def _show(self, polled: tuple[GroupList, str]) -> None:
        (self._answer, self._caution), self._error = polled, ""
        self._draw()

    def _fail(self, reason: str) -> None:
        """Show the error in the status line; the table stays, and polling continues."""
        self._error = reason
        self._draw()

    @property
    def _key(self) -> str:
        return self._sort.removeprefix("-")

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        all_rows = group_rows(self._answer, self._sort) if self._answer else []
        rows = matching(all_rows, self._filter_text)
        mark = "▼" if self._sort.startswith("-") else "▲"
        # Other columns reserve no space for the mark, so each of them needs two characters less.
        titles = [f"{column.title} {mark}" if column.sort == self._key else column.title for column in COLUMNS]
        self._rows.show(titles, [(row.group, _cells(row)) for row in rows[:ROWS_MAX]])
        self.query_one("#status", Static).update(self._status(all_rows, rows))

    def _status(self, all_rows: Sequence[WatchRow], rows: Sequence[WatchRow]) -> Text:
        if self._error:
            return Text(f"{printable(self._error)}; retrying", "bold red")
        if self._answer is None:
            return Text("connecting ...", "dim")
        line = f"{plural(len(all_rows), 'group')}, {sum(row.running for row in all_rows)} rebalancing"
        if self._filter_text:
            line += f", {len(rows)} shown ({printable(self._filter_text)})"
        if len(rows) > ROWS_MAX:
            line += f", the first {ROWS_MAX} of them"
        text = caution(self._caution).append(line, "bold")
        for urgent in urgent_lines(rows):
            text.append(f"\n{urgent}", "bold red")
        return text


def _cells(row: WatchRow) -> list[Text]:
    return [
        Text(cell, style, justify="right" if column.right else "left")
        for column, cell, style in zip(COLUMNS, row.cells, row.styles, strict=True)
    ]
