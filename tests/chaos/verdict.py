"""The result of one check at the end of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """``what`` in words, and what of it is ``wrong``."""

    what: str
    wrong: tuple[str, ...] = ()
