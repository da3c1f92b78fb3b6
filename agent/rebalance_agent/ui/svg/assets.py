"""Files that come with the code and are written into pages, or served beside them."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["asset"]


def asset(file: str, package: str = __package__) -> str:
    """The text of one file of ``package``."""
    return files(package).joinpath(file).read_text(encoding="utf-8").strip()
