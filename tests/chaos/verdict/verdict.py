"""The result of one check at the end of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """``what`` was checked, in words, and what was ``wrong``."""

    what: str
    wrong: tuple[str, ...] = ()
