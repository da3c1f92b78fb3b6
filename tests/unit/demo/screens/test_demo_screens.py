from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from rebalance_agent.api.shapes import GroupList
from rebalance_agent.demo import run_demo
from rebalance_agent.demo.observed.differences import SeenStep
from rebalance_agent.demo.observed.summary import summarise
from rebalance_agent.demo.scenario_types import DemoStep, Expected
from rebalance_agent.demo.screens.closing_tables import deploy_rows, step_rows
from rebalance_agent.demo.screens.screen import Board, Screen, draw
from rebalance_agent.demo.step_schedule import StepRun, StepStatus
from rebalance_agent.model.episode import Basis, Stall, Trigger
from support.observer.demo_events import EVENT, GROUP, SPREAD, group_summary, summary

JOIN = DemoStep("join", "two joins", (), ())
WAITING = StepRun(JOIN)
RUNNING = StepRun(JOIN, began=1.0, problem="")
OVER = StepRun(JOIN, began=1.0, problem="", over=True)
FAILED = StepRun(JOIN, began=1.0, problem="g did not settle")


def board(*steps):
    groups = GroupList(0, 1, 0, (group_summary(skew_ratio=1.5),))
    return Board(12.3, {"observer": "http://127.0.0.1:1/metrics"}, groups, steps)


def plain(*boards):
    stream = io.StringIO()
    with Screen(stream, live=False) as screen:
        for each in boards:
            screen.show(each)
    return stream.getvalue()


def test_a_step_waits_runs_and_succeeds_or_fails():
    statuses = [run.status for run in (WAITING, RUNNING, OVER, FAILED)]
    assert statuses == [StepStatus.WAITING, StepStatus.RUNNING, StepStatus.OVER, StepStatus.FAILED]
    assert [run.running for run in (WAITING, RUNNING, OVER, FAILED)] == [False, True, False, False]


def test_plain_lines_show_each_change_of_a_step_once():
    text = plain(board(WAITING), board(RUNNING), board(RUNNING), board(OVER), board(OVER))
    assert text.count("  12.3 s  > join: two joins\n") == 1
    assert text.count("  12.3 s    join: over\n") == 1


def test_plain_lines_begin_with_the_table_of_watch_when_the_steps_begin():
    heading = "LAST TRIGGER"
    assert heading not in plain(board(WAITING))
    assert plain(board(WAITING), board(RUNNING), board(OVER)).count(heading) == 1


def test_the_screen_shows_how_many_topics_are_on_one_host_at_the_start_and_after_each_step():
    spread = group_summary("g", host_spread=SPREAD)
    groups = GroupList(0, 1, 0, (spread, group_summary("other", host_spread=None)))
    said = "g: 80 of 81 topics have all their partitions on one of 2 hosts"
    over = replace(OVER, ended={"g": replace(spread, host_spread=replace(SPREAD, on_one_host=0))})
    text = plain(replace(board(RUNNING), groups=groups), replace(board(over), groups=groups))
    assert f"\n{said}\n\n  12.3 s  > join" in text
    assert "join: over; g: 0 of 81 topics have all their partitions on one of 2 hosts\n" in text
    console = Console(file=io.StringIO(), width=200, height=60, record=True)
    console.print(draw(replace(board(), groups=groups)))
    assert said in console.export_text()


def test_plain_lines_show_why_a_step_failed():
    assert "! join: g did not settle" in plain(board(FAILED))


def test_a_long_line_is_not_wrapped():
    stream = io.StringIO()
    Screen(stream, live=False).say("[word] " * 100)
    assert stream.getvalue() == "[word] " * 100 + "\n"


def test_the_closing_tables_name_the_slow_consumer_and_its_stall():
    stream = io.StringIO()
    Screen(stream, live=False).close(summary(event=replace(EVENT, generation=8)))
    text = stream.getvalue()
    assert "one=2 two=1" in text
    assert "6.2 s exact  two" in text
    assert "difference: group g: generation in the events: the observer has 8, the coordinator 7" in text


def test_the_live_view_draws_groups_steps_and_addresses():
    console = Console(file=io.StringIO(), width=200, height=60, record=True)
    console.print(draw(board(WAITING, RUNNING, OVER, FAILED)))
    text = console.export_text()
    for part in ("observer http://127.0.0.1:1/metrics", "Stable", "1.50", "member_joined", "> join: two joins"):
        assert part in text
    assert "✓ join: two joins" in text
    assert "! join: g did not settle" in text


