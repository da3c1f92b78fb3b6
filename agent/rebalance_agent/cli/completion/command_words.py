"""The words that may follow ``rebalance-agent COMMAND``, from the command's parser."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["CommandWords", "FlagWords", "words_of"]

_FILES = {"DIR", "FILE", "PATH"}
"""Metavariables of files and folders."""


@dataclass(frozen=True, slots=True)
class FlagWords:
    """A flag: its ``names``, its help, and what may follow the flag.

    ``takes_value``: whether a value must follow. ``values``: the possible values; empty if others are possible.
    ``file``: whether the value is the name of a file or folder.
    """

    names: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...] = ()
    file: bool = False


@dataclass(frozen=True, slots=True)
class CommandWords:
    """A command: its name, its help, its flags, and its possible arguments.

    ``words``: the possible first arguments; empty if others are possible. ``repeated``: whether further arguments are
    also ``words``. ``file``: whether other arguments are names of files or folders.
    """

    name: str
    help: str
    flags: tuple[FlagWords, ...] = ()
    words: tuple[str, ...] = ()
    repeated: bool = False
    file: bool = False


def words_of(name: str, text: str, parser: argparse.ArgumentParser) -> CommandWords:
    """Return the words of the command ``name``, whose help is ``text``."""
    arguments = [action for action in parser._actions if not action.option_strings]  # noqa: SLF001 - see `_flags`
    words = _values(arguments[0]) if arguments else ()
    repeated = bool(arguments) and arguments[0].nargs == "*"
    # The remaining arguments of `pipeline` are those of a stage.
    file = any(action.metavar in _FILES or action.nargs == argparse.REMAINDER for action in arguments)
    return CommandWords(name, text, tuple(_flags(parser)), words, repeated, file)


def _flags(parser: argparse.ArgumentParser) -> Iterator[FlagWords]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of a parser's flags
        if not action.option_strings or action.help == argparse.SUPPRESS:
            continue
        plain = re.sub(r"\s+", " ", (action.help or "").replace("%%", "%"))
        takes_value = action.nargs not in {0, "?"}
        yield FlagWords(tuple(action.option_strings), plain, takes_value, _values(action), action.metavar in _FILES)


def _values(action: argparse.Action) -> tuple[str, ...]:
    """Return the possible values of a flag or an argument; empty if others are possible."""
    if choices := action.choices or getattr(action.type, "choices", ()):
        return tuple(map(str, choices))
    # The metavariable of a setting with fixed values lists these values: debug|info|warning.
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    return tuple(metavar.split("|")) if "|" in metavar else ()
