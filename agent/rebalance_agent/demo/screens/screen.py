"""Where the demo shows itself: a live view on a terminal, plain lines elsewhere. One protocol, chosen once."""

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
    """What a run tells its screen."""

    def say(self, text: str) -> None:
        """One line that stays."""
        ...

    def show(self, board: Board) -> None:
        """How things stand now; called several times a second."""
        ...

    def close(self, summary: Summary) -> None:
        """The end: no board comes any more."""
        ...


def choose(headless: bool, stream: TextIO | None = None) -> Screen:
    """The live view if the stream (default: standard output) is a terminal and nobody wants it ``headless``."""
    out = stream or sys.stdout
    if headless or not out.isatty():
        return PlainScreen(out)
    return LiveScreen(out)
