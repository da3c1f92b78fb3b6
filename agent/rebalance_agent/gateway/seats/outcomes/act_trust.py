"""Follows how many acts of one kind were wrong in a row: a group whose acts do not keep their promise gets none."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from rebalance_agent.model.reported.seat_event import Act

__all__ = ["WRONG_MAX", "ActCheck", "ActTrust"]

WRONG_MAX = 3
"""Wrong acts of one kind in a row with which a group's seats are not worth their risk. One or two may be rebalances for
which another member was the cause just then."""


class ActCheck(StrEnum):
    """The result of the check of one act."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"
    """Nothing shows it, such as after a member that left."""


class ActTrust:
    """The wrong acts of one group at one gateway, by kind: a right handover proves nothing about joint admissions."""

    def __init__(self) -> None:
        """Nothing was wrong."""
        self._wrong: Counter[Act] = Counter()
        self.trusted = True

    def note(self, act: Act, check: ActCheck) -> None:
        """Take a result; `trusted` is False for ever once `WRONG_MAX` in a row were wrong, unknown ones left out."""
        if check is ActCheck.UNKNOWN:
            return
        self._wrong[act] = self._wrong[act] + 1 if check is ActCheck.WRONG else 0
        self.trusted = self.trusted and self._wrong[act] < WRONG_MAX