@pytest.mark.parametrize(("width", "last_heading"), [(200, "type"), (120, "gen"), (85, "last trigger")])
def test_the_live_view_leaves_out_the_last_columns_rather_than_cutting_words(width, last_heading):
    last = replace(group_summary().last, trigger=Trigger.GROUP_STARTED, stall=Stall(11.5, 22.3, 18.0, Basis.BOUND))
    groups = GroupList(0, 1, 0, (group_summary("readings-cooperative", last=last),))
    console = Console(file=io.StringIO(), width=width, record=True)
    console.print(draw(replace(board(), groups=groups)))
    text = console.export_text()
    heading = next(line for line in text.splitlines() if line.startswith("group"))
    assert heading.rstrip().endswith(last_heading)
    assert "…" not in text
    row = next(line for line in text.splitlines() if line.startswith("readings-cooperative"))
    assert "group_started" in row


@pytest.mark.parametrize(("lines", "shown"), [(24, "next two"), (60, "all")])
def test_a_short_terminal_has_the_running_and_the_next_step_and_no_addresses(lines, shown):
    names = {status: DemoStep(f"the-{status}", "", (), ()) for status in ("over", "running", "next", "later")}
    runs = [
        replace(run, step=step) for run, step in zip((OVER, RUNNING, WAITING, WAITING), names.values(), strict=True)
    ]
    console = Console(file=io.StringIO(), width=100, height=lines)
    console.print(draw(board(*runs)))
    text = console.file.getvalue()
    assert [name for name in ("over", "running", "next", "later") if f"the-{name}" in text] == (
        ["running", "next"] if shown == "next two" else ["over", "running", "next", "later"]
    )
    assert ("http://127.0.0.1:1" in text) is (shown == "all")


def test_a_step_of_two_groups_has_the_differences_of_each_in_its_own_row():
    expected = (Expected("a", Trigger.TOPICS_CHANGED, 1), Expected("b", Trigger.TOPICS_CHANGED, 1))
    both = summary(coordinator=None, step=SeenStep(DemoStep("new topic", "", (), expected), ()))
    checks = [row[3] for row in step_rows(both)]
    assert checks == [f"{group}: expected one episode topics_changed, seen: none" for group in "ab"]


BOUNDS = Stall(2.0, 0.5, 1.5, Basis.BOUND, 6.0)
DEPLOYED = DemoStep("deploy", "", (), (Expected("g", Trigger.MEMBER_JOINED, 2),), unchanged=("h",))


def deployed(step):
    """The summary of a deploy of groups g, which rebalances once, and h, in which a member is replaced."""
    replaced = replace(EVENT, group="h", trigger=Trigger.MEMBER_REPLACED, stall=BOUNDS)
    groups = (GROUP, replace(GROUP, name="h"))
    episodes = {"g": [replace(EVENT, stall=BOUNDS)], "h": [EVENT, replaced]}
    return summarise(groups, episodes, {}, (step,), None)


def test_a_deploy_is_shown_with_and_without_seats():
    done = deployed(SeenStep(DEPLOYED, (replace(EVENT, stall=BOUNDS),)))
    assert deploy_rows(done) == [("g", "1", "0", "at least 1.5"), ("h", "0", "1", "at least 1.5")]
    assert ("deploy", "h", "no rebalance", "ok", "-", "-") in step_rows(done)


def test_a_deploy_that_was_not_seen_as_a_whole_has_no_rows():
    assert deploy_rows(deployed(SeenStep(DEPLOYED, (), "had not begun when the run ended"))) == []
    assert deploy_rows(summary()) == []


def test_the_live_screen_ends_with_the_tables():
    stream = io.StringIO()
    with Screen(stream, live=True) as screen:
        screen.say("logs: [here]")
        screen.show(board(RUNNING))
        screen.close(summary())
    assert "logs: [here]" in stream.getvalue()
    assert "> join: two joins" in stream.getvalue()
    assert "6.25" in stream.getvalue()


@pytest.mark.parametrize(
    ("terminal", "headless", "live"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_the_screen_is_live_on_a_terminal_unless_headless(monkeypatch, terminal, headless, live):
    chosen = []

    def screen(_stream, *, live):
        chosen.append(live)
        raise KeyboardInterrupt

    monkeypatch.setattr(run_demo, "Screen", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(run_demo.sys.stdout, "isatty", lambda: terminal)
    with pytest.raises(KeyboardInterrupt):
        run_demo.run(run_demo.Options(headless=headless))
    assert chosen == [live]
