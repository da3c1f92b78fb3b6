from __future__ import annotations

import itertools
import json
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.demo import run_demo as demo
from rebalance_agent.demo.errors import DemoError
from rebalance_agent.demo.run_on_broker import DemoRun
from rebalance_agent.demo.scenario import AGAIN, AGAIN_PAUSE_SECONDS, GROUPS, STEPS
from rebalance_agent.demo.scenario_types import AddPartitions, CreateTopic, KillMember, StartMember, StopMember
from rebalance_agent.demo.step_schedule import STEP_SECONDS_MAX
from support.observer.demo_events import EVENT, SEEN, generation_event, group_summary, snapshot, summary

GENERATION_CORRUPTED = summary(event=replace(EVENT, generation=8))
PARTITION_CORRUPTED = summary(event=replace(EVENT, members=(snapshot("m-1", "one", 0, 5), snapshot("m-2", "two", 2))))
STEP_MISSED = summary(step=replace(SEEN, seen=()))


@pytest.fixture
def ending(monkeypatch, tmp_path, capsys):
    """Runs the demo with the summary (or exception) of a run on a broker, without starting processes."""
    logs = tmp_path / "logs"
    logs.mkdir()
    monkeypatch.setattr(demo.tempfile, "mkdtemp", lambda prefix: str(logs))

    def end(result, *, interrupted=False, **options):
        def run_on_broker(*_arguments):
            if isinstance(result, BaseException):
                raise result
            return result, interrupted

        monkeypatch.setattr(demo, "_run_on_broker", run_on_broker)
        return demo.run(demo.Options(**options)), logs.exists(), capsys.readouterr().out

    return end


def test_no_difference_ends_with_0_and_leaves_no_logs(ending):
    assert ending(summary(), check=True)[:2] == (0, False)


@pytest.mark.parametrize(
    ("corrupted", "line"),
    [
        (GENERATION_CORRUPTED, "group g: generation in the events: the observer has 8, the coordinator 7"),
        (PARTITION_CORRUPTED, "group g: partitions of one that only the observer has: t 5"),
        (STEP_MISSED, "step slow consumer: g: expected one episode member_joined, seen: none"),
    ],
)
def test_a_wrong_generation_a_wrong_partition_or_a_missed_step_ends_with_1_and_keeps_the_logs(ending, corrupted, line):
    code, kept, output = ending(corrupted, check=True)
    assert (code, kept) == (1, True)
    assert f"difference: {line}" in output


def test_without_check_a_missed_step_is_shown_and_the_exit_code_is_0(ending):
    code, kept, output = ending(summary(coordinator=None, step=replace(SEEN, seen=())))
    assert (code, kept) == (0, False)
    assert "expected one episode member_joined, seen: none" in output


def test_ctrl_c_ends_a_run_without_time_limit_with_130_and_leaves_no_logs(ending):
    assert ending(summary(coordinator=None), interrupted=True, seconds=0)[:2] == (130, False)


@pytest.mark.parametrize("seconds", [0, 90])
def test_the_last_lines_suggest_an_endless_run_only_after_another_one(ending, seconds):
    said = ending(summary(coordinator=None), interrupted=not seconds, seconds=seconds)[2]
    assert ('make demo ARGS="--seconds 0"' in said) is bool(seconds)
    assert ("Ctrl-C ended the run: the exit code is 130" in said) is not bool(seconds)


def test_an_endless_run_begins_with_a_command_that_works_in_its_environment(monkeypatch):
    monkeypatch.setattr(demo.shutil, "which", lambda _name, path=None: "/bin/rebalance-agent")
    assert demo.own_command() == "rebalance-agent"
    monkeypatch.setattr(demo.shutil, "which", lambda _name, path=None: path and "/my venv/rebalance-agent")
    assert demo.own_command() == "'/my venv/rebalance-agent'"
    monkeypatch.setattr(demo.shutil, "which", lambda _name, path=None: None)
    asked = f"{demo.own_command()} --version"
    assert subprocess.run(asked, shell=True, check=True, capture_output=True).stdout


def test_the_summary_file_has_the_closing_tables(ending, tmp_path):
    ending(summary(), summary=tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text())["slow_consumer"]["client_id"] == "two"


def test_a_summary_file_that_cannot_be_written_is_an_error(ending, tmp_path):
    with pytest.raises(DemoError, match="--summary"):
        ending(summary(), summary=tmp_path)


@pytest.mark.parametrize(("error", "kept"), [(DemoError("broken"), True), (KeyboardInterrupt(), False)])
def test_logs_are_kept_after_a_failure_but_not_after_ctrl_c(ending, error, kept, tmp_path):
    with pytest.raises(type(error)):
        ending(error)
    assert (tmp_path / "logs").exists() is kept


