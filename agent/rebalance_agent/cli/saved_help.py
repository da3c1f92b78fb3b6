"""Returns the help of commands whose packages are not installed, from a copy that `make docs` writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

__all__ = ["FILE", "saved_help"]

FILE = "saved_help.json"
"""File beside this module: command (``pipeline`` with its stage) -> the lines of the command's help."""


def saved_help(arguments: Sequence[str]) -> str:
    """Return the help that ``arguments`` ask for; empty if they do not ask for help."""
    if not {"-h", "--help"} & set(arguments):
        return ""
    text = Path(__file__).with_name(FILE).read_text(encoding="utf-8")
    lines = json.loads(text).get(" ".join(word for word in arguments if not word.startswith("-")), [])
    return "\n".join(lines)
