"""The smallest differences between two strategies that count."""

from __future__ import annotations

__all__ = ["CLUSTERED_MAX", "CLUSTERED_MIN", "MOVES_MIN", "SKEW_MIN", "STALL_MIN", "WORTH_PARTITION_SECONDS"]

SKEW_MIN = 0.05
"""Smallest difference of mean skew that counts, as a part of a member's share."""

CLUSTERED_MIN = 0.25
"""Smallest difference that counts of the mean share of topics that are entirely on one host."""

CLUSTERED_MAX = 0.5
"""Share of topics entirely on one host above which advice mentions it, as the alert ``KafkaGroupTopicsOnOneHost``."""

STALL_MIN = 0.1
"""Smallest difference of stalls that counts, as a part of the stalled partition-seconds: the precision of the model."""

WORTH_PARTITION_SECONDS = 1.0
"""Fewest partition-seconds that advice about stalls must have saved over the history. Following the advice takes a
changed configuration and restarts of all members, which cost more than this."""

MOVES_MIN = 0.1
"""Smallest difference of moves that counts, as a part of the moves, where no stall is known."""
