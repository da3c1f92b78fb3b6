"""The protocol of the demo's screens, and the choice between them: a live view on a terminal, else plain lines."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Protocol, TextIO

from rebalance_agent.demo.observed.summary import Summary
from rebalance_agent.demo.screens.board import Board
from rebalance_agent.demo.screens.live import LiveScreen
from rebalance_agent.demo.screens.plain import PlainScreen

__all__ = ["Screen", "choose"]


class Screen(AbstractContextManager["Screen"], Protocol):
    """Shows the progress and the result of a run."""

    def say(self, text: str) -> None:
        """Print a line that stays."""
        ...

    def show(self, board: Board) -> None:
        """Show the current state; called several times a second."""
        ...

    def close(self, summary: Summary) -> None:
        """Show the result; no board follows."""
        ...


def choose(headless: bool, stream: TextIO | None = None) -> Screen:
    """Return the live view if the stream (default: standard output) is a terminal and not ``headless``, else plain."""
    out = stream or sys.stdout
    if headless or not out.isatty():
        return PlainScreen(out)
    return LiveScreen(out)
