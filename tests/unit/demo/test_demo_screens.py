from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from rebalance_agent.demo.observed.scrape import GroupNow
from rebalance_agent.demo.screens.board import Board, StepLine, StepStatus, group_line, table_text
from rebalance_agent.demo.screens.live import LiveScreen, draw
from rebalance_agent.demo.screens.plain import PlainScreen
from rebalance_agent.demo.screens.screen import choose
from rebalance_agent.model.episode import Basis, Stall
from rebalance_agent.ui.words import stall_with_basis
from support.observer.demo_events import CLAIM, GROUP, generation_event, summary

NOW = GroupNow(state="Stable", assignor="range", generation=7, members=2, idle_members=0, skew=1.5)


def board(*steps, event=None, now=NOW):
    return Board(12.3, (("observer", "http://127.0.0.1:1/metrics"),), (group_line(GROUP, now, event),), steps)


def step(status, problem=""):
    return StepLine("join", "two joins", status, problem)


def plain(*boards):
    stream = io.StringIO()
    with PlainScreen(stream) as screen:
        for each in boards:
            screen.show(each)
    return stream.getvalue()


def test_a_group_shows_state_generation_members_trigger_stall_moved_and_skew():
    assert group_line(GROUP, NOW, generation_event()).cells == (
        "g",
        "Stable",
        "7",
        "2",
        "0",
        "member_joined",
        "6.25 s exact",
        "1",
        "1.50",
    )


def test_what_is_not_known_is_a_dash():
    assert group_line(GROUP, GroupNow(), None).cells == ("g", *["-"] * 8)


def test_a_bound_shows_both_of_its_ends():
    assert stall_with_basis(Stall(2.5, 0.5, 9.0, Basis.BOUND)) == "0.50-2.50 s bound"


def test_plain_lines_say_each_thing_once():
    running, over = step(StepStatus.RUNNING), step(StepStatus.OVER)
    seen = generation_event()
    text = plain(board(), board(running), board(running), board(over, event=seen), board(over, event=seen))
    assert text.count("two joins") == 1
    assert text.count("over") == 1
    assert text.count("g: generation 7, member_joined, stall 6.25 s exact, moved 1, slowest two") == 1


def test_plain_lines_begin_with_a_table_of_the_groups_when_the_timetable_begins():
    heading = "last trigger"
    assert heading not in plain(board(step(StepStatus.WAITING)))
    assert (
        plain(board(step(StepStatus.WAITING)), board(step(StepStatus.RUNNING)), board(step(StepStatus.OVER))).count(
            heading
        )
        == 1
    )


def test_plain_lines_say_better_evidence_again():
    text = plain(board(event=generation_event()), board(event=generation_event(revision=1)))
    assert text.count("generation 7") == 2


def test_plain_lines_say_why_a_step_failed():
    assert "! join: g did not settle" in plain(board(step(StepStatus.FAILED, "g did not settle")))


def test_the_closing_tables_name_the_slow_consumer_and_its_stall():
    stream = io.StringIO()
    PlainScreen(stream).close(summary(claim=replace(CLAIM, generation=8)))
    text = stream.getvalue()
    assert "one=2 two=1" in text
    assert "6.25 s exact  two" in text
    assert "difference: group g: generation in the events: ours is 8, the coordinator's 7" in text


def test_the_live_view_draws_groups_steps_and_addresses():
    console = Console(file=io.StringIO(), width=200, record=True)
    steps = [
        step(StepStatus.WAITING),
        step(StepStatus.RUNNING),
        step(StepStatus.OVER),
        step(StepStatus.FAILED, "did not settle"),
    ]
    console.print(draw(board(*steps, event=generation_event())))
    text = console.export_text()
    for part in ("observer http://127.0.0.1:1/metrics", "6.25 s exact", "member_joined", "> join: two joins"):
        assert part in text
    assert "! join: did not settle" in text


def test_the_live_screen_ends_with_the_tables():
    stream = io.StringIO()
    with LiveScreen(stream) as screen:
        screen.say("logs: [here]")
        screen.show(board())
    screen.close(summary())
    assert "logs: [here]" in stream.getvalue()
    assert "6.25" in stream.getvalue()


def test_without_a_terminal_lines_are_plain():
    assert isinstance(choose(headless=False, stream=io.StringIO()), PlainScreen)


def test_on_a_terminal_the_view_is_live_unless_headless():
    stream = io.StringIO()
    stream.isatty = lambda: True
    assert isinstance(choose(headless=False, stream=stream), LiveScreen)
    assert isinstance(choose(headless=True, stream=stream), PlainScreen)


def test_columns_are_aligned():
    assert table_text(("a", "bb"), [("long", "x")]) == "a     bb\n----  --\nlong  x"
