"""Why a JoinGroup is forwarded as it is, and a seat given up: for events, counters and ``explain``."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["GiveUpReason", "PlainReason"]


class PlainReason(StrEnum):
    """Why a JoinGroup is forwarded as it is, though the consumer may have a seat. For a counter's label."""

    OFF = "off"
    """Seats are off, or the gateway switched them off."""
    HELD_LONG_ENOUGH = "held_long_enough"
    """Its client waits no longer, or the setting is over."""
    NO_LOCK = "no_lock"
    """The lock did not answer, or was not confirmed lately: another gateway may have the seat."""
    FULL = "full"
    """As many JoinGroups are held, or seats and groups known, as may be."""
    COORDINATOR = "coordinator"
    """The coordinator refused the JoinGroup with an instance id."""


class GiveUpReason(StrEnum):
    """Why a seat is not kept: the member leaves as it does without a gateway. For a counter's label."""

    REBALANCE = "rebalance"
    """The group rebalances, and would wait for the vacant member."""
    NO_SUCCESSOR = "no_successor"
    """No newcomer came in time, or keeping the seat would cost more than two rebalances."""
    DIFFERENT_SUCCESSOR = "different_successor"
    """The newcomer subscribes otherwise."""
    GROUP_TYPE = "group_type"
    """The coordinator does not describe the group as one of its members' protocol."""
    NOT_ENDING = "not_ending"
    """The consumer left without ending: by its poll limit, by unsubscribe()."""
    CRASHED = "crashed"
    """The process is gone and did not come back within the crash window."""
    REFUSED = "refused"
    """The coordinator refused a heartbeat for the vacant member."""
