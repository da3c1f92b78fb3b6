"""A module's ``__all__`` is complete and in order, and every public name is documented."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import rebalance_agent

ROOT = Path(rebalance_agent.__file__).parent
MODULES = sorted(
    path
    for path in ROOT.rglob("*.py")
    if path.name not in ("__main__.py", "__init__.py") and "_vendor" not in path.parts
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_dunder_all_lists_the_modules_public_names(path):
    tree = ast.parse(path.read_text())
    module = importlib.import_module(
        ".".join((rebalance_agent.__name__, *path.relative_to(ROOT).with_suffix("").parts)),
    )
    exported = module.__all__
    assert exported == sorted(exported, key=_ruff_order), "__all__ is not sorted"
    defined = {name for node in tree.body for name in _defined(node)}
    assert set(exported) <= defined, "__all__ contains undefined names"
    public = {name for name in defined if not name.startswith("_") and not name.isupper()} - {"logger"}
    assert public <= set(exported), "public names missing in __all__"
    assert ast.get_docstring(tree), "a module has a docstring"


def _defined(node):
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name) and target.id != "__all__"]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def _ruff_order(name):
    parts = [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, parts)
