"""Claims and releases the locks of one group's seats for `GroupSeats`.

A lock is only needed for a seat that passes from one gateway to another. A vacant seat is *offered*: its lock is
claimed and released at once, and from then on appears in descriptions with its note. A newcomer's gateway claims the
lock, checks whether the seat still has the member in the note, takes the seat, and releases the lock. A seat that was
never offered needs no claim, since no other gateway may take this seat.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from rebalance_agent.gateway.seats.group_facts import FreeSeat, WaitingElsewhere
from rebalance_agent.gateway.seats.locks.group_locks import SESSION_SECONDS, GroupLocks
from rebalance_agent.gateway.seats.locks.lock_acts import (
    UNUSABLE,
    LockAct,
    LockAnswer,
    LockBeat,
    LockChange,
    LockLoss,
    MemberCheck,
)
from rebalance_agent.gateway.seats.locks.lock_frames import LockHolder
from rebalance_agent.gateway.seats.locks.lock_notes import (
    WAITING_PREFIX,
    offered_member,
    offered_seats,
    waiting_elsewhere,
    waiting_note,
)
from rebalance_agent.gateway.seats.rules.seat_answers import FENCED
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from rebalance_agent.groupprotocol.wire.error_codes import COORDINATOR_MOVED

__all__ = ["REFUSED_SECONDS", "SeatLocks"]

REFUSED_SECONDS = 60.0
"""Seconds without claims after the cluster refused locks: permissions may be granted in the meantime."""

OFFER_SECONDS = SESSION_SECONDS / 3
"""Seconds after which a seat is offered again: a released lock appears in descriptions until its session ends."""

AGAIN_SECONDS = 1.0
"""Seconds after which an offer, or the note about waiting newcomers, is tried again."""


@dataclass(slots=True)
class _Offer:
    """A vacant seat of this gateway. ``sent``: other gateways may have the offer. ``again_at``: when to repeat it."""

    note: str
    again_at: float
    sent: bool = False


@dataclass(slots=True)
class _Asked:
    """A seat that a newcomer requests; ``member_id``: the seat's last member according to the note.

    ``checked``: the coordinator has confirmed that the seat still has this member.
    """

    member_id: str
    asks: bool = False
    checked: bool = False


class SeatLocks:
    """The locks of one group, and this gateway's notes for other gateways. For times, see `GroupLocks`.

    Acts are `LockBeat` to be sent, `MemberCheck`, and `LockChange` for locks that a newcomer of this gateway requested,
    or with the reason why the cluster has no locks. If ``on`` is False, this gateway offers no seats and requests no
    locks.
    """

    def __init__(self, settings: SeatSettings, member_ids: Iterator[str], token: str, *, on: bool) -> None:
        """Start without locks. ``token``: a random text, new at each start of the gateway."""
        self._locks = GroupLocks(settings, member_ids)
        self._usable_at = self._begins_at = -math.inf if on else math.inf
        self._waiting = WAITING_PREFIX + token
        self._waiting_note: str | None = None
        self._waiting_at = -math.inf
        self._offers: dict[str, _Offer] = {}
        self._asked: dict[str, _Asked] = {}
        self._elsewhere: dict[str, str] = {}

    def usable(self, now: float) -> bool:
        """Whether locks may be claimed and described."""
        return now >= self._usable_at

    def fresh(self, now: float) -> bool:
        """Whether the confirmations of all newcomers' locks are recent enough."""
        return not any(self._locks.stale(instance_id, now) for instance_id in self._asked)

    # -- what the seats ask for --------------------------------------------------------------------------------

    def claim(self, instance_id: str, now: float) -> list[LockAct]:
        """Claim a seat's lock for a newcomer of this gateway (`ClaimLock`)."""
        offer = self._offers.get(instance_id)
        note = self._elsewhere.get(instance_id)
        if offer is not None and (offer.sent or instance_id in self._locks):
            note = offer.note
        if note is None:
            return [LockChange(instance_id)]
        self._asked.setdefault(instance_id, _Asked(offered_member(note)))
        return self._sorted(self._locks.claim(instance_id, now, note), now)

    def release(self, instance_id: str, now: float, note: str | None) -> list[LockAct]:
        """Release a seat's lock: no newcomer takes it, or its consumer has left; ``note``: the vacant seat's note."""
        self._asked.pop(instance_id, None)
        if note is None:
            self._offers.pop(instance_id, None)
            return list(self._locks.release(instance_id, now))
        offer = self._offers.setdefault(instance_id, _Offer(note, now))
        return self._offered(instance_id, offer, now)

    def taken(self, instance_id: str, now: float) -> list[LockAct]:
        """End the offer of a seat that a newcomer of this gateway took, since the seat's member id has changed."""
        self._elsewhere.pop(instance_id, None)
        return self.release(instance_id, now, None)

    def waits(self, waiting: Mapping[WaitingElsewhere, int], now: float) -> list[LockAct]:
        """Record how many newcomers of each kind wait at this gateway; call this whenever that may have changed."""
        note = waiting_note(waiting) if waiting else None
        before, self._waiting_note = self._waiting_note, note
        if note is None:
            return list(self._locks.release(self._waiting, now))
        if self._waiting in self._locks:
            return [] if note == before else list(self._locks.note(self._waiting, note, now))
        if now < self._waiting_at or not self.usable(now):
            return []
        self._waiting_at = now + AGAIN_SECONDS
        return self._sorted(self._locks.claim(self._waiting, now, note), now)

    # -- answers and time --------------------------------------------------------------------------------------

    def answered(self, beat: LockBeat, answer: LockAnswer | None, now: float) -> list[LockAct]:
        """See `GroupLocks.answered`."""
        return self._sorted(self._locks.answered(beat, answer, now), now)

    def checked(self, instance_id: str, error: int | None, now: float) -> list[LockAct]:
        """Process the answer to a `MemberCheck`; ``error``: None if there was no answer."""
        asked = self._asked.get(instance_id)
        if asked is None or not asked.asks:
            return []
        if error is not None and error not in FENCED and error not in COORDINATOR_MOVED:
            asked.asks, asked.checked = False, True
            return [LockChange(instance_id)]
        del self._asked[instance_id]
        if error in FENCED:
            self._offers.pop(instance_id, None)
        return [*self._locks.release(instance_id, now), LockChange(instance_id, LockLoss.TAKEN, error or 0)]

    def described(
        self, locks: Collection[LockHolder], members: Mapping[str, str]
    ) -> tuple[tuple[FreeSeat, ...], tuple[WaitingElsewhere, ...]]:
        """Return other gateways' offered seats and waiting newcomers; ``members``: see `offered_seats`."""
        known = offered_seats(locks, members)
        offered = {name: one for name, one in known.items() if name not in self._offers}
        self._elsewhere = {name: note for name, (_, note) in offered.items()}
        return tuple(free for free, _ in offered.values()), waiting_elsewhere(locks, self._waiting)

    def due(self, now: float, vacant: Collection[str]) -> list[LockAct]:
        """Return the acts that are due by ``now``; ``vacant``: the instance ids of this gateway's vacant seats."""
        self._offers = {name: offer for name, offer in self._offers.items() if name in vacant}
        acts = self._sorted(self._locks.due(now), now)
        for name, offer in self._offers.items():
            if now >= offer.again_at and name not in self._asked and self.usable(now):
                acts += self._offered(name, offer, now)
        return acts

    def next_due(self) -> float | None:
        """Return when to call `due` next; None if no call is needed before another input."""
        offers = (offer for name, offer in self._offers.items() if name not in self._asked)
        times = [max(offer.again_at, self._usable_at) for offer in offers]
        if self._waiting_note is not None and self._waiting not in self._locks:
            times.append(max(self._waiting_at, self._usable_at))
        times += [] if (due := self._locks.next_due()) is None else [due]
        return min((time for time in times if math.isfinite(time)), default=None)

    def stop(self, now: float) -> list[LockAct]:
        """Stop offering seats and claiming locks."""
        self._usable_at, self._waiting_note = math.inf, None
        self._offers.clear()
        self._asked.clear()
        return list(self._locks.release_all(now))

    def go_on(self) -> None:
        """Offer seats and claim locks again after `stop`."""
        self._usable_at = self._begins_at

    # -- inside ------------------------------------------------------------------------------------------------

    def _offered(self, name: str, offer: _Offer, now: float) -> list[LockAct]:
        """Offer a vacant seat: claim its lock now, and release the lock once it is granted."""
        offer.again_at = now + AGAIN_SECONDS
        if not self.usable(now):
            return []
        return self._sorted(self._locks.claim(name, now, offer.note), now)

    def _sorted(self, acts: Iterable[LockAct], now: float) -> list[LockAct]:
        """Return the requests to send, and the changes for which newcomers wait; handle the changes of offers here."""
        return [each for act in acts for each in (self._changed(act, now) if isinstance(act, LockChange) else [act])]

    def _changed(self, change: LockChange, now: float) -> list[LockAct]:
        name = change.instance_id
        if change.loss in UNUSABLE:
            self._usable_at = now + REFUSED_SECONDS
        offer = self._offers.get(name)
        if name == self._waiting:
            return [] if change.loss not in UNUSABLE else [change]
        asked = self._asked.get(name)
        if asked is not None and change.granted:
            if asked.checked:
                return [change]
            repeated, asked.asks = asked.asks, True
            return [] if repeated else [MemberCheck(name, asked.member_id)]
        if asked is not None:
            del self._asked[name]
            if offer is not None and not offer.sent and change.loss is not LockLoss.TAKEN:
                return [LockChange(name)]  # the vacant seat was never offered to other gateways
            return [change]
        if offer is None or not change.granted:
            passed: list[LockAct] = [change] if change.loss in UNUSABLE else []
            return [*passed, *(self._locks.release(name, now) if change.granted else [])]
        offer.sent, offer.again_at = True, now + OFFER_SECONDS
        return list(self._locks.release(name, now))
