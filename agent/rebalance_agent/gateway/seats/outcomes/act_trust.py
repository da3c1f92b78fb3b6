"""Counts consecutive wrong acts of each kind: a group whose acts do not have the intended effect gets no more acts."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from rebalance_agent.model.reported.seat_event import Act

__all__ = ["WRONG_MAX", "ActCheck", "ActTrust"]

WRONG_MAX = 3
"""Number of consecutive wrong acts of one kind after which a group gets no more seats. One or two may count as wrong
because another member caused a rebalance at the same time."""


class ActCheck(StrEnum):
    """The result of the check of one act."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"
    """There is no evidence, for example after a member left."""


class ActTrust:
    """The wrong acts of one group at one gateway, by kind: a correct handover proves nothing about joint admissions."""

    def __init__(self) -> None:
        """Start without wrong acts."""
        self._wrong: Counter[Act] = Counter()
        self.trusted = True

    def note(self, act: Act, check: ActCheck) -> None:
        """Record a result. After `WRONG_MAX` consecutive wrong results (ignoring unknown), `trusted` stays False."""
        if check is ActCheck.UNKNOWN:
            return
        self._wrong[act] = self._wrong[act] + 1 if check is ActCheck.WRONG else 0
        self.trusted = self.trusted and self._wrong[act] < WRONG_MAX
