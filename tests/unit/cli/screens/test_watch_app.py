"""The live table with Textual's pilot: contents, keys, and a failing source."""

import asyncio
import threading
from dataclasses import replace
from itertools import accumulate

import pytest
from textual.widgets import DataTable, Input, Static

from rebalance_agent.api.query import NotKnownError
from rebalance_agent.cli.inputs.agent_api import AgentError
from rebalance_agent.cli.screens.watch_app import GroupsScreen, WatchApp
from rebalance_agent.cli.screens.watch_group import GroupScreen
from rebalance_agent.model.episode import Basis, Stall
from rebalance_agent.model.events import MemberSnapshot
from rebalance_agent.model.group import GroupState
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.tracking.views import RunningRebalance
from rebalance_agent.ui.sentences.group_table import COLUMNS
from support.http.api import api_of
from support.observer.fakes import generation_event
from support.observer.views import NOW, full_view

PATIENCE_S = 30
GENERATION = [column.title for column in COLUMNS].index("gen")


class Source:
    """An API that the test can make fail."""

    def __init__(self, api):
        self.api, self.trouble = api, None

    def __getattr__(self, name):
        def ask(*arguments):
            if self.trouble:
                raise self.trouble
            return getattr(self.api, name)(*arguments)

        return ask


def snapshot(name, *numbers):
    return MemberSnapshot(name, None, f"client-{name}", "/10.0.0.1", ("t",), {}, {"t": numbers})


EVENTS = (
    generation_event(event_id="first", group="orders", generation=1, members=(snapshot("m1", 0, 1, 2, 3),)),
    generation_event(
        event_id="second",
        group="orders",
        generation=2,
        previous_generation=1,
        episode_generation=2,
        members=(snapshot("m1", 0, 1), snapshot("m2", 2, 3)),
        moved=2,
        needed=2,
    ),
)


VIEW = full_view("orders", running=None)
PLACED = replace(VIEW.members[0], where=Workload(pod="orders-0", node="n7"))
ORDERS = replace(VIEW, members=(PLACED, *VIEW.members[1:]))


def fleet():
    api, clock, shown = api_of(
        ORDERS,
        full_view("billing", running=None, copartition_breaks=0),
        full_view("audit", running=None, copartition_breaks=0),
        events=EVENTS,
    )
    return Source(api), clock, shown


def drive(interact, source, **options):
    """Run ``interact(app, pilot)`` with the app on a screen of its own."""

    async def run():
        app = WatchApp(GroupsScreen(source, **{"interval": 0.05, **options}))
        async with app.run_test(size=(140, 40)) as pilot:
            await interact(app, pilot)
        return app

    return asyncio.run(run())


async def eventually(pilot, condition):
    for _ in range(PATIENCE_S * 20):
        if condition():
            return
        await pilot.pause(0.05)
    raise AssertionError(f"waited in vain: {condition}")


def cells(app, table="#groups", column=0):
    shown = app.screen.query_one(table, DataTable)
    return [str(shown.get_row_at(row)[column]) for row in range(shown.row_count)]


def status(app):
    return str(app.screen.query_one("#status", Static).render())


def test_groups_are_shown_and_updated():
    source, _, shown = fleet()

    async def interact(app, pilot):
        await eventually(pilot, lambda: cells(app) == ["audit", "billing", "orders"])
        first, gaps = status(app).splitlines()
        assert first == "3 groups, 0 rebalancing"
        assert gaps.startswith("orders: co-partitioning is broken: 2 partition numbers")
        shown[0] = replace(
            shown[0], version=8, state=GroupState.PREPARING_REBALANCE, running=RunningRebalance(NOW - 1_000, 6)
        )
        await eventually(pilot, lambda: cells(app) == ["orders", "audit", "billing"])
        assert cells(app, column=1)[0] == "PreparingRebalance"
        assert status(app).startswith("3 groups, 1 rebalancing\n")
        row = app.screen.query_one("#groups", DataTable).get_row_at(0)
        assert "yellow" in str(row[0].style)
        shown[0] = replace(shown[0], version=9, state=GroupState.STABLE, running=None, generation=77)
        await eventually(pilot, lambda: cells(app, column=GENERATION) == ["2", "2", "77"])
        shown[0] = replace(shown[0], version=10, generation=78)
        await eventually(pilot, lambda: cells(app, column=GENERATION) == ["2", "2", "78"])

    drive(interact, source)


def test_keys_open_the_filter_and_change_the_order():
    source, *_ = fleet()

    async def interact(app, pilot):
        await eventually(pilot, lambda: len(cells(app)) == 3)
        await pilot.press("slash", *"or")
        await eventually(pilot, lambda: cells(app) == ["orders"])
        await pilot.press("enter")
        assert not isinstance(app.focused, Input)
        await pilot.press("escape")
        await eventually(pilot, lambda: len(cells(app)) == 3)
        await pilot.press("r")
        await eventually(pilot, lambda: cells(app) == ["orders", "billing", "audit"])
        await pilot.press("s")
        titles = [str(column.label) for column in app.screen.query_one("#groups", DataTable).ordered_columns]
        assert titles[1].startswith("state ▲")

    drive(interact, source)


