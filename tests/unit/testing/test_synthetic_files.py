"""The files of a synthetic fleet: equal bytes from one process or many, complete or absent."""

from __future__ import annotations

import argparse
import gzip
import json

import pytest

from rebalance_agent.cli.pipeline import synthesize as pipeline_synthesize
from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json
from rebalance_agent.testing.synthetic import event_files as files
from rebalance_agent.testing.synthetic.event_files import FILES_MAX, SynthesisResult, synthesize
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan

FLEET = FleetPlan(groups=4, days=1, seed=2)


def command(*arguments):
    parser = argparse.ArgumentParser()
    pipeline_synthesize.add_parser(parser.add_subparsers())
    options = parser.parse_args(["synthesize", *arguments])
    return options.run(options)


def written(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_two_processes_write_the_same_files_as_one(tmp_path):
    seen = []
    one = synthesize(FLEET, tmp_path / "one", 1, lambda made: seen.append(made.groups))
    two = synthesize(FLEET, tmp_path / "two", 2, lambda _: None)
    assert one == two
    assert seen == [1, 2, 3, 4]
    assert written(tmp_path / "one") == written(tmp_path / "two")


def test_every_line_is_an_event_and_is_counted(tmp_path):
    made = synthesize(FLEET, tmp_path, 1, lambda _: None)
    lines = [line for path in sorted(tmp_path.iterdir()) for line in gzip.decompress(path.read_bytes()).splitlines()]
    events = [event_from_json(json.loads(line)) for line in lines]
    assert len(events) == made.events
    assert sum(each.KIND == "generation" for each in events) == made.generations == made.types.total()
    assert (made.groups, made.files) == (4, len(list(tmp_path.iterdir())))
    assert made.bytes == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_the_number_of_files_of_a_large_fleet_is_bounded():
    assert len(files._shares(FleetPlan(groups=100_000, days=1, seed=1))) <= FILES_MAX
    assert [list(each) for each in files._shares(FleetPlan(groups=3, days=1, seed=1))] == [[0], [1], [2]]


def test_a_folder_with_events_is_unchanged(tmp_path):
    (tmp_path / "events-00000.ndjson").write_text("{}")
    with pytest.raises(InvalidInputError, match="already has events"):
        synthesize(FLEET, tmp_path, 1, lambda _: None)
    assert written(tmp_path) == {"events-00000.ndjson": b"{}"}


def test_an_incomplete_file_is_not_kept(tmp_path, monkeypatch):
    def fail(_event):
        raise RuntimeError("no more")

    monkeypatch.setattr(files, "json_line", fail)
    with pytest.raises(RuntimeError):
        synthesize(FLEET, tmp_path, 1, lambda _: None)
    assert written(tmp_path) == {}


def test_the_command_prints_the_counts_of_written_events(tmp_path, capsys):
    arguments = ["--groups", "2", "--days", "1", "--seed", "2", "--processes", "1", "--out", str(tmp_path / "new")]
    assert command(*arguments) == 0
    reported = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert reported["groups"] == 2
    assert reported["generations"] == sum(reported["types"].values()) > 0
    assert reported["events"] == sum(reported["kinds"].values())
    assert command(*arguments) == 2
    assert "--out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (["--groups", "0"], "--groups: must be between"),
        (["--since", "2026-06-02"], "--since: must be a Monday"),
        (["--processes", "0"], "--processes: must be between"),
    ],
)
def test_the_command_refuses_wrong_arguments(tmp_path, capsys, wrong, says):
    assert command("--out", str(tmp_path / "new"), *wrong) == 2
    assert says in capsys.readouterr().err


def test_progress_is_reported_at_an_interval(capsys):
    clock = FakeClock()
    progress = pipeline_synthesize._Progress(FLEET, clock)
    progress.print_line(SynthesisResult(groups=1))
    assert capsys.readouterr().err == ""
    clock.advance(3_000)
    progress.print_line(SynthesisResult(groups=2))
    assert capsys.readouterr().err.startswith("2 of 4 groups")
