"""Makes a capture of a terminal fit for the repository."""

from __future__ import annotations

import re

__all__ = ["plain"]


def plain(svg: str, comment: str) -> str:
    """Without fonts of other servers, and with the same short names of classes in each capture."""
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"terminal-\d+-", "t-", svg).replace("Fira Code", "monospace")
    lines = [line.rstrip() for line in re.sub(r"<!--.*?-->", f"<!-- {comment} -->", svg, count=1).splitlines()]
    return "\n".join(line for line in lines if line) + "\n"
