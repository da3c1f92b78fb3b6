"""Takes the picture of one group in `watch`, ``docs/images/watch-group.svg``.

``python docs/developers/pictures/capture_watch.py URL GROUP`` writes it; URL is an observer's address.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from terminal_svg import plain
from textual.widgets import DataTable

from rebalance_agent.cli.inputs.agent_api import AgentApi
from rebalance_agent.cli.screens.watch_app import WatchApp
from rebalance_agent.cli.screens.watch_group import GroupScreen

IMAGE = Path(__file__).parents[2] / "images" / "watch-group.svg"
SIZE = (134, 30)
"""Columns and lines of the terminal."""

COMMENT = "A capture of `rebalance-agent watch`, drawn with Textual"


def watch_group(url: str, group: str) -> None:
    """Write the picture once the screen has the group's moves."""
    IMAGE.write_text(plain(asyncio.run(_drawn(url, group)), COMMENT), encoding="utf-8")


async def _drawn(url: str, group: str) -> str:
    app = WatchApp(GroupScreen(AgentApi(url), group, interval=1.0))
    async with app.run_test(size=SIZE) as pilot:
        async with asyncio.timeout(60):
            await pilot.pause()
            while not app.screen.query_one("#moves", DataTable).row_count:
                await pilot.pause(0.1)
            await pilot.pause(1.0)  # columns become as wide as their texts afterwards
        return app.export_screenshot(title="rebalance-agent watch")


if __name__ == "__main__":
    watch_group(*sys.argv[1:])
