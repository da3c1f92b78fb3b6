"""The mode of seats, and the limits for seats."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["SeatMode", "SeatSettings"]


class SeatMode(StrEnum):
    """The mode of seats: a fixed set, for a counter's label."""

    OFF = "off"
    """Forward every frame unchanged, and decide nothing."""
    OBSERVE = "observe"
    """Decide, but forward every frame unchanged, and count what the acts would have saved and cost."""
    ON = "on"
    """Decide, and carry out the decisions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatSettings:
    """The limits of the seats of one gateway.

    A newcomer's JoinGroup is held for up to ``hold_seconds`` until a predecessor leaves, and then until the next
    multiple of ``admission_seconds`` (0: no such wait), when newcomers of all gateways join together. It is never held
    for longer than its client waits for the response.

    A vacant seat is kept for ``vacant_seconds``, by a heartbeat every ``keeper_seconds``: as soon as the group
    rebalances, other members wait for the vacant seat's member, and the gateway detects the rebalance with at most this
    delay. If a process is gone, its seat is free for others ``reconnect_seconds`` after the last connection was closed
    (a client that only reconnects does so at once), and given up after ``crash_window_seconds``. A process that ends
    closes its connections within ``leave_close_seconds`` of its LeaveGroup; a process that does not will not be
    replaced.

    A LeaveGroup waits at most ``leave_seconds`` for a description of the group: its client is closing, and waits about
    as long for the answer. A seat that is kept only for a newcomer that already waits is kept for ``handover_seconds``.

    A lock that was not confirmed for ``lock_fresh_seconds`` counts as lost: less than the 45 s after which another
    gateway may get it. The gateway waits up to ``answer_seconds`` for a lock or a description of the group, and
    describes the group again every ``roster_seconds`` while a JoinGroup is held.

    ``watches_topics``: the gateway detects new partitions and topics of a group, so it may hand over a leader's seat to
    a client with a JoinGroup below v9, which would not detect them itself.

    Bounds: ``held_max``: JoinGroups of one group held at a time, since each keeps its frame in memory; ``seats_max``:
    seats of one group, since each is saved and searched; ``groups_max``: groups. Beyond these bounds, frames are
    forwarded unchanged.
    """

    hold_seconds: float = 60.0
    admission_seconds: float = 0.0
    vacant_seconds: float = 30.0
    keeper_seconds: float = 0.5
    crash_window_seconds: float = 10.0
    reconnect_seconds: float = 1.0
    leave_close_seconds: float = 3.0
    lock_fresh_seconds: float = 10.0
    answer_seconds: float = 1.0
    roster_seconds: float = 1.0
    leave_seconds: float = 1.0
    handover_seconds: float = 5.0
    watches_topics: bool = False
    held_max: int = 1_000
    seats_max: int = 1_000
    groups_max: int = 100
