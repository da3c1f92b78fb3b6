"""The widths of a table's columns in the first frame after each change, before Textual measures the cells."""

import asyncio

from rich.text import Text
from textual.app import App
from textual.widgets import DataTable

from rebalance_agent.cli.screens.watch_rows import Rows


class TableApp(App):
    def compose(self):
        yield DataTable()


def frame(table):
    return [table.render_line(line).text.split() for line in range(table.row_count + 1)]


def test_every_frame_shows_whole_cells():
    async def run():
        app = TableApp()
        async with app.run_test(size=(80, 10)) as pilot:
            table = app.query_one(DataTable)
            rows = Rows(table)
            rows.show(["group", "stall"], [])
            await pilot.pause()
            for titles, name, stall in (
                (["group", "stall"], "billing-by-weight", "70s_or_more"),  # new rows
                (["group", "stall"], "billing-by-weight", "4_min_10_s_or_more"),  # a changed cell
                (["group_▲", "stall_of_the_group"], "billing-by-weight", "1s"),  # changed titles
            ):
                rows.show(titles, [("key", [Text(name), Text(stall)])])
                for _ in range(2):  # before and after Textual's own measurement
                    assert frame(table) == [titles, [name, stall]]
                    await pilot.pause()

    asyncio.run(run())
