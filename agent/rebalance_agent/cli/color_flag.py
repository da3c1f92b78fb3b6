"""The flag ``--color`` of commands that write colours."""

from __future__ import annotations

import argparse
import os
from collections.abc import MutableMapping

__all__ = ["add_color_flag", "choose_colors"]


def add_color_flag(parser: argparse.ArgumentParser) -> None:
    """Add ``--color``."""
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="whether to write colours (default auto: on a terminal, unless NO_COLOR is set or TERM is dumb)",
    )


def choose_colors(color: str, environment: MutableMapping[str, str] = os.environ) -> None:
    """Set the environment variables that ``--color`` requires; libraries and child processes read them.

    ``always`` wins over NO_COLOR (no-color.org), and ``never`` over FORCE_COLOR (force-color.org).
    """
    if color == "auto":
        return
    chosen, other = ("FORCE_COLOR", "NO_COLOR") if color == "always" else ("NO_COLOR", "FORCE_COLOR")
    environment[chosen] = "1"
    environment.pop(other, None)
