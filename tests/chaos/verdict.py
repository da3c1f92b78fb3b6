"""What one look at the end found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """``what`` in words, and what of it is ``wrong``."""

    what: str
    wrong: tuple[str, ...] = ()
