"""``rebalance-agent completion``: prints a script that lets a shell complete the commands and their flags."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator

from rebalance_agent.cli.command_list import COMMANDS
from rebalance_agent.cli.command_parser import add_command
from rebalance_agent.cli.completion.command_words import CommandWords, words_of
from rebalance_agent.cli.completion.shell_scripts import SCRIPTS

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Prints a script that makes a shell complete commands, flags, files, and values from fixed lists. It contains all
commands of this version, but only the flags and values of commands whose packages are installed. Print it again after
an upgrade.
"""

EXAMPLES = """\
examples:
  mkdir -p ~/.local/share/bash-completion/completions
  rebalance-agent completion bash > ~/.local/share/bash-completion/completions/rebalance-agent
  rebalance-agent completion zsh > ~/.rebalance-agent.zsh     # source it in ~/.zshrc, after compinit
  rebalance-agent completion fish > ~/.config/fish/completions/rebalance-agent.fish

exit codes: 0 done, 2 wrong usage
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = add_command(subparsers, "completion", COMMANDS["completion"][0], DESCRIPTION, EXAMPLES)
    parser.add_argument("shell", choices=tuple(SCRIPTS), metavar="SHELL", help=f"one of {', '.join(SCRIPTS)}")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the script, and return the exit code."""
    print(SCRIPTS[options.shell](list(_commands())), end="")
    return 0


def _commands() -> Iterator[CommandWords]:
    """Yield all commands; a command whose packages are missing has no flags."""
    for name, (text, _) in COMMANDS.items():
        try:
            module = importlib.import_module(f"rebalance_agent.cli.commands.{name}")
        except ModuleNotFoundError:
            yield CommandWords(name, text)
            continue
        parsers = argparse.ArgumentParser().add_subparsers()
        module.add_parser(parsers)
        yield words_of(name, text, parsers.choices[name])
