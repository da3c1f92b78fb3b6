"""The scripts complete commands, flags and values; Bash runs its one."""

from __future__ import annotations

import argparse
import importlib
import shutil
import subprocess

import pytest

from rebalance_agent.cli import main
from rebalance_agent.cli.command_list import COMMANDS
from rebalance_agent.cli.commands.completion import _commands
from rebalance_agent.cli.completion.command_words import CommandWords, FlagWords, words_of
from rebalance_agent.cli.completion.shell_scripts import SCRIPTS


@pytest.fixture(scope="module")
def commands():
    return list(_commands())


@pytest.fixture(scope="module")
def script(commands, tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "script"
    path.write_text(SCRIPTS["bash"](commands), encoding="utf-8")
    return path


def completed(script, *words):
    """What Bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in ("rebalance-agent", *words))
    run = f'source "{script}"; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _rebalance_agent; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "--norc", "-c", run], capture_output=True, check=True, cwd=script.parent, text=True)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_every_command_has_its_words(commands):
    assert [command.name for command in commands] == list(COMMANDS)
    assert [command.name for command in commands if not command.flags] == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="no Bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["wat"], {"watch"}),
        (["--ver"], {"--version"}),
        (["watch", "--onc"], {"--once"}),
        (["watch", "--output", ""], {"table", "json", "yaml", "csv"}),
        (["watch", "--output", "=", "y"], {"yaml"}),
        (["verify", "--output", "c"], {"csv"}),
        (["migrate", "--output", "c"], {"csv"}),
        (["observe", "--log-level", "d"], {"debug"}),
        (["check", "--color", "a"], {"auto", "always"}),
        (["observe", "--idle", "--list-i"], {"--list-interval-ms"}),
        (["watch", "--kafka", "x"], set()),
        (["watch", "--config", "scr"], {"script"}),
        (["pipeline", "in"], {"ingest"}),
        (["pipeline", "ingest", "scr"], {"script"}),
        (["completion", ""], {"bash", "zsh", "fish"}),
        (["completion", "bash", ""], set()),
        (["watch", "--sort", "sta"], {"state", "stall"}),
        (["decode", "--kind", "group_m"], {"group_metadata"}),
        (["whatif", "--strategy", "weighted-s"], {"weighted-sticky"}),
        (["strategies", "weighted-s"], {"weighted-sticky"}),
        (["strategies", "range", "weighted-s"], {"weighted-sticky"}),
        (["assign", "scr"], {"script"}),
        (["explain", "scr"], set()),
        (["pipeline", "--tab"], set()),
    ],
)
def test_bash_completes_commands_flags_and_values(script, words, offered):
    assert completed(script, *words) == offered


def test_the_command_prints_the_script_of_the_shell(capsys, commands):
    for shell, script in SCRIPTS.items():
        assert main.main(["completion", shell]) == 0
        assert capsys.readouterr().out == script(commands)
    assert SCRIPTS["zsh"](commands).endswith(SCRIPTS["bash"](commands))


def test_fish_gets_each_flag_with_its_values_and_a_quoted_help():
    flag = FlagWords(("-f", "--form"), "the group's " + "x" * 100, takes_value=True, values=("a", "b"))
    lines = SCRIPTS["fish"]([CommandWords("watch", "groups", (flag,), ("now",), file=True)]).splitlines()
    here = "complete -c rebalance-agent -n '__fish_seen_subcommand_from watch'"
    assert lines[2:5] == [
        "complete -c rebalance-agent -n __fish_use_subcommand -a watch -d 'groups'",
        f"{here} -a now",
        f"{here} -F",
    ]
    assert lines[5] == f"{here} -s f -l form -x -a 'a b' -d 'the group\\'s {'x' * 67}…'"


def test_a_command_whose_packages_are_missing_has_only_its_name(monkeypatch):
    imported = importlib.import_module

    def without_demo(name):
        if name.endswith("commands.demo"):
            raise ModuleNotFoundError(name)
        return imported(name)

    monkeypatch.setattr(importlib, "import_module", without_demo)
    demo = next(command for command in _commands() if command.name == "demo")
    assert demo == CommandWords("demo", COMMANDS["demo"][0])


def test_hidden_flags_are_not_offered_and_an_optional_value_need_not_follow():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--hidden", help=argparse.SUPPRESS)
    parser.add_argument("--idle", nargs="?", metavar="true|false", help="100 %% idle")
    parser.add_argument("--file", metavar="FILE", help="a\n  file")
    assert words_of("x", "y", parser).flags == (
        FlagWords(("--idle",), "100 % idle", takes_value=False, values=("true", "false")),
        FlagWords(("--file",), "a file", takes_value=True, file=True),
    )
