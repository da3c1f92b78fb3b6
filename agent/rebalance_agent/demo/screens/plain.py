"""The screen without a terminal: prints one line for each change."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TextIO

from rebalance_agent.demo.observed.journal import slowest_client
from rebalance_agent.demo.observed.summary import Summary
from rebalance_agent.demo.screens.board import (
    GROUP_HEADINGS,
    STEP_HEADINGS,
    SUMMARY_HEADINGS,
    Board,
    StepLine,
    StepStatus,
    step_rows,
    summary_rows,
    table_text,
)
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.ui.words import stall_with_basis

__all__ = ["PlainScreen"]


class PlainScreen(AbstractContextManager["PlainScreen"]):
    """Prints what is new on each board, and tables at the start of the timetable and at the end."""

    def __init__(self, stream: TextIO) -> None:
        """Print to ``stream``."""
        self._stream = stream
        self._steps: dict[str, StepStatus] = {}
        self._episodes: dict[str, tuple[str, int]] = {}

    def __exit__(self, *_exc: object) -> None:
        """Do nothing; there is nothing to clean up."""

    def say(self, text: str) -> None:
        """Print ``text``."""
        print(text, file=self._stream, flush=True)

    def show(self, board: Board) -> None:
        """Print the steps whose status changed, and the episodes that are new or revised."""
        at = f"{board.elapsed_seconds:6.1f} s  "
        for step in board.steps:
            if step.status != self._steps.get(step.name, StepStatus.WAITING):
                if not self._steps:
                    self.say("\n" + table_text(GROUP_HEADINGS, [line.cells for line in board.groups]) + "\n")
                self._steps[step.name] = step.status
                self.say(at + _step_text(step))
        for event in (line.episode for line in board.groups):
            if event and self._episodes.get(event.group) != (event.event_id, event.revision):
                self._episodes[event.group] = event.event_id, event.revision
                self.say(at + _episode_text(event))

    def close(self, summary: Summary) -> None:
        """Print the closing tables and the differences."""
        self.say("\n" + table_text(SUMMARY_HEADINGS, summary_rows(summary)))
        self.say("\n" + table_text(STEP_HEADINGS, step_rows(summary)))
        for line in summary.differences:
            self.say(f"difference: {line}")


def _episode_text(event: GenerationEvent) -> str:
    slowest = slowest_client(event)
    return (
        f"{event.group}: generation {event.generation}, {event.trigger}, stall {stall_with_basis(event.stall)}, "
        f"moved {event.moved}" + (f", slowest {slowest}" if slowest else "") + (" (revised)" if event.revision else "")
    )


def _step_text(step: StepLine) -> str:
    match step.status:
        case StepStatus.RUNNING:
            return f"> {step.name}: {step.text}"
        case StepStatus.FAILED:
            return f"! {step.name}: {step.problem}"
        case _:
            return f"  {step.name}: {step.status}"
