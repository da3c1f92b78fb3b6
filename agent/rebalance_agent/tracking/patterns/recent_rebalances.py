"""Keeps the times when a group's last rebalances completed; many within minutes are a storm."""

from __future__ import annotations

__all__ = ["RECENT_MAX", "RECENT_MS", "with_rebalance"]

RECENT_MS = 15 * 60_000
"""How long (ms) before the last rebalance times are kept: the window of the alert on rebalance storms."""

RECENT_MAX = 64
"""Maximum number of times kept per group, the newest. A storm of more rebalances than this is not recognised in a large
group."""


def with_rebalance(times_ms: tuple[int, ...], at_ms: int) -> tuple[int, ...]:
    """Return the completion times (epoch ms, newest first) with ``at_ms`` added and too old ones removed."""
    times = sorted((*times_ms, at_ms), reverse=True)
    return tuple(time for time in times[:RECENT_MAX] if time > times[0] - RECENT_MS)