@pytest.mark.parametrize(("size", "last"), [(80, "rebalances"), (100, "last trigger")])
def test_rebalances_and_stalls_fit_on_a_narrow_terminal(size, last):
    """With the longest state and two bounds of a stall."""
    view = full_view("readings-cooperative", running=RunningRebalance(NOW - 61_000, 6))
    last_episode = replace(view.last_episode, stall=Stall(28.9, 0.001, 0.001, Basis.BOUND))
    api, *_ = api_of(replace(view, state=GroupState.PREPARING_REBALANCE, last_episode=last_episode))

    async def interact(app, pilot):
        await eventually(pilot, lambda: cells(app) == ["readings-cooperative"])
        table = app.screen.query_one("#groups", DataTable)
        titles = [str(column.label).rstrip(" ▲") for column in table.ordered_columns]
        await eventually(pilot, lambda: cells(app, column=titles.index("last stall")) == ["1 ms - 28.9 s"])
        ends = accumulate(column.get_render_width(table) for column in table.ordered_columns)
        assert dict(zip(titles, ends, strict=True))[last] <= size

    drive(interact, Source(api))


def test_a_group_can_be_opened_and_closed():
    source, *_ = fleet()

    async def interact(app, pilot):
        await eventually(pilot, lambda: len(cells(app)) == 3)
        await pilot.press("down", "down", "enter")
        await eventually(pilot, lambda: isinstance(app.screen, GroupScreen))
        await eventually(pilot, lambda: len(cells(app, "#rebalances")) == 2)
        assert "generation 2" in status(app)
        assert cells(app, "#rebalances", 1) == ["2", "1"]
        assert cells(app, "#members") == ["orders-0", "static-2"]
        assert cells(app, "#members", 1) == ["n7", "-"]
        moved = app.screen.query_one("#moves", DataTable)
        assert [str(cell) for cell in moved.get_row_at(0)] == ["t", "2-3", "client-m1", "client-m2"]
        assert "generation 1 to 2: 2 partitions" in str(app.screen.query_one("#moves_title", Static).render())
        await pilot.press("escape")
        await eventually(pilot, lambda: isinstance(app.screen, GroupsScreen))

    drive(interact, source)


def test_reported_places_of_members_have_columns():
    source, _, shown = fleet()

    def titles(app):
        return [str(column.label) for column in app.screen.query_one("#members", DataTable).ordered_columns]

    def tell(**where):
        members = (replace(PLACED, where=Workload(**where)), *VIEW.members[1:])
        shown[0] = replace(shown[0], version=shown[0].version + 1, members=members)

    async def interact(app, pilot):
        await eventually(pilot, lambda: len(cells(app)) == 3)
        await pilot.press("down", "down", "enter")
        await eventually(pilot, lambda: isinstance(app.screen, GroupScreen))
        await eventually(pilot, lambda: titles(app)[:3] == ["member", "node", "client id"])
        tell(pod="orders-0", workload="orders", image="orders:7")
        await eventually(pilot, lambda: titles(app)[:4] == ["member", "workload", "image", "client id"])
        assert cells(app, "#members", 2) == ["orders:7", "-"]
        tell()
        await eventually(pilot, lambda: titles(app)[:2] == ["member", "client id"])

    drive(interact, source)


@pytest.mark.parametrize("trouble", [AgentError("no agent responds"), RuntimeError("a bug"), NotKnownError("gone")])
def test_an_error_is_shown_in_the_table_until_the_source_works_again(trouble):
    source, *_ = fleet()

    async def interact(app, pilot):
        await eventually(pilot, lambda: len(cells(app)) == 3)
        source.trouble = trouble
        await eventually(pilot, lambda: "retrying" in status(app))
        assert str(trouble) in status(app)
        assert len(cells(app)) == 3
        source.trouble = None
        await eventually(pilot, lambda: status(app).startswith("3 groups, 0 rebalancing"))

    drive(interact, source)


def test_a_source_that_never_responded_is_shown_as_such():
    source, *_ = fleet()
    source.trouble = AgentError("no agent responds at [bold]here[/bold]")

    async def interact(app, pilot):
        await eventually(pilot, lambda: status(app) == "no agent responds at [bold]here[/bold]; retrying")

    drive(interact, source)


def test_the_first_line_shows_why_the_data_may_be_out_of_date_also_above_an_opened_group():
    source, *_ = fleet()
    caveats = ["the observer is not ready (list: a\x1bb)"]

    async def interact(app, pilot):
        await eventually(pilot, lambda: len(cells(app)) == 3)
        first, second, *_ = status(app).splitlines()
        assert (first, second) == ("the observer is not ready (list: a\\x1bb)", "3 groups, 0 rebalancing")
        await pilot.press("down", "down", "enter")
        await eventually(pilot, lambda: isinstance(app.screen, GroupScreen))
        await eventually(pilot, lambda: status(app).startswith(f"{first}\norders\n"))
        caveats[0] = ""
        await eventually(pilot, lambda: status(app).startswith("orders\n"))
        await pilot.press("escape")
        await eventually(pilot, lambda: status(app).startswith("3 groups, 0 rebalancing"))

    drive(interact, source, caveat=lambda: caveats[0])


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_the_app_ends_all_its_threads(key):
    source, *_ = fleet()

    async def interact(app, pilot):
        await eventually(pilot, lambda: len(cells(app)) == 3)
        await pilot.press("enter")
        await eventually(pilot, lambda: isinstance(app.screen, GroupScreen))
        await pilot.press(key)

    assert drive(interact, source).return_code == 0
    for thread in threading.enumerate():
        if thread.name == "poller":
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
