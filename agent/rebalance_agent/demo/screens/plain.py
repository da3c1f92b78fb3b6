"""The screen without a terminal: prints one line for each change."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TextIO

from rebalance_agent.demo.observed.journal import slowest_client
from rebalance_agent.demo.observed.summary import Summary
from rebalance_agent.demo.screens.board import (
    GROUP_HEADINGS,
    STEP_HEADINGS,
    SUMMARY_HEADINGS,
    Board,
    GroupLine,
    StepLine,
    StepStatus,
    step_rows,
    summary_rows,
    table_text,
)
from rebalance_agent.ui.words import stall_with_basis

__all__ = ["PlainScreen"]


class PlainScreen:
    """Prints what is new on each board, and tables at the start of the timetable and at the end."""

    def __init__(self, stream: TextIO) -> None:
        """Print to ``stream``."""
        self._stream = stream
        self._steps: dict[str, StepStatus] = {}
        self._episodes: dict[str, tuple[str, int]] = {}
        self._tabled = False

    def __enter__(self) -> Self:
        """Return self; there is nothing to set up."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing; there is nothing to clean up."""

    def say(self, text: str) -> None:
        """Print ``text``."""
        print(text, file=self._stream, flush=True)

    def show(self, board: Board) -> None:
        """Print the steps whose status changed, and the episodes that are new or revised."""
        at = f"{board.elapsed_seconds:6.1f} s  "
        if not self._tabled and any(step.status is not StepStatus.WAITING for step in board.steps):
            self._tabled = True
            self.say("\n" + table_text(GROUP_HEADINGS, [line.cells for line in board.groups]) + "\n")
        for step in board.steps:
            if self._steps.get(step.name, StepStatus.WAITING) != step.status:
                self._steps[step.name] = step.status
                self.say(at + _step_text(step))
        for group in board.groups:
            text = self._episode_text(group)
            if text:
                self.say(at + text)

    def _episode_text(self, line: GroupLine) -> str:
        event = line.episode
        key = (event.event_id, event.revision) if event else None
        if event is None or key is None or self._episodes.get(line.name) == key:
            return ""
        self._episodes[line.name] = key
        slowest = slowest_client(event)
        return (
            f"{line.name}: generation {event.generation}, {event.trigger}, stall {stall_with_basis(event.stall)}, "
            f"moved {event.moved}"
            + (f", slowest {slowest}" if slowest else "")
            + (" (revised)" if event.revision else "")
        )

    def close(self, summary: Summary) -> None:
        """Print the closing tables and the differences."""
        self.say("\n" + table_text(SUMMARY_HEADINGS, summary_rows(summary)))
        self.say("\n" + table_text(STEP_HEADINGS, step_rows(summary)))
        for line in summary.differences:
            self.say(f"difference: {line}")


def _step_text(step: StepLine) -> str:
    match step.status:
        case StepStatus.RUNNING:
            return f"> {step.name}: {step.text}"
        case StepStatus.FAILED:
            return f"! {step.name}: {step.problem}"
        case _:
            return f"  {step.name}: {step.status}"
