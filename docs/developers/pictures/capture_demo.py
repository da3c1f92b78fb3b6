"""Takes the picture of the demo, ``docs/images/demo.svg``: ``python docs/developers/pictures/capture_demo.py``.

It runs the demo, and takes the live view while the slow consumer delays its group.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from rich.console import Console
from terminal_svg import plain

from rebalance_agent.demo import run_demo
from rebalance_agent.demo.screens.screen import Board, Screen, draw

IMAGE = Path(__file__).parents[2] / "images" / "demo.svg"
WIDTH, HEIGHT = 136, 60
"""Columns and lines of the terminal."""

GROUP, RUNNING_S, STARTED_S = "orders-weighted", 3.0, 20.0
"""The picture shows the demo while a rebalance of this group, after the demo's start, has run for so many seconds."""

COMMENT = "A capture of `make demo`, drawn with rich"


class Capture(Screen):
    """The demo's screen, which also writes the picture; the last one written stays."""

    def show(self, board: Board) -> None:
        """Show the board, and write it if it is the one of the picture."""
        super().show(board)
        now_ms = board.groups.now_ms
        running = [each.running for each in board.groups.groups if each.group == GROUP and each.running]
        if running and now_ms - running[0].started_ms >= RUNNING_S * 1000 and board.elapsed_seconds > STARTED_S:
            console = Console(file=io.StringIO(), width=WIDTH, height=HEIGHT, record=True, force_terminal=True)
            console.print(draw(board))
            IMAGE.write_text(plain(console.export_svg(title="make demo"), COMMENT), encoding="utf-8")


if __name__ == "__main__":
    run_demo.Screen = Capture  # type: ignore[misc]
    sys.exit(run_demo.run(run_demo.Options(headless=True)))
