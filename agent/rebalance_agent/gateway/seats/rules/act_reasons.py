"""The reasons why a JoinGroup is forwarded unchanged, and why a seat is given up: for events and counters."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["GiveUpReason", "PlainReason"]


class PlainReason(StrEnum):
    """The reason why a JoinGroup is forwarded unchanged although its consumer may have a seat.

    For a counter's label.
    """

    OFF = "off"
    """Seats are off, or the gateway switched them off."""
    HELD_LONG_ENOUGH = "held_long_enough"
    """The client will not wait any longer, or the configured hold has ended."""
    IMPATIENT = "impatient"
    """A client with the same id closed its connection while its JoinGroup was held: it may wait for less time than
    most."""
    NO_LOCK = "no_lock"
    """The lock request had no answer, or the lock was not confirmed recently: another gateway may have the seat."""
    FULL = "full"
    """The maximum number of held JoinGroups, seats or groups is reached."""
    COORDINATOR = "coordinator"
    """The coordinator refused the JoinGroup with an instance id."""


class GiveUpReason(StrEnum):
    """The reason why a seat is not kept and the member leaves as it would without a gateway. For a counter's label."""

    REBALANCE = "rebalance"
    """The group rebalances, and would wait for the vacant member."""
    NO_SUCCESSOR = "no_successor"
    """No newcomer joined in time, or keeping the seat would cost more than two rebalances."""
    DIFFERENT_SUCCESSOR = "different_successor"
    """The newcomer has another subscription."""
    GROUP_TYPE = "group_type"
    """The coordinator's description does not show that the group uses the protocol of its members."""
    NOT_ENDING = "not_ending"
    """The consumer left but its process continues: it exceeded its poll limit or called unsubscribe()."""
    CRASHED = "crashed"
    """The process closed its connections and did not reconnect within the crash window."""
    REFUSED = "refused"
    """The coordinator refused a heartbeat for the vacant seat's member."""
