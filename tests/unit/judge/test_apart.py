"""The judge shares no code with the judged packages, and its script depends only on the seed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from judge.play.groups import GROUPS
from judge.play.transactions import offsets_partition, one_group_per_partition

JUDGE = Path(__file__).parents[2] / "judge"
STARTS_PROCESSES = ("rebalance_agent.artifacts", "rebalance_agent.testing")
"""Packages that start brokers and observers, which are not judged."""


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize("path", sorted(JUDGE.rglob("*.py")), ids=lambda path: str(path.relative_to(JUDGE)))
def test_only_packages_that_start_processes_are_imported(path):
    ours = [name for name in imported(path) if name.partition(".")[0] in ("rebalance_agent", "support", "chaos")]
    assert [name for name in ours if not name.startswith(STARTS_PROCESSES)] == []
    if path.parent.name != "play" and path.name != "__main__.py":
        assert ours == []


def test_there_are_groups_of_eight_kinds_of_clients_and_both_commit_intervals():
    assert len({group.kind for group in GROUPS}) >= 8
    assert {group.commit_ms for group in GROUPS} == {1_000, 5_000}
    assert len({group.name for group in GROUPS}) == len(GROUPS)


def test_the_partition_of_a_group_follows_from_javas_hash():
    assert offsets_partition("ck-range", 50) == 0x7FFFFFFF & java_hash("ck-range") % 50
    assert sorted(map(offsets_partition, one_group_per_partition("x"))) == [0, 1, 2, 3, 4, 5]


def java_hash(word):
    value = 0
    for letter in word:
        value = value * 31 + ord(letter)
    return value & 0x7FFFFFFF


def test_help_explains_the_exit_codes():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", JUDGE, "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "Exit code 0: no bound is false" in done.stdout
