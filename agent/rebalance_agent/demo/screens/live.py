"""The live view on a terminal, rendered by rich."""

from __future__ import annotations

from typing import Self, TextIO

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Column, Table
from rich.text import Text

from rebalance_agent.demo.observed.summary import OK, Summary
from rebalance_agent.demo.screens.board import (
    GROUP_HEADINGS,
    STEP_HEADINGS,
    SUMMARY_HEADINGS,
    Board,
    StepStatus,
    step_rows,
    summary_rows,
)

__all__ = ["LiveScreen", "draw"]

FRAMES_PER_SECOND = 4

_STATES = {"Stable": "green", "Preparing": "bold yellow", "Completing": "yellow"}
_MARKS = {
    StepStatus.WAITING: Text("  ", "dim"),
    StepStatus.RUNNING: Text("> ", "bold yellow"),
    StepStatus.OVER: Text("✓ ", "green"),
    StepStatus.FAILED: Text("! ", "bold red"),
}


class LiveScreen:
    """Renders the latest board in place; other text is printed above it."""

    def __init__(self, stream: TextIO) -> None:
        """Render to ``stream``, a terminal."""
        self._console = Console(file=stream)
        self._live = Live(console=self._console, refresh_per_second=FRAMES_PER_SECOND, transient=True)

    def __enter__(self) -> Self:
        """Start rendering."""
        self._live.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        """Stop rendering and restore the terminal."""
        self._live.stop()

    def say(self, text: str) -> None:
        """Print ``text`` above the view."""
        self._console.print(text, markup=False, highlight=False)

    def show(self, board: Board) -> None:
        """Render this board from now on."""
        self._live.update(draw(board))

    def close(self, summary: Summary) -> None:
        """Replace the view by the closing tables and the differences."""
        self._live.stop()
        self._console.print(_closing("groups", SUMMARY_HEADINGS, summary_rows(summary)))
        self._console.print(_closing("timetable", STEP_HEADINGS, step_rows(summary)))
        for line in summary.differences:
            self._console.print(Text(f"difference: {line}", "bold red"))


def draw(board: Board) -> RenderableType:
    """Return the board as a rich renderable: addresses, groups, timetable."""
    addresses = Columns([Text(f"{name} {address}", "dim") for name, address in board.addresses], padding=(0, 2))
    title = f"{board.elapsed_seconds:.0f} s"
    groups = Table(*GROUP_HEADINGS, box=SIMPLE_HEAD, title=title, title_justify="left")
    for line in board.groups:
        groups.add_row(*(Text(cell, _STATES.get(cell, "")) for cell in line.cells))
    steps = Table.grid()
    for step in board.steps:
        text = Text.assemble((f"{step.name}: ", "bold"), step.problem or step.text)
        if step.status is StepStatus.WAITING:
            text.stylize("dim")
        steps.add_row(_MARKS[step.status], text)
    return Group(addresses, groups, steps)


def _closing(title: str, headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    columns = (Column(name, no_wrap=name in ("group", "seen as"), overflow="fold") for name in headings)
    table = Table(*columns, box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for *cells, check in rows:
        table.add_row(*cells, Text(check, "green" if check == OK else ""))
    return table
