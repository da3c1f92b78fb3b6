"""Generates ``agent/rebalance_agent/cli/saved_help.json``: the help of the commands that need packages of an extra."""

from __future__ import annotations

import io
import json
import os
from contextlib import redirect_stdout, suppress

from rebalance_agent.cli.command_list import COMMANDS
from rebalance_agent.cli.commands.pipeline import STAGES
from rebalance_agent.cli.main import main

__all__ = ["saved_help_json"]

WIDTH = "80"
"""Columns of the text."""


def saved_help_json() -> str:
    """Return the file's text."""
    commands = [(name,) for name, (_, extra) in COMMANDS.items() if extra]
    stages = [("pipeline", stage) for stage in STAGES]
    return json.dumps({" ".join(words): _help(*words).splitlines() for words in [*commands, *stages]}, indent=1) + "\n"


def _help(*words: str) -> str:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    try:
        with redirect_stdout(io.StringIO()) as out, suppress(SystemExit):
            main([*words, "--help"])
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return out.getvalue()
