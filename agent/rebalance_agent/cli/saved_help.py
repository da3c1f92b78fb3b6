"""The help of commands whose packages are not installed: a copy of it, which `make docs` writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

__all__ = ["FILE", "saved_help"]

FILE = "saved_help.json"
"""Name of the file beside this module: a command, with a stage of ``pipeline``, -> the lines of its help."""


def saved_help(arguments: Sequence[str]) -> str:
    """Return the help that ``arguments`` ask for; empty if they ask for none."""
    if not {"-h", "--help"} & set(arguments):
        return ""
    text = Path(__file__).with_name(FILE).read_text(encoding="utf-8")
    lines = json.loads(text).get(" ".join(word for word in arguments if not word.startswith("-")), [])
    return "\n".join(lines)
