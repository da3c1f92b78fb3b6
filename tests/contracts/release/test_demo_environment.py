"""`make demo` has a small environment that is complete and has the versions that the tests use."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rebalance_agent.testing.kafka.kafka_versions import DEFAULT_VERSION, kafka_version
from supply.locks import locked

ROOT = Path(__file__).parents[3]
PROCESSES = (
    "rebalance_agent.artifacts.maven",
    "rebalance_agent.cli.commands.demo",
    "rebalance_agent.cli.commands.gateway",
    "rebalance_agent.cli.commands.observe",
    "rebalance_agent.cli.commands.sidecar",
    "rebalance_agent.clients.kafka_python",
    "rebalance_agent.demo.processes.member",
    "rebalance_agent.demo.processes.member_commands",
    "rebalance_agent.demo.processes.producer",
)
"""Modules that the demo and its processes import."""

WITH_NOTHING_ELSE = """
import importlib, importlib.metadata, re, sys

modules, locked = sys.argv[1].split(), set(sys.argv[2].split())
packages = {
    name: {re.sub("[-_.]+", "-", each).lower() for each in distributions}
    for name, distributions in importlib.metadata.packages_distributions().items()
}

class Locked:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top != "rebalance_agent" and top in packages and not packages[top] & locked:
            raise ModuleNotFoundError(f"{top} is not in demo.lock", name=top)

sys.meta_path.insert(0, Locked())
for module in modules:
    importlib.import_module(module)
"""
"""Import the modules in the first argument with only the packages of the second one installed."""


@pytest.fixture
def checkout(tmp_path):
    """The files of a fresh checkout that the Makefile uses."""
    for name in ("Makefile", "pyproject.toml", "requirements/demo.lock", "requirements/dev.lock"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def commands(checkout: Path, goal: str) -> str:
    """The commands of ``make GOAL``."""
    command = [shutil.which("make") or "make", "--dry-run", "--no-print-directory", goal]
    return subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True).stdout


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w.-]+", each)[0].lower() for each in requirements}


def test_the_small_environment_has_the_demo_extra_and_no_other():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    asked = names(extras["agent"] + extras["kafka-python"] + extras["testing"] + extras["demo"])
    asked.remove("kafka-rebalance-agent")
    packages = {package.name for package in locked("demo")}
    assert asked <= packages
    assert not (names(extras["pipeline"] + extras["aiokafka"] + extras["watch"]) - asked) & packages


def test_the_small_environment_has_the_tested_versions_and_files():
    assert set(locked("demo")) <= set(locked("dev"))


def test_the_small_environment_has_all_imports_of_the_demos_processes():
    packages = " ".join(package.name for package in locked("demo"))
    command = [sys.executable, "-P", "-c", WITH_NOTHING_ELSE, " ".join(PROCESSES), packages]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr


def test_a_fresh_checkout_gets_the_small_environment(checkout):
    run = commands(checkout, "demo")
    assert "-m venv --without-pip .venv-demo " in run
    assert "-r requirements/demo.lock" in run
    assert "dev.lock" not in run
    assert ".venv-demo/bin/python -P -m rebalance_agent.cli.main demo" in run


@pytest.mark.parametrize(
    ("module", "message"),
    [("json", "cannot create .venv-demo: see the error above"), ("no_such", "Python's venv module is missing")],
)
def test_a_failed_environment_is_blamed_on_venv_only_if_venv_is_missing(checkout, module, message):
    python = checkout / "python"
    # Like Python in a folder where nothing can be written: everything works except `-m venv`.
    python.write_text(
        "#!/bin/sh\n"
        'case "$1$2" in\n'
        '-mvenv) echo "Error: [Errno 30] Read-only file system" >&2; exit 1;;\n'
        f"*'import venv, ensurepip'*) exec {sys.executable} -c 'import {module}';;\n"
        f'esac\nexec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    command = [shutil.which("make") or "make", "--no-print-directory", "demo", f"PYTHON={python}"]
    done = subprocess.run(command, cwd=checkout, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Read-only file system" in done.stderr
    assert message in done.stderr


def test_the_complete_environment_is_used_if_it_exists(checkout):
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / ".complete").touch()
    run = commands(checkout, "demo")
    assert "pip install" not in run
    assert ".venv/bin/python -P -m rebalance_agent.cli.main demo" in run


def test_the_small_environment_is_removed_by_clean_and_ignored_by_git(checkout):
    assert " .venv-demo " in commands(checkout, "clean")
    assert ".venv-demo/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("page", ["README.md", "docs/demo.md"])
def test_the_documented_download_size_is_current(page):
    jars = sum(artifact.size for artifact in kafka_version(DEFAULT_VERSION).artifacts) / 1e6
    (packages,) = re.findall(r"-demo,(\d+) MB\)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    text = (ROOT / page).read_text(encoding="utf-8")
    assert re.search(rf"\b{packages} MB\b", text)
    assert re.search(rf"\b{jars:.0f} MB\b", text)
