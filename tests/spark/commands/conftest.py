"""Stages as a user runs them, in the tests' session."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext, redirect_stderr, redirect_stdout

import pytest

from rebalance_agent.cli.main import main


@pytest.fixture(scope="module")
def run(spark):
    """Runs a stage on a folder's tables; returns the exit code, the last line and what was written to stderr."""

    def run(folder, stage, *arguments):
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out:
            # The tests' session in place of one of each command's own.
            patch.setattr("rebalance_agent.cli.inputs.pipeline_flags.open_session", lambda *_: nullcontext(spark))
            with redirect_stderr(io.StringIO()) as errors:
                code = main(["pipeline", stage, "--tables", str(folder / "tables"), *map(str, arguments)])
        lines = out.getvalue().splitlines()
        return code, json.loads(lines[-1]) if lines else None, errors.getvalue()

    return run


@pytest.fixture(scope="session")
def contents():
    """Returns the files and folders below one, with the times of their last changes."""
    return lambda folder: {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
