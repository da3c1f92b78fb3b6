"""Acts of a gateway on the seats of a group, and the consumer that has had a member since then."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from rebalance_agent.model.reported.workload import Workload

__all__ = ["SEAT_PREFIX", "Act", "ActOutcome", "SeatEvent", "SeatOccupant", "names_seat"]

SEAT_PREFIX = "rebalance-agent-seat-"
"""Prefix of every instance id that a gateway assigns."""


def names_seat(instance_id: str | None) -> bool:
    """Whether a gateway assigned this instance id."""
    return instance_id is not None and instance_id.startswith(SEAT_PREFIX)


class Act(StrEnum):
    """The act that was carried out, or would have been. A fixed set, for a counter's label."""

    HOLD = "hold"
    """A newcomer's JoinGroup was held for a predecessor."""
    SEAT = "seat"
    """A newcomer joined with a new seat."""
    ADMIT = "admit"
    """A newcomer joined with a new seat at a multiple of the admission period, together with others."""
    HANDOVER = "handover"
    """A newcomer took the seat of its predecessor."""
    CLAIM = "claim"
    """The gateway requested, for a newcomer, the lock of a seat that another gateway offers."""
    KEEP = "keep"
    """A LeaveGroup was answered by the gateway, and the member's seat kept."""
    GIVE_UP = "give_up"
    """A seat without a consumer was given up."""
    RESTORE = "restore"
    """A member continued with the seat that it had before the gateway restarted; failed: the list of seats was not read
    or not written."""
    PASS_JOIN = "pass_join"  # noqa: S105 - no password
    """A JoinGroup without a member id was forwarded as it is."""
    PASS_LEAVE = "pass_leave"  # noqa: S105
    """A LeaveGroup was forwarded as it is."""


class ActOutcome(StrEnum):
    """The outcome of an act. A fixed set, for a counter's label."""

    DONE = "done"
    FAILED = "failed"
    """An error of the gateway, or no answer; the client's own frame was forwarded."""
    REFUSED = "refused"
    """The coordinator refused it; a newcomer's own JoinGroup was forwarded."""
    PREDICTED = "predicted"
    """Mode ``observe``: every frame was forwarded as it is."""
    RIGHT = "right"
    """The act was carried out and had the effect that it was meant to have: see docs/seats.md."""
    WRONG = "wrong"
    """The act was carried out and did not have that effect."""
    UNKNOWN = "unknown"
    """The act was carried out, and its effect cannot be known."""


@dataclass(frozen=True, slots=True)
class SeatEvent:
    """A gateway changed which consumer has a seat. Published again, with a higher revision, when its outcome is known.

    ``timestamp_ms`` is by the gateway's clock. ``member_id``: the seat's member afterwards; for a seat that is kept
    or given up, its last one. ``client_id`` and ``host``: the consumer that has the member; None if there is none, if
    it is unknown, and where the coordinator names the one that took the seat (KIP-848). ``reason``: why a
    seat was given up.

    ``former_member_id``: for a handover, the member that had the seat before. ``stopped_ms``: by when (epoch ms) the
    consumer of that member had stopped, since it had asked to leave or its process had closed all its connections;
    None if this gateway did not see that, or if the consumer turned out to be alive.

    ``together``: for a newcomer that was admitted with others, the number of newcomers of this gateway that join at
    that time, of which one rebalance is expected; ``held_seconds``: how long its JoinGroup waited.
    ``rebalances_spared`` and ``partition_seconds_spared``: lower bounds, None until they are known.
    """

    KIND: ClassVar[str] = "seat"

    event_id: str
    group: str
    timestamp_ms: int
    act: Act
    outcome: ActOutcome
    member_id: str
    process: str
    sequence: int
    cluster_id: str = ""
    instance_id: str | None = None
    generation: int | None = None
    client_id: str | None = None
    host: str | None = None
    reason: str | None = None
    former_member_id: str | None = None
    stopped_ms: int | None = None
    held_seconds: float | None = None
    together: int | None = None
    rebalances_spared: int | None = None
    partition_seconds_spared: float | None = None
    where: Workload | None = None
    revision: int = 0

    @property
    def carried_out(self) -> bool:
        """Whether the act was carried out, with any outcome."""
        return self.outcome not in (ActOutcome.REFUSED, ActOutcome.FAILED)

    @property
    def occupant(self) -> SeatOccupant | None:
        """The consumer that took the seat of another one; None if the coordinator names the right one, or none."""
        if self.act is not Act.HANDOVER or not self.carried_out:
            return None
        if not (self.client_id or self.host):
            return None
        return SeatOccupant(self.client_id or "", self.host or "", self.timestamp_ms)


@dataclass(frozen=True, slots=True)
class SeatOccupant:
    """The consumer that has a member's seat, though the coordinator names another one.

    ``client_id``, ``host``: as its gateway read them, empty if unknown; ``since_ms``: epoch milliseconds by the
    gateway's clock.
    """

    client_id: str
    host: str
    since_ms: int
