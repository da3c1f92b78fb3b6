"""The docstring of a package is its list of contents: it contains each of its modules and no other name.

Both rules are functions over a folder, so the last tests show that each rule can fail.
"""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import rebalance_agent

ROOT = Path(rebalance_agent.__file__).parent
PACKAGES = sorted(path.parent for path in ROOT.rglob("__init__.py") if path.parent != ROOT)
EVERY_NAME = {path.stem for path in ROOT.rglob("*.py")} | {package.name for package in PACKAGES}

UNLISTED_MAX = 3
"""Packages that need no list of modules, because their sentence suffices."""

LISTED_ELSEWHERE = {
    "cli/commands": "`rebalance-agent --help` lists the commands",
    "cli/pipeline": "`rebalance-agent pipeline --help` lists the stages",
}
"""Packages whose modules are only in their users' lists, with the reason."""


def contents(package):
    """Names of the modules and packages in ``package``."""
    return {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"} | {
        path.parent.name for path in package.glob("*/__init__.py")
    }


def named(package):
    """The names between double backquotes in the docstring of ``package`` that may be modules; ``*`` is any text."""
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    return set(re.findall(r"``([a-z][a-z0-9_*]*)``", docstring))


def unnamed(package):
    """Modules and packages in ``package`` that its docstring does not name."""
    return {name for name in contents(package) if not any(fnmatchcase(name, pattern) for pattern in named(package))}


def used_names(package):
    """Identifiers in the code of ``package``, which its docstring may name, too: third-party packages, functions."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py") if path.name != "__init__.py")
    return set(re.findall(r"[a-z][a-z0-9_]*", text))


def absent(package):
    """Names in the docstring of ``package`` that are neither our modules nor used in its code."""
    known = contents(package) | EVERY_NAME | used_names(package)
    return {pattern for pattern in named(package) if not any(fnmatchcase(name, pattern) for name in known)}


def below_root(package):
    return package.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    "package",
    [each for each in PACKAGES if len(contents(each)) > UNLISTED_MAX and below_root(each) not in LISTED_ELSEWHERE],
    ids=below_root,
)
def test_a_package_lists_its_modules(package):
    assert unnamed(package) == set()


@pytest.mark.parametrize("package", PACKAGES, ids=below_root)
def test_a_package_lists_no_removed_module(package):
    assert absent(package) == set()


@pytest.mark.parametrize("name", LISTED_ELSEWHERE)
def test_every_reason_for_a_list_elsewhere_is_needed(name):
    assert len(unnamed(ROOT / name)) > UNLISTED_MAX


def test_an_unlisted_module_and_a_name_without_a_module_are_detected(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "__init__.py").touch()
    for name in ("first", "watch_rows", "watch_app", "forgotten"):
        (tmp_path / f"{name}.py").write_text("import kafka\nsubscribe()\n")
    listed = '"""Things.\n\n- ``first``, ``watch_*``: these. ``inside``: more. ``kafka``, ``subscribe``, ``gone``,\n'
    (tmp_path / "__init__.py").write_text(listed + '  ``gone_*``, ``call()``, ``/metrics``."""\n')
    assert unnamed(tmp_path) == {"forgotten"}
    assert absent(tmp_path) == {"gone", "gone_*"}
