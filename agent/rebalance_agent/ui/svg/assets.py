"""Reads style sheets and scripts that are shipped with the code, to serve them or to write them into pages."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["asset"]


def asset(file: str, package: str = __package__) -> str:
    """Return the text of ``file`` in ``package``, without surrounding blanks."""
    return files(package).joinpath(file).read_text(encoding="utf-8").strip()
