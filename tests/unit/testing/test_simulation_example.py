"""The documented example prints the documented output."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "coordinator-model.md"


def test_the_example_prints_what_the_page_shows(capsys):
    code, output = re.search(
        r"```python\n(.*?)```.*?```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    ).groups()
    exec(compile(code, str(PAGE), "exec"), {})
    assert capsys.readouterr().out == output
