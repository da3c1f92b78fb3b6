"""Defines advice: one recommended change, which a group can make without the others."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Advice", "AdviceKind"]

_ID_CHARACTERS = 16


class AdviceKind(StrEnum):
    """What a group is advised to change."""

    STRATEGY = "strategy"
    STATIC_MEMBERSHIP = "static_membership"


@dataclass(frozen=True, slots=True)
class Advice:
    """One change that a group is advised to make.

    ``strategy``: the name of the recommended strategy; None for other kinds. ``saved_share``: the predicted share (0 to
    1) of the group's stall that the change saves; None if it is advised for another reason than stall.
    """

    cluster_id: str
    group: str
    kind: AdviceKind
    strategy: str | None = None
    saved_share: float | None = None

    @property
    def advice_id(self) -> str:
        """Return the same id in each run that gives this advice: 16 hexadecimal digits."""
        # A name may contain lone surrogates, and every separator: so each part has its length.
        parts = (self.cluster_id, self.group, self.kind, self.strategy or "")
        text = "".join(f"{len(part)}:{part}" for part in parts)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_CHARACTERS]
