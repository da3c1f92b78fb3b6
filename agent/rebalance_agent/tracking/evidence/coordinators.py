"""Detects when a group gets a new coordinator, from the leader epochs of the coordinator's records.

A coordinator that takes over a partition of the offsets topic restarts the session timeout of every member, and
restarts a running classic rebalance. So a member that is removed later may have been silent for longer than one session
timeout.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from rebalance_agent.tracking.evidence.known_times import CoordinatorChange

__all__ = ["CHANGES_MAX", "Coordinators", "changed_since", "last_contact_ms"]

CHANGES_MAX = 8
"""Changes kept per partition. If the coordinator changes more often without a contact, a member's last contact is
estimated too late."""

_UNKNOWN_EPOCH = -1


class Coordinators:
    """The recent changes of coordinators, for each partition of the offsets topic."""

    def __init__(self) -> None:
        """Start without records."""
        self._last: dict[int, tuple[int, int]] = {}
        self._changes: dict[int, deque[CoordinatorChange]] = {}

    def see(self, partition: int, leader_epoch: int, timestamp_ms: int) -> None:
        """Process a record, given its leader's epoch (-1 if unknown) and its timestamp (epoch ms)."""
        if leader_epoch == _UNKNOWN_EPOCH:
            return
        epoch, last_ms = self._last.get(partition, (leader_epoch, timestamp_ms))
        if epoch != leader_epoch:
            changes = self._changes.setdefault(partition, deque(maxlen=CHANGES_MAX))
            changes.append(CoordinatorChange(min(last_ms, timestamp_ms), timestamp_ms))
        self._last[partition] = leader_epoch, timestamp_ms

    def changes(self, partition: int) -> tuple[CoordinatorChange, ...]:
        """Return the known changes of a partition's coordinator, oldest first."""
        return tuple(self._changes.get(partition, ()))


def changed_since(at_ms: int, changes: Iterable[CoordinatorChange]) -> bool:
    """Whether the coordinator may have changed after ``at_ms`` (epoch ms)."""
    return any(change.until_ms >= at_ms for change in changes)


def last_contact_ms(removed_ms: int, session_timeout_ms: int, changes: Iterable[CoordinatorChange]) -> int:
    """Return the earliest possible last contact (epoch ms) of a member that was removed at ``removed_ms`` (epoch ms).

    This time is one session timeout before the removal. If the coordinator changed in that timeout, the time is one
    session timeout before the last record of the former coordinator, which had not removed the member.
    """
    contact_ms = removed_ms - session_timeout_ms
    for change in sorted(changes, key=lambda change: change.until_ms, reverse=True):
        if change.until_ms >= contact_ms:
            contact_ms = min(contact_ms, change.after_ms - session_timeout_ms)
    return contact_ms
