"""The smallest differences between two strategies that count."""

from __future__ import annotations

__all__ = ["MOVES_MIN", "SKEW_MIN", "STALL_MIN", "WORTH_PARTITION_SECONDS"]

SKEW_MIN = 0.05
"""Smallest difference of mean skew that counts, as a part of a member's share."""

STALL_MIN = 0.1
"""Smallest difference of stalls that counts, as a part of the stalled partition-seconds: the precision of the model."""

WORTH_PARTITION_SECONDS = 1.0
"""Fewest partition-seconds that advice about stalls must have saved over the history. Following it takes a changed
configuration and restarts of all members, which cost more than that."""

MOVES_MIN = 0.1
"""Smallest difference of moves that counts, as a part of the moves, where no stall is known."""
