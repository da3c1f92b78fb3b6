"""Names the command that installs an extra of this package, for error messages. Pure."""

from __future__ import annotations

__all__ = ["install_text"]


def install_text(extra: str) -> str:
    """Return the command for a checkout; no release is on PyPI yet."""
    return f"in a checkout: pip install '.[{extra}]'"
