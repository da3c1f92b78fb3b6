"""One measured figure of a replayed attack."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ReplayedRow"]


class ReplayedRow(NamedTuple):
    """``finding``: its number in the review. ``before``: the review's figure, measured at commit 9e4b9f0."""

    finding: int
    attack: str
    figure: str
    before: str
    now: str
