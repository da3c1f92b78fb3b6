"""Processes that share test files: each file is run by one of them, as a whole."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]

# A module fixture that must be torn down before the next module's is created, and a failing test.
MODULE = """
import os, pytest

@pytest.fixture(scope="module")
def alone():
    os.mkdir(os.environ["PLACE"])
    yield
    os.rmdir(os.environ["PLACE"])

@pytest.mark.parametrize("number", range(3))
def test_number(alone, number):
    assert {good} or number < 2
"""


# A process that runs the first and the third file leaves the folder for a file that it does not run.
ONE, TWO, THREE = "a/test_one.py", "a/test_two.py", "b/test_three.py"


@pytest.fixture
def shared(tmp_path):
    """Runs pytest on three files with one folder of claims; gives the exit status and the tests that were run."""
    files, claims = tmp_path / "files", tmp_path / "claims"
    claims.mkdir()
    for name, good in ((ONE, True), (TWO, False), (THREE, True)):
        (files / name).parent.mkdir(parents=True, exist_ok=True)
        (files / name).write_text(MODULE.format(good=good))

    def run(*chosen, place):
        pytest_alone = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--rootdir", str(files)]
        sharing = ["-p", "support.runner.shares", "--share-by", str(claims)]
        done = subprocess.run(
            [*pytest_alone, *sharing, *(each if each == "-x" else str(files / each) for each in chosen)],
            env={
                "PYTHONPATH": str(TESTS),
                "PLACE": str(tmp_path / place),
                "PATH": "",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # importing these plugins takes longer than the tests
            },
            capture_output=True,
            text=True,
            check=False,
            cwd=files,
        )
        lines = (line.split()[0] for line in done.stdout.splitlines() if re.match("[ab]/test_.*::", line))
        return done.returncode, sorted({line.partition("::")[0] for line in lines}), done.stdout

    return run


def test_each_file_is_run_once_and_its_failure_fails_the_share_that_ran_it(shared):
    status, files, said = shared(TWO, place="a")
    assert (status, files) == (1, [TWO]), said
    status, files, said = shared(ONE, TWO, THREE, place="b")
    assert (status, files) == (0, [ONE, THREE]), said
    assert "6 passed" in said


def test_a_share_without_remaining_files_succeeds(shared):
    assert shared(ONE, THREE, place="a")[0] == 0
    status, files, said = shared(ONE, THREE, place="b")
    assert (status, files) == (0, []), said


def test_with_exitfirst_the_first_failure_ends_all_shares(shared):
    status, files, said = shared("-x", TWO, THREE, place="a")
    assert (status, files) == (1, [TWO]), said
