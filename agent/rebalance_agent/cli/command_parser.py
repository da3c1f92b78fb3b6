"""Shared parts of the commands' parsers: help texts that keep their line breaks, and bounded numbers."""

from __future__ import annotations

import argparse
import datetime as dt
import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NoReturn

from rebalance_agent.visible_names import did_you_mean

__all__ = [
    "AnyText",
    "CommandParser",
    "OneOf",
    "add_command",
    "moment_ms",
    "not_empty",
    "number",
    "refuse",
    "whole_number",
]

DIGITS_MAX = 12
"""Maximum number of digits in a whole number; no bound has as many."""

USAGE_LINES_MAX = 3
"""Maximum number of usage lines above an error; more lines would hide the error."""


class CommandParser(argparse.ArgumentParser):
    """A parser with short errors, whole names of flags, and help that begins with examples; so are added commands."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - as in argparse
        """Create a parser that refuses shortened flags: after an upgrade, they could mean other flags."""
        super().__init__(allow_abbrev=False, **options)

    def format_help(self) -> str:
        """Return the help; the examples of the epilog come before the flags, of which a command may have dozens."""
        whole = self.description, self.epilog
        self.description, self.epilog = _examples_first(self.description or "", self.epilog or "")
        try:
            return super().format_help()
        finally:
            self.description, self.epilog = whole

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401 - as in argparse
        """Check a value that has ``choices``; an error suggests the most similar choice."""
        if action.choices is not None and value not in (names := tuple(map(str, action.choices))):
            raise argparse.ArgumentError(action, _not_one_of(str(value), names))

    def error(self, message: str) -> NoReturn:
        """Print the usage, without its flags if it is long, and ``message``; exit with 2."""
        if len(self.format_usage().splitlines()) > USAGE_LINES_MAX:
            positionals = [action for action in self._actions if not action.option_strings]
            names = [f"{action.metavar}" if action.required else f"[{action.metavar}]" for action in positionals]
            self.usage = " ".join(["%(prog)s [--help] [FLAG ...]", *names])
        super().error(message)


def add_command(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    description: str,
    epilog: str,
) -> argparse.ArgumentParser:
    """Add the parser of the command ``name``. ``text`` describes the command in a few words."""
    return subparsers.add_parser(
        name,
        help=text,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def refuse(word: str, parser: argparse.ArgumentParser) -> NoReturn:
    """Exit with an error for an unknown argument of the command; the error contains the most similar argument."""
    flag = word.partition("=")[0]
    if not flag.startswith("-"):
        parser.error(f"unexpected argument {word!r}")
    name = flag.lstrip("-")
    places = [str(action.metavar) for action in parser._actions if not action.option_strings]  # noqa: SLF001 - see `error`
    if place := next((place for place in places if name and place.lower().startswith(name)), None):
        parser.error(f"there is no flag {flag}; {place} is written without a flag")
    meant = did_you_mean(name, re.findall(r"--([a-z][a-z-]+)", parser.format_help()), "--")
    parser.error(f"there is no flag {flag}{meant}")


def not_empty(text: str) -> str:
    """Return ``text``, a name, unless it is empty, as the value of an unset shell variable is."""
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


@dataclass(frozen=True, eq=False)  # argparse needs a hash
class OneOf:
    """The type of an argument that takes one of ``choices``; an error suggests the most similar choice.

    ``sign``: an optional character before the choice.
    """

    choices: Collection[str]
    sign: str = ""

    def __call__(self, text: str) -> str:
        """Return ``text`` if it is correct."""
        if (choice := text.removeprefix(self.sign)) in self.choices:
            return text
        raise argparse.ArgumentTypeError(_not_one_of(choice, self.choices, self.sign))


@dataclass(frozen=True, eq=False)  # argparse needs a hash
class AnyText:
    """The type of an argument that takes any text; shells offer ``choices``, and the command checks the text."""

    choices: Collection[str]

    def __call__(self, text: str) -> str:
        """Return ``text``."""
        return text


def whole_number(minimum: int, maximum: int) -> Callable[[str], int]:
    """Return the type of a flag that takes a whole number from ``minimum`` to ``maximum``."""

    def parsed(text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX and minimum <= int(text) <= maximum:
            return int(text)
        raise argparse.ArgumentTypeError(f"must be a whole number from {minimum} to {maximum}")

    return parsed


def number(minimum: float, maximum: float, form: str) -> Callable[[str], float]:
    """Return the type of a flag that takes a number from ``minimum`` to ``maximum``; errors state the ``form``."""

    def parsed(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not minimum <= value <= maximum:
            raise argparse.ArgumentTypeError(f"must be {form}")
        return value

    return parsed


def _not_one_of(text: str, names: Collection[str], sign: str = "") -> str:
    signs = f", with or without a leading {sign!r}" if sign else ""
    return f"must be one of {', '.join(names)}{signs}{did_you_mean(text, names)}"


def _examples_first(description: str, epilog: str) -> tuple[str, str]:
    """Move the paragraph of the ``epilog`` that begins with ``examples:`` to the end of the ``description``."""
    paragraphs = epilog.strip("\n").split("\n\n")
    examples = [text for text in paragraphs if re.match("examples?:", text)]
    rest = [text for text in paragraphs if text not in examples]
    return "\n\n".join([description.strip("\n"), *examples]).strip("\n"), "\n\n".join(rest)


def moment_ms(text: str) -> int:
    """Return a time in epoch milliseconds, from ISO 8601 (in UTC if it names no zone) or epoch milliseconds."""
    try:
        if text.isascii() and text.isdigit():
            return int(text)
        at = dt.datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must look like 2026-05-04T09:00:00Z, or epoch milliseconds") from None
    return round((at if at.tzinfo else at.replace(tzinfo=dt.UTC)).timestamp() * 1000)