TICK_MS = 200
ROUND = [action for step in AGAIN for action in step.actions]


HELD = {group for step in STEPS for group in step.unchanged}
"""Groups whose members are replaced without a rebalance."""


class World:
    """Groups that change at once as the demo's actions require, with the time of each action."""

    def __init__(self, run, clock):
        self._clock, self._run = clock, run
        self.members = {group.name: sum(each.from_start for each in group.members) for group in GROUPS}
        self.generations = dict.fromkeys(self.members, 1)
        self.actions = []
        self.shown = set()
        self.news, self.said = ["events cannot be read now: any reason"], []

    @property
    def groups(self):
        return {
            name: group_summary(name, generation=self.generations[name], members=count)
            for name, count in self.members.items()
        }

    def execute(self, action):
        self.actions.append((self._clock.monotonic(), action))
        if getattr(action, "group", None) in HELD:
            return
        match action:
            case StartMember(group=group):
                self._change(group, 1)
            case StopMember(group=group) | KillMember(group=group):
                self._change(group, -1)
        if isinstance(action, CreateTopic | AddPartitions):
            for expected in next(step for step in STEPS if action in step.actions).expected:
                self._change(expected.group, 0)

    def _change(self, group, by):
        self.members[group] += by
        self.generations[group] += 1

    def episodes(self, group):
        return [generation_event(number, group=group) for number in range(2, self.generations[group] + 1)]

    def completed(self, group):
        return [SimpleNamespace(generation=self.generations[group])]

    def explain_news(self, _group):
        return ()

    def problem_news(self):
        return self.news.pop() if self.news else ""

    def say(self, text):
        self.said.append(text)

    answer, problem = None, ""

    def show(self, board):
        self.shown |= {run.step.name for run in board.steps}

    def wait(self, _seconds):
        self._clock.advance(TICK_MS)

    def require_alive(self):
        pass


def lasting(seconds):
    """A demo of this duration in seconds, after its last step, and its groups."""
    clock = FakeClock()
    kafka = SimpleNamespace(bootstrap_servers="127.0.0.1:1")
    run = DemoRun(seconds, False, clock, None, kafka, None)
    world = World(run, clock)
    run._observer = run._processes = run._screen = run._children = run._pace = world
    run._go_on(run._run_steps())
    return run, world, clock.monotonic()


@pytest.fixture(scope="module")
def half_an_hour():
    return lasting(1_800)


def test_a_run_of_half_an_hour_has_rebalances_in_each_five_minutes(half_an_hour):
    _, world, ended = half_an_hour
    assert 1_800 - 10 < ended <= 1_800
    times = [at for at, _ in world.actions]
    assert all(any(start <= at < start + 300 for at in times) for start in range(0, 1_800, 300))
    assert times[-1] <= ended - STEP_SECONDS_MAX, "no step begins that could not finish in time"
    first = sum(len(step.actions) for step in STEPS)
    again = [action for _, action in world.actions[first:]]
    assert len(again) > 2 * len(ROUND)
    assert again == (ROUND * 9)[: len(again)]
    assert {step.name for step in (*STEPS, *AGAIN)} <= world.shown


def test_steps_of_a_round_begin_after_its_pauses(half_an_hour):
    _, world, _ = half_an_hour
    first = sum(len(step.actions) for step in STEPS)
    times = sorted({at for at, _ in world.actions[first:]})
    # The first step of a round has no pause.
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert sum(gap == pytest.approx(AGAIN_PAUSE_SECONDS, abs=1) for gap in gaps) >= len(gaps) * 0.9


def test_the_summary_of_a_long_run_has_each_first_step_with_its_own_rebalances(half_an_hour):
    run, *_ = half_an_hour
    assert [seen.step.name for seen in run._seen] == [step.name for step in STEPS]
    for seen in run._seen:
        assert {event.group for event in seen.seen} == {expected.group for expected in seen.step.expected}
        assert len(seen.seen) == len(seen.step.expected), seen.step.name


def test_a_reader_of_events_that_fails_is_said_once():
    _, world, _ = lasting(90)
    (line,) = world.said
    assert line.endswith(" s  events cannot be read now: any reason")


@pytest.mark.parametrize("seconds", [90, 120])
def test_a_short_run_repeats_no_step_and_lasts_the_given_time(seconds):
    run, world, ended = lasting(seconds)
    assert [action for _, action in world.actions] == [action for step in STEPS for action in step.actions]
    assert run._seen is None
    assert seconds - 10 < ended <= seconds
