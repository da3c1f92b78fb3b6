"""Computes how long a newcomer's JoinGroup is held, and how long a vacant seat is kept.

There are two clocks: seconds of the gateway's monotonic clock for every wait, and seconds since the epoch for the
multiples at which gateways act together without communicating.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings

__all__ = [
    "EPOCH_HEARTBEAT_SECONDS",
    "EPOCH_KEPT_SECONDS",
    "EPOCH_PATIENCE_SECONDS",
    "EPOCH_SESSION_SECONDS",
    "WAITING_SHARE",
    "Admission",
    "JoinWait",
    "held_seconds_max",
    "join_wait",
    "kept_until",
]

EPOCH_PATIENCE_SECONDS = 24.0
"""Seconds for which a member's first heartbeat (KIP-848) may be held: by default, Java waits 30 s for the answer
(request.timeout.ms), and librdkafka 45 s (measured). Without a gateway, the coordinator answers at once."""

EPOCH_HEARTBEAT_SECONDS = 5.0
"""Longest time (seconds) between heartbeats of a KIP-848 member: the brokers' default
(``group.consumer.heartbeat.interval.ms``)."""

EPOCH_SESSION_SECONDS = 45.0
"""The session timeout (seconds) of KIP-848 members. The broker sets it, and clients do not receive it. This is the
default, and by default also the minimum (``group.consumer.min.session.timeout.ms``)."""

EPOCH_KEPT_SECONDS = EPOCH_SESSION_SECONDS - 3.0
"""Longest time (seconds) for which a KIP-848 seat is kept after its member's last heartbeat, so that it is given up
while the member certainly still exists."""

WAITING_SHARE = 0.5
"""The part of a client's waiting time for which its JoinGroup is held; the rest is left for the rebalance."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The time (monotonic seconds) when a newcomer that found no free seat joins with a new seat.

    ``multiple``: the multiple of the admission period at which it joins with other newcomers; 0 if it joins alone.
    ``alone_at``: when it would join without an admission period.
    """

    at: float
    multiple: int = 0
    alone_at: float = 0.0

    @property
    def joint(self) -> bool:
        """Whether the newcomer joins at a multiple of the admission period."""
        return self.multiple > 0


@dataclass(frozen=True, slots=True)
class JoinWait:
    """The times of a held JoinGroup: ``admission``, and ``deadline`` (monotonic seconds): the latest time to send it.

    ``unseated_admission`` applies in a group without seats, where no predecessor can leave.
    """

    admission: Admission
    unseated_admission: Admission
    deadline: float


def held_seconds_max(settings: SeatSettings, patience_seconds: float) -> float:
    """Return the longest time in seconds for which a JoinGroup is held."""
    return min(max(settings.hold_seconds, settings.answer_seconds) + settings.admission_seconds, patience_seconds)


def join_wait(settings: SeatSettings, patience_seconds: float, now: float, epoch_seconds: float) -> JoinWait:
    """Return how long to hold a JoinGroup that arrives ``now``; ``patience_seconds``: the longest wait of its client.

    This time is at most `held_seconds_max`. Even without a hold, a newcomer waits for the description of the group and
    takes a free seat. A new seat's lock is claimed before the deadline, but not before half of a short wait has passed.
    A client that does not wait until the next multiple of the admission period joins after the hold.
    """
    patience = max(0.0, patience_seconds)
    longest = min(max(settings.hold_seconds, settings.answer_seconds), patience)
    latest = max(longest - settings.answer_seconds, longest / 2)

    def admitted(hold_seconds: float) -> Admission:
        alone = min(hold_seconds, latest)
        period = settings.admission_seconds
        multiple = math.ceil((epoch_seconds + alone) / period) if period > 0 else 0
        together = multiple * period - epoch_seconds
        if not multiple or together + settings.answer_seconds > patience:
            return Admission(now + alone, alone_at=now + alone)
        return Admission(now + together, multiple, now + alone)

    seated, unseated = admitted(settings.hold_seconds), admitted(0.0)
    waits = [one.at + settings.answer_seconds for one in (seated, unseated) if one.joint]
    return JoinWait(seated, unseated, max([now + longest, *waits]))


def kept_until(settings: SeatSettings, now: float, epoch_seconds: float) -> float:
    """Return the time until which to keep a seat that becomes vacant ``now``.

    This is the last multiple of the admission period within the limit, if there is one, so that several seats without a
    successor are given up together.
    """
    if settings.admission_seconds > 0:
        end = epoch_seconds + settings.vacant_seconds
        early = end % settings.admission_seconds
        if early < settings.vacant_seconds:
            return now + settings.vacant_seconds - early
    return now + settings.vacant_seconds
