"""The screen of one group: its last rebalances, its members, and the moves of the last rebalance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static

from rebalance_agent.api.group_source import GroupSource
from rebalance_agent.cli.screens.watch_detail import DetailPoll
from rebalance_agent.cli.screens.watch_poll import Poller
from rebalance_agent.cli.screens.watch_rows import Rows
from rebalance_agent.ui.sentences.group_detail import (
    MOVE_HEADINGS,
    REBALANCE_HEADINGS,
    GroupCloseUp,
    headline,
    member_table,
    move_rows,
    moves_title,
    rebalance_rows,
)
from rebalance_agent.ui.words import printable

__all__ = ["GroupScreen", "caution"]

MEMBERS_MAX = 500
"""Maximum number of members on the screen; the most loaded members come first."""


def caution(caveat: str) -> Text:
    """Return the line above the others with the ``caveat`` about the data; empty without one."""
    return Text(f"{printable(caveat)}\n", "yellow") if caveat else Text()


class GroupScreen(Screen[None]):
    """The screen of the group ``name``; the group is polled while the screen is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "app.quit", "Quit"),
        Binding("escape", "app.pop_screen", "Back"),
        Binding("tab", "app.focus_next", "Next table"),
    ]

    def __init__(self, groups: GroupSource, name: str, interval: float, caveat: Callable[[], str] = str) -> None:
        """Create the screen. ``interval``: seconds between polls, which start when the screen is shown.

        ``caveat`` returns why the data may be incomplete or out of date; empty: it is neither.
        """
        super().__init__()
        self._group = name
        detail = DetailPoll(groups, name)
        self._poller = Poller(self, lambda: (detail(), caveat()), interval, self._show, self._fail)

    def compose(self) -> ComposeResult:
        """Return a headline and three tables, one below the other."""
        yield Static(Text(printable(self._group), "bold"), id="status")
        yield Static("last rebalances", classes="title")
        yield DataTable(id="rebalances", cursor_type="row")
        yield Static("members", classes="title", id="members_title")
        yield DataTable(id="members", cursor_type="row")
        yield Static("moves", classes="title", id="moves_title", markup=False)
        yield DataTable(id="moves", cursor_type="row")
        yield Footer()

    def on_mount(self) -> None:
        """Start polling."""
        self._tables = {
            name: Rows(self.query_one(f"#{name}", DataTable)) for name in ("rebalances", "members", "moves")
        }
        self._poller.start()

    def on_unmount(self) -> None:
        """Stop polling."""
        self._poller.stop()

    def _show(self, polled: tuple[GroupCloseUp, str]) -> None:
        close_up, caveat = polled
        self._head(headline(close_up), "", caveat)
        self._fill("rebalances", REBALANCE_HEADINGS, rebalance_rows(close_up))
        (headings, members), moved = member_table(close_up), move_rows(close_up)
        self._fill("members", headings, members[:MEMBERS_MAX])
        self._fill("moves", MOVE_HEADINGS, moved)
        more = f" (the first {MEMBERS_MAX} of {len(members)})" if len(members) > MEMBERS_MAX else ""
        self.query_one("#members_title", Static).update(f"members{more}")
        self.query_one("#moves_title", Static).update(moves_title(close_up, moved))

    def _fail(self, reason: str) -> None:
        """Show the error in the headline; the tables stay, and polling continues."""
        self._head(f"{printable(reason)}; retrying", "bold red")

    def _head(self, lines: str, style: str, caveat: str = "") -> None:
        text = caution(caveat).append(printable(self._group), "bold")
        text.append(f"\n{lines}", style or "not bold")
        self.query_one("#status", Static).update(text)

    def _fill(self, table: str, titles: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
        # Rows have no ids, so the index of a row is its key.
        self._tables[table].show(titles, [(str(index), [Text(cell) for cell in row]) for index, row in enumerate(rows)])
