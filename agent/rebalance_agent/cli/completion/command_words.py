"""The words that may follow ``rebalance-agent COMMAND``, from the command's parser."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["CommandWords", "FlagWords", "words_of"]

_FILES = {"FILE", "PATH", "FOLDER"}
"""Metavariables of file names."""


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
    """A command: its name, its help, its flags, and its possible first arguments (empty: any)."""

    name: str
    help: str
    flags: tuple[FlagWords, ...] = ()
    words: tuple[str, ...] = ()


def words_of(name: str, text: str, parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> CommandWords:
    """Return the words of the command ``name``, whose help is ``text``."""
    return CommandWords(name, text, tuple(_flags(parser)), words)


def _flags(parser: argparse.ArgumentParser) -> Iterator[FlagWords]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of a parser's flags
        if not action.option_strings or action.help == argparse.SUPPRESS:
            continue
        metavar = action.metavar if isinstance(action.metavar, str) else ""
        # The metavariable of a setting with fixed values lists these values: debug|info|warning.
        values = (
            tuple(map(str, action.choices)) if action.choices else tuple(metavar.split("|")) if "|" in metavar else ()
        )
        plain = re.sub(r"\s+", " ", (action.help or "").replace("%%", "%"))
        yield FlagWords(tuple(action.option_strings), plain, action.nargs not in {0, "?"}, values, metavar in _FILES)
