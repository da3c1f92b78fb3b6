"""Defines the flags for broken expectations, prints these expectations, and returns the exit code of their stage."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from rebalance_agent.pipeline.tables.expectations import broken
from rebalance_agent.ui.words import printable

__all__ = ["add_check_flags", "check_code", "print_broken"]


def add_check_flags(parser: argparse.ArgumentParser) -> None:
    """Add ``--strict`` and ``--keep-going``."""
    parser.add_argument(
        "--strict", action="store_true", help="also exit with 1 for broken expectations that are warnings"
    )
    parser.add_argument(
        "--keep-going",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="exit with 0 even if expectations are broken; the results are in the table `expectations`",
    )


def print_broken(results: Sequence[Any], *, strict: bool = False) -> int:
    """Print broken expectations on stderr, and return how many of them make the run fail."""
    for row in results:
        if row["failed"]:
            print(
                f"{row['severity']}: {row['table']}: {row['expectation']}: not true for {row['failed']} of "
                f"{row['checked']}, for example {printable(str(row['example']))}",
                file=sys.stderr,
            )
    return len(broken(results, strict=strict))


def check_code(failed: int, options: argparse.Namespace) -> int:
    """Return the exit code of a stage in which ``failed`` expectations are broken: 1, or 0 with ``--keep-going``."""
    return 1 if failed and not options.keep_going else 0
