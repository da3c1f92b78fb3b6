"""The files and tests that the threat model, the supply chain, security and trust name exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "agent" / "rebalance_agent"
REFERENCE = ROOT / "docs" / "reference"
PAGE = "".join((REFERENCE / name).read_text(encoding="utf-8") for name in ("threat-model.md", "supply-chain.md"))
TABLE = PAGE.partition("## Defences")[2].partition("\n\n## Remaining risks")[0]
ROWS = [row.strip("| ").split(" | ") for row in TABLE.splitlines() if row.startswith("| ")][2:]
SHORT_PAGES = "".join((REFERENCE.parent / name).read_text(encoding="utf-8") for name in ("security.md", "trust.md"))
TESTS = re.findall(r"`(tests/[\w/.]+)::([\w:]+)`", PAGE + SHORT_PAGES)


@cache
def collected(path):
    """The file's tests under the names by which pytest runs one: ``test_that``, ``TestThis::test_that``."""
    return set(_tests(ast.parse((ROOT / path).read_text(encoding="utf-8")).body))


def _tests(body, within=""):
    for each in body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name.startswith("test"):
            yield within + each.name
        elif isinstance(each, ast.ClassDef) and each.name.startswith("Test"):
            yield from _tests(each.body, f"{within}{each.name}::")


@pytest.mark.parametrize(("path", "name"), TESTS)
def test_pytest_finds_a_test_by_its_given_name(path, name):
    assert name in collected(path)


def test_every_row_names_a_test_and_no_test_without_its_name():
    assert len(ROWS) > 20
    assert [row[0] for row in ROWS if not re.search(r"`tests/[\w/.]+::[\w:]+`", row[2])] == []
    assert re.findall(r"`tests/[\w/.]+`", PAGE + SHORT_PAGES) == []


def test_enforcing_files_exist():
    named = {each for row in ROWS for each in re.findall(r"`([\w/]+(?:\.py|/))`", row[1])}
    assert len(named) > 15
    assert {each for each in named if not (PACKAGE / each).exists()} == set()
