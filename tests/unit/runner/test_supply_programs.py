"""The tools of `make audit` are cached once, completely or not at all, or an error gives the reason."""

import subprocess
from pathlib import Path

import pytest

from supply import programs
from supply.programs import UnavailableError, python


@pytest.fixture
def lock(tmp_path, monkeypatch):
    monkeypatch.setenv("REBALANCE_AGENT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "some.lock"
    path.write_text("a==1\n")
    return path


@pytest.fixture
def installs(monkeypatch):
    """Replaces `venv` and `pip`; prints ``fails`` and fails if the text is not empty."""
    calls = []

    class Installs:
        fails = ""

    def run(command, **_options):
        calls.append(command)
        if command[1:3] == ["-m", "venv"]:
            Path(command[3]).mkdir()  # fails if a broken environment exists
            return subprocess.CompletedProcess(command, 0, "", "")
        return subprocess.CompletedProcess(command, 1 if Installs.fails else 0, "", Installs.fails)

    monkeypatch.setattr(programs.subprocess, "run", run)
    Installs.calls = calls
    return Installs


def test_tools_are_installed_once_with_their_hashes(lock, installs):
    assert python(lock) == python(lock)
    _, pip = installs.calls
    assert {"--require-hashes", "--no-deps"} <= set(pip)
    assert pip[-2:] == ["-r", str(lock)]
    assert pip[0] == python(lock)


def test_a_failed_installation_is_reported_and_repeated(lock, installs):
    installs.fails = "Retrying ...\nERROR: No matching distribution found for a==1\n"
    with pytest.raises(UnavailableError, match="cannot be installed: ERROR: No matching distribution"):
        python(lock)
    installs.fails = ""
    python(lock)
    assert len(installs.calls) == 4


def test_another_lock_has_another_environment(lock, installs):
    before = python(lock)
    lock.write_text("a==2\n")
    assert python(lock) != before
