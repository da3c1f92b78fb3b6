"""How long a newcomer's JoinGroup is held, and a vacant seat kept.

Two clocks: seconds of the gateway's monotonic clock for every wait, and seconds since the epoch for the multiples at
which gateways act together without talking to each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings

__all__ = ["JoinWait", "join_wait", "kept_until"]


@dataclass(frozen=True, slots=True)
class JoinWait:
    """Monotonic seconds: when a newcomer that found no seat joins with a new one, and when it joins in any case.

    ``admitted_unseated_at`` counts in a group without seats, where no predecessor is waited for.
    """

    admitted_at: float
    admitted_unseated_at: float
    deadline: float


def join_wait(settings: SeatSettings, patience_seconds: float, now: float, epoch_seconds: float) -> JoinWait:
    """How long a JoinGroup that arrives ``now`` is held; ``patience_seconds``: what its client bears.

    Never longer than hold, admission and patience allow, but for the description of the group: also without a hold a
    newcomer takes a seat that is free. A new seat's lock is claimed before the deadline, but in a
    short wait not before its half.
    """
    wanted_seconds = max(settings.hold_seconds + settings.admission_seconds, settings.answer_seconds)
    deadline = now + max(0.0, min(wanted_seconds, patience_seconds))
    latest = max(deadline - settings.answer_seconds, (now + deadline) / 2)

    def admitted(hold_seconds: float) -> float:
        wanted = hold_seconds + _until_multiple(epoch_seconds + hold_seconds, settings.admission_seconds)
        return max(now, min(now + wanted, latest))

    return JoinWait(admitted(settings.hold_seconds), admitted(0.0), deadline)


def kept_until(settings: SeatSettings, now: float, epoch_seconds: float) -> float:
    """Until when a seat that becomes vacant ``now`` is kept.

    At the last multiple of the admission period within the limit, if there is one: several without a successor are
    given up together.
    """
    if settings.admission_seconds > 0:
        end = epoch_seconds + settings.vacant_seconds
        early = end % settings.admission_seconds
        if early < settings.vacant_seconds:
            return now + settings.vacant_seconds - early
    return now + settings.vacant_seconds


def _until_multiple(epoch_seconds: float, period: float) -> float:
    return 0.0 if period <= 0 else math.ceil(epoch_seconds / period) * period - epoch_seconds
