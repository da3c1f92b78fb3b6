"""Stores facts about a group other than this gateway's seats: its phase, other gateways' seats, and the locks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rebalance_agent.gateway.seats.rules.eligibility import SKIP_ASSIGNMENT_VERSION
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from rebalance_agent.gateway.seats.seat import Seat, SeatState, SeatTable

__all__ = ["FreeSeat", "GroupFacts", "GroupPhase", "SeatsRoster", "WaitingElsewhere", "successor_waits"]

ROSTER_SECONDS_MAX = 3.0
"""Seconds after which a description is too old to be used: two consecutive descriptions may fail or be late."""


class GroupPhase(StrEnum):
    """The state of a group at its coordinator; `UNKNOWN` before the first response that shows it."""

    UNKNOWN = "unknown"
    EMPTY = "empty"
    PREPARING = "preparing"
    """Members have to join; a newcomer joins this rebalance and causes no further rebalance."""
    COMPLETING = "completing"
    """All members have joined; a newcomer causes one more rebalance."""
    STABLE = "stable"


@dataclass(frozen=True, slots=True)
class FreeSeat:
    """A seat that another gateway offers (a seat that only seems unused does not count).

    ``fingerprint``: the fingerprint of the last member's profile; ``leads``: whether the last member leads the group.
    """

    instance_id: str
    fingerprint: str
    leads: bool


@dataclass(frozen=True, slots=True)
class WaitingElsewhere:
    """A newcomer whose JoinGroup another gateway holds: the profile's fingerprint and the JoinGroup's version."""

    fingerprint: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatsRoster:
    """A description of the group and its locks.

    ``members``: the number of members; ``seated``: the number of members with a seat of any gateway. ``mixed``: the
    group has members of both protocols, or is migrating. ``exists``: also False if the group has another protocol.
    ``epoch``: the group epoch (KIP-848), -1 in classic groups.
    """

    phase: GroupPhase
    members: int
    seated: int
    free: tuple[FreeSeat, ...] = ()
    waiting: tuple[WaitingElsewhere, ...] = ()
    mixed: bool = False
    exists: bool = True
    epoch: int = -1


@dataclass(slots=True)
class GroupFacts:
    """The newest facts, each with the time when it became known (seconds of the caller's clock)."""

    settings: SeatSettings
    phase: GroupPhase = GroupPhase.UNKNOWN
    roster: SeatsRoster | None = None
    _roster_at: float = float("-inf")
    _lock_at: float = float("-inf")

    def described(self, roster: SeatsRoster, now: float) -> None:
        """Process a description of the group."""
        self.roster, self._roster_at, self.phase = roster, now, roster.phase

    def lock_answered(self, now: float) -> None:
        """Process any answer from the coordinator about the locks."""
        self._lock_at = now

    def lock_confirmed(self, now: float) -> bool:
        """Whether the locks of this gateway were confirmed within ``lock_fresh_seconds``."""
        return now - self._lock_at <= self.settings.lock_fresh_seconds

    def known_roster(self, now: float) -> SeatsRoster | None:
        """Return the last description, unless it is too old."""
        return self.roster if now - self._roster_at <= ROSTER_SECONDS_MAX else None

    def mixed(self, now: float) -> bool:
        """Whether the last description (unless too old) shows a group with both protocols; it then gets no seats."""
        roster = self.known_roster(now)
        return roster is not None and roster.mixed

    def seatable(self, now: float) -> bool:
        """Whether the last description shows a group with members that all use the protocol of the group's seats."""
        roster = self.known_roster(now)
        return roster is not None and roster.members > 0 and not roster.mixed

    @property
    def joinable(self) -> bool:
        """Whether a newcomer could take a seat now without causing a rebalance."""
        return self.phase in (GroupPhase.STABLE, GroupPhase.PREPARING)


def successor_waits(seat: Seat, table: SeatTable, roster: SeatsRoster | None) -> bool:
    """Whether the newcomers equal to this seat at other gateways outnumber the equal vacant seats at all gateways."""
    if roster is None or seat.profile is None:
        return False
    fingerprint = seat.profile.fingerprint
    any_version = not seat.leads or table.settings.watches_topics
    waiting = sum(
        one.fingerprint == fingerprint and (any_version or one.version >= SKIP_ASSIGNMENT_VERSION)
        for one in roster.waiting
    )
    vacant = sum(
        other.state is SeatState.VACANT and other.profile is not None and other.profile.fingerprint == fingerprint
        for other in table
    )
    offered = sum(free.fingerprint == fingerprint and table.get(free.instance_id) is None for free in roster.free)
    return waiting > vacant + offered
