"""The smallest differences between two strategies that count in advice."""

from __future__ import annotations

__all__ = ["CLUSTERED_MAX", "CLUSTERED_MIN", "MOVES_MIN", "SKEW_MIN", "STALL_MIN", "WORTH_PARTITION_SECONDS"]

SKEW_MIN = 0.05
"""Smallest difference of mean skew that counts, as a fraction of a member's share."""

CLUSTERED_MIN = 0.25
"""Smallest difference that counts between mean shares of topics that are entirely on one host."""

CLUSTERED_MAX = 0.5
"""Advice mentions a higher share of topics entirely on one host: the threshold of ``KafkaGroupTopicsOnOneHost``."""

STALL_MIN = 0.1
"""Smallest difference of stalls that counts, as a fraction of all stalls: the precision of the model."""

WORTH_PARTITION_SECONDS = 1.0
"""Fewest partition-seconds that advice about stalls must have saved over the history. To follow the advice, users
change the configuration and restart all members, which costs more than this."""

MOVES_MIN = 0.1
"""Smallest difference of moves that counts if no stall is known, as a fraction of the moves."""
