"""The result of one check at the end of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """A check in words (``what``), and the problems that it found (``wrong``)."""

    what: str
    wrong: tuple[str, ...] = ()
