"""Prints the demo's progress; on a terminal, a live view is below the progress."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TextIO

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.table import Column, Table
from rich.text import Text

from rebalance_agent.api.shapes import GroupList, GroupSummary
from rebalance_agent.demo.observed.summary import Summary
from rebalance_agent.demo.screens.closing_tables import (
    DEPLOY_HEADINGS,
    DEPLOY_TITLE,
    STEP_HEADINGS,
    deploy_rows,
    step_rows,
    summary_table,
)
from rebalance_agent.demo.screens.fitted_table import fitted_lines
from rebalance_agent.demo.step_schedule import StepRun, StepStatus
from rebalance_agent.ui.sentences.group_table import COLUMNS, group_rows, groups_text
from rebalance_agent.ui.sentences.host_spread_text import one_host_text

__all__ = ["Board", "Screen", "draw"]

FRAMES_PER_SECOND = 4

PLAIN_CHARACTERS = 200
"""Width of tables if standard output is not a terminal, unless ``COLUMNS`` is set."""

TALL_LINES = 45
"""Minimum number of lines of a terminal that has room for addresses, groups and all steps."""

CELL_PADDING = 2
"""Characters between two columns of the live table."""

_MARKS = {
    StepStatus.WAITING: ("  ", "dim"),
    StepStatus.RUNNING: ("> ", "bold yellow"),
    StepStatus.OVER: ("✓ ", "green"),
    StepStatus.FAILED: ("! ", "bold red"),
}


@dataclass(frozen=True, slots=True)
class Board:
    """The state at ``elapsed_seconds`` after the broker was ready; ``addresses``: Kafka, the page, metrics."""

    elapsed_seconds: float
    addresses: Mapping[str, str]
    groups: GroupList
    steps: Sequence[StepRun]


class Screen:
    """Prints texts and tables to ``stream``; ``live``: the latest board is below them, on a terminal."""

    def __init__(self, stream: TextIO, *, live: bool) -> None:
        """Print nothing yet."""
        known = live or stream.isatty() or "COLUMNS" in os.environ
        self._console = Console(file=stream, width=None if known else PLAIN_CHARACTERS)
        self._live = Live(console=self._console, refresh_per_second=FRAMES_PER_SECOND, transient=True) if live else None
        self._statuses: dict[str, StepStatus] = {}

    def __enter__(self) -> Self:
        """Start the live view."""
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        """Stop the live view and restore the terminal."""
        if self._live:
            self._live.stop()

    def say(self, text: str) -> None:
        """Print ``text``."""
        self._console.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table that fits the terminal's width; the last columns that do not fit follow below each row."""
        self.say("\n".join(["", *fitted_lines(headings, rows, self._console.width)]))

    def show(self, board: Board) -> None:
        """Print the steps whose status changed, and the groups before the first step. Update the live view."""
        for run in board.steps:
            if run.status != self._statuses.get(run.step.name, StepStatus.WAITING):
                if not self._statuses:
                    lines = [groups_text(group_rows(board.groups)), *_host_texts(board.groups.groups)]
                    self.say("\n{}\n".format("\n".join(lines)))
                self._statuses[run.step.name] = run.status
                self.say(f"{board.elapsed_seconds:6.1f} s  {_step_text(run)}")
        if self._live:
            self._live.update(draw(board))

    def close(self, summary: Summary) -> None:
        """Replace the live view with the closing tables, the differences and the notes."""
        self.__exit__()
        self.table(*summary_table(summary))
        self.table(STEP_HEADINGS, step_rows(summary))
        if deploys := deploy_rows(summary):
            self.say(f"\n{DEPLOY_TITLE}")
            self.table(DEPLOY_HEADINGS, deploys)
        for line in summary.differences:
            self.say(f"difference: {line}")
        for note in summary.notes:
            self.say(note)


@dataclass(frozen=True, slots=True)
class _GroupTable:
    """The table of `watch`. As in `watch`, the last columns are left out if the terminal is too narrow for them."""

    board: Board

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, as wide as ``options`` allow."""
        rows = group_rows(self.board.groups)
        widths = (
            max(len(text) for text in (column.title, *(row.cells[index] for row in rows))) + CELL_PADDING
            for index, column in enumerate(COLUMNS)
        )
        fitting = sum(end <= options.max_width + CELL_PADDING for end in itertools.accumulate(widths))
        columns = (
            Column(column.title, justify="right" if column.right else "left", no_wrap=True)
            for column in COLUMNS[:fitting]
        )
        title = f"{self.board.elapsed_seconds:.0f} s"
        table = Table(
            *columns, box=SIMPLE_HEAD, title=title, title_justify="left", show_edge=False, padding=(0, 1, 0, 0)
        )
        for row in rows:
            table.add_row(*map(Text, row.cells[:fitting], row.styles))
        yield table


def draw(board: Board) -> RenderableType:
    """Return the board as a rich renderable: addresses, groups in the form of `watch`, steps."""
    addresses = Columns([Text(f"{name} {url}", "dim") for name, url in board.addresses.items()], padding=(0, 2))
    hosts = map(Text, _host_texts(board.groups.groups))
    return Group(_Tall(addresses), _GroupTable(board), _Tall(*hosts), "", _Steps(board.steps))


@dataclass(frozen=True, slots=True)
class _Steps:
    """All steps; on a short terminal, the running steps and the next one."""

    runs: Sequence[StepRun]

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield a line for each step."""
        waiting = [run for run in self.runs if run.status is StepStatus.WAITING]
        current = [run for run in self.runs if run.running] + waiting[:1]
        steps = Table.grid()
        for run in self.runs if _is_tall(options) else current:
            text = Text.assemble((f"{run.step.name}: ", "bold"), _happening(run))
            if run.status is StepStatus.WAITING:
                text.stylize("dim")
            steps.add_row(Text(*_MARKS[run.status]), text)
        yield steps


class _Tall:
    """Parts for which a short terminal has no room: they were printed before."""

    def __init__(self, *parts: RenderableType) -> None:
        self._parts = parts

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts on a tall terminal."""
        if _is_tall(options):
            yield from self._parts


def _is_tall(options: ConsoleOptions) -> bool:
    return options.size.height >= TALL_LINES


def _happening(run: StepRun) -> str:
    return run.problem if run.status is StepStatus.FAILED else run.step.text


def _step_text(run: StepRun) -> str:
    if run.status is StepStatus.OVER:
        return "; ".join([f"  {run.step.name}: over", *_host_texts(run.ended.values())])
    mark, _ = _MARKS[run.status]
    return f"{mark}{run.step.name}: {_happening(run)}"


def _host_texts(groups: Iterable[GroupSummary]) -> list[str]:
    return [f"{group.group}: {one_host_text(group.host_spread)}" for group in groups if group.host_spread]
