"""Shared parts of the commands' parsers: help texts that keep their line breaks, and bounded numbers."""

from __future__ import annotations

import argparse
import datetime as dt
import math
from collections.abc import Callable

__all__ = ["add_command", "moment_ms", "number", "whole_number"]

DIGITS_MAX = 12
"""Digits of a whole number: more than any bound has."""


def add_command(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    description: str,
    epilog: str,
) -> argparse.ArgumentParser:
    """Add the parser of the command ``name``. ``text``: the command in a few words."""
    return subparsers.add_parser(
        name,
        help=text,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def whole_number(minimum: int, maximum: int) -> Callable[[str], int]:
    """The type of a flag that takes a whole number from ``minimum`` to ``maximum``."""

    def parsed(text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX and minimum <= int(text) <= maximum:
            return int(text)
        raise argparse.ArgumentTypeError(f"must be a whole number from {minimum} to {maximum}")

    return parsed


def number(minimum: float, maximum: float, form: str) -> Callable[[str], float]:
    """The type of a flag that takes a number from ``minimum`` to ``maximum``; errors name its ``form``."""

    def parsed(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not minimum <= value <= maximum:
            raise argparse.ArgumentTypeError(f"must be {form}")
        return value

    return parsed


def moment_ms(text: str) -> int:
    """The type of a flag that takes a time: ISO 8601 (UTC unless it names another zone), or epoch milliseconds."""
    try:
        if text.isascii() and text.isdigit():
            return int(text)
        at = dt.datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must look like 2026-05-04T09:00:00Z, or epoch milliseconds") from None
    return round((at if at.tzinfo else at.replace(tzinfo=dt.UTC)).timestamp() * 1000)
