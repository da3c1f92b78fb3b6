from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rebalance_agent.demo import run_demo as demo
from rebalance_agent.demo.errors import DemoError
from support.observer.demo_events import EVENT, SEEN, snapshot, summary

GENERATION_CORRUPTED = summary(event=replace(EVENT, generation=8))
PARTITION_CORRUPTED = summary(event=replace(EVENT, members=(snapshot("m-1", "one", 0, 5), snapshot("m-2", "two", 2))))
STEP_MISSED = summary(step=replace(SEEN, seen=()))


@pytest.fixture
def ending(monkeypatch, tmp_path, capsys):
    """Runs the demo with the summary (or exception) that a run on a broker would return; nothing is started."""
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
        (GENERATION_CORRUPTED, "group g: generation in the events: ours is 8, the coordinator's 7"),
        (PARTITION_CORRUPTED, "group g: partitions of one that only ours has: t 5"),
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
