"""Measures how long a rebalance of an epoch group waits for the coordinator's assignor."""

from __future__ import annotations

from rebalance_agent.model.epoch_groups import GroupEpoch

__all__ = ["AssignorWait"]


class AssignorWait:
    """Adds up the time in which the target assignment is older than the group epoch, from the records' timestamps.

    The coordinator writes the group epoch and the target assignment in one batch, unless it collects changes for a
    while before it assigns (KIP-1263, ``group.consumer.assignment.interval.ms``), or computing a large assignment takes
    long.
    """

    def __init__(self) -> None:
        """Start with a sum of zero."""
        self._since_ms: int | None = None
        self._total_ms = 0

    def begin(self, at_ms: int) -> None:
        """Reset the sum for a new rebalance: the assignment may already be outdated, as in a group without members."""
        self._total_ms = 0
        self._since_ms = None if self._since_ms is None else at_ms

    def update(self, at_ms: int, epoch: GroupEpoch | None, target_epoch: int) -> None:
        """Process both epochs, after a record changed one of them."""
        if epoch is not None and target_epoch < epoch.epoch:
            self._since_ms = at_ms if self._since_ms is None else self._since_ms
        elif self._since_ms is not None:
            self._total_ms += max(0, at_ms - self._since_ms)
            self._since_ms = None

    @property
    def seconds(self) -> float:
        """The sum since `begin`, in seconds."""
        return self._total_ms / 1000
