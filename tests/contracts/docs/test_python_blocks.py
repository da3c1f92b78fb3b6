"""Python code in the documentation compiles, and its imports exist."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^( *)```python[^\n]*\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
BLOCKS = [
    pytest.param(page.name, textwrap.dedent(found[2]), id=f"{page.relative_to(ROOT)}-{number}")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    for number, found in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8")), 1)
]


def test_every_block_was_found():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert len(BLOCKS) == sum(page.read_text(encoding="utf-8").count("```python") for page in pages) > 0


@pytest.mark.parametrize(("page", "code"), BLOCKS)
def test_a_block_compiles_and_its_imports_resolve(page, code):
    compile(code, page, "exec")
    body = [each for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Import | ast.ImportFrom)]
    exec(compile(ast.Module(body, []), page, "exec"), {})
