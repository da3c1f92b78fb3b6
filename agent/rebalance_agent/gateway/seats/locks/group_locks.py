"""The state machine for one gateway's locks in one group: derives requests and changes from answers and time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rebalance_agent.gateway.seats.locks.lock_acts import (
    CLAIM,
    RELEASE,
    LockAct,
    LockAnswer,
    LockBeat,
    LockChange,
    LockLoss,
    SavedLock,
)
from rebalance_agent.gateway.seats.locks.lock_errors import loss_of
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from rebalance_agent.groupprotocol.wire.error_codes import COORDINATOR_MOVED, NO_ERROR, UNRELEASED_INSTANCE_ID

__all__ = ["GroupLocks"]

BEATS_IN_FRESH = 3
"""Number of heartbeats within the time for which a confirmation counts, so that two heartbeats may be lost."""

RETRY_SECONDS = 0.25
"""Pause (seconds) after an error that only means that the coordinator moves or loads, or after a connection closed."""

SESSION_SECONDS = 45.0
"""Seconds after which the coordinator ends an unreleased lock (``group.consumer.session.timeout.ms``)."""


@dataclass(slots=True)
class _Lock:
    """A lock. ``epoch``: `CLAIM` until it is granted. ``fresh_until``: when the claim or confirmation is too old.

    ``granted``: the value in the last `LockChange`. ``former``: the member of a refused claim, which the coordinator
    may nevertheless have carried out: the next claim waits until the release of this member is answered.
    """

    instance_id: str
    member_id: str
    fresh_until: float
    due_at: float
    epoch: int = CLAIM
    granted: bool = False
    note: str | None = None
    former: str | None = None


@dataclass(slots=True)
class _Release:
    instance_id: str
    due_at: float
    until: float


class GroupLocks:
    """Instance id -> lock. Requests are `LockBeat`, changes of locks are `LockChange`.

    ``member_ids`` yields ids that no other member ever had (UUIDs). Times are in seconds of the caller's monotonic
    clock.

    An unanswered claim is sent again with the same member id. If the first claim was carried out, the coordinator
    refuses the second like another member's claim. Therefore the member is released after each refusal. If this
    succeeds, this gateway had the lock: it is now free, and a new member claims it. Otherwise another gateway has the
    lock.

    A granted lock that is no longer confirmed is reported as lost, but not released: the coordinator may still count
    it, and others would take the seat of a live member. Once confirmed, the lock is reported as granted again.
    """

    def __init__(self, settings: SeatSettings, member_ids: Iterator[str]) -> None:
        """Start without locks."""
        self._settings, self._member_ids = settings, member_ids
        self._locks: dict[str, _Lock] = {}
        self._releases: dict[str, _Release] = {}

    def __len__(self) -> int:
        """The number of locks that are held, claimed or awaited."""
        return len(self._locks)

    def __contains__(self, instance_id: str) -> bool:
        """Whether a lock is held, claimed or awaited."""
        return instance_id in self._locks

    def stale(self, instance_id: str, now: float) -> bool:
        """Whether the last confirmation of a granted lock is too old, and no `LockChange` has reported this yet."""
        lock = self._locks.get(instance_id)
        return lock is not None and lock.granted and now >= lock.fresh_until

    def held(self, instance_id: str, now: float) -> bool:
        """Whether this gateway has the lock, and its last confirmation is not too old."""
        lock = self._locks.get(instance_id)
        return lock is not None and lock.granted and now < lock.fresh_until

    def claim(self, instance_id: str, now: float, note: str | None = None) -> list[LockAct]:
        """Claim a lock (`ClaimLock`). A new claim leads to a `LockChange` within ``answer_seconds``.

        ``note``: facts about the seat for other gateways (`LockBeat`); ignored if the lock is already claimed.
        """
        lock = self._locks.get(instance_id)
        if lock is not None:
            if self.held(instance_id, now):
                return [LockChange(instance_id)]
            return [] if lock.epoch == CLAIM else [self._beat(lock, now)]
        if len(self._locks) >= self._settings.seats_max:
            return [LockChange(instance_id, LockLoss.FULL)]
        until = now + self._settings.answer_seconds
        lock = self._locks[instance_id] = _Lock(instance_id, next(self._member_ids), until, now, note=note)
        return [self._beat(lock, now)]

    def note(self, instance_id: str, note: str, now: float) -> list[LockAct]:
        """Change the note that other gateways read about the seat; no effect unless this gateway has the lock."""
        lock = self._locks.get(instance_id)
        if lock is None or lock.note == note:
            return []
        lock.note = note
        return [] if lock.epoch == CLAIM else [self._beat(lock, now)]

    def release(self, instance_id: str, now: float) -> list[LockAct]:
        """Release the lock (`ReleaseLock`), or withdraw a claim; do nothing if there is neither."""
        lock = self._locks.pop(instance_id, None)
        return [] if lock is None else self._end(instance_id, lock.member_id, now)

    def release_all(self, now: float) -> list[LockAct]:
        """Release all locks, since seats are switched off."""
        return [act for instance_id in tuple(self._locks) for act in self.release(instance_id, now)]

    def answered(self, beat: LockBeat, answer: LockAnswer | None, now: float) -> list[LockAct]:
        """Process the answer to a request; None if the connection was closed, or the request could not be sent."""
        moved = answer is not None and answer.error in COORDINATOR_MOVED
        if beat.epoch == RELEASE:
            return self._released(beat, None if moved else answer, now)
        lock = self._locks.get(beat.instance_id)
        if lock is None or lock.member_id != beat.member_id:
            late_grant = beat.epoch == CLAIM and answer is not None and answer.error == NO_ERROR
            return self._end(beat.instance_id, beat.member_id, now) if late_grant else []
        if answer is None or moved:
            lock.due_at = now + RETRY_SECONDS
            return []
        if answer.error == UNRELEASED_INSTANCE_ID:
            lock.former, lock.member_id, lock.due_at = lock.member_id, next(self._member_ids), math.inf
            return self._end(lock.instance_id, lock.former, now)
        if answer.error != NO_ERROR:
            del self._locks[lock.instance_id]
            return [LockChange(lock.instance_id, loss_of(answer.error), answer.error)]
        return self._confirmed(lock, beat, answer, now)

    def due(self, now: float) -> list[LockAct]:
        """Return the requests and changes that are due by ``now``. Call this at `next_due`; late calls are harmless.

        After the process was suspended, call this method first: locks that were not confirmed in that time are lost.
        """
        acts: list[LockAct] = []
        for lock in tuple(self._locks.values()):
            if now >= lock.fresh_until and lock.epoch == CLAIM:
                acts += self._withdraw(lock, now)
                continue
            if now >= lock.fresh_until and lock.granted:
                lock.granted = False
                acts.append(LockChange(lock.instance_id, LockLoss.NOT_CONFIRMED))
            if now >= lock.due_at:
                acts.append(self._beat(lock, now))
        for member_id, release in tuple(self._releases.items()):
            if now >= release.until:
                del self._releases[member_id]
            elif now >= release.due_at:
                acts.append(self._send_release(member_id, release, now))
        return acts

    def next_due(self) -> float | None:
        """Return when to call `due` next; None if no call is needed before another input."""
        waits = (lock for lock in self._locks.values() if lock.granted or lock.epoch == CLAIM)
        times = [lock.fresh_until for lock in waits]
        times += [lock.due_at for lock in self._locks.values()]
        times += [min(release.until, release.due_at) for release in self._releases.values()]
        return min(times, default=None)

    def saved(self) -> tuple[SavedLock, ...]:
        """Return the locks that this gateway must have after a restart in order to keep them."""
        return tuple(
            SavedLock(lock.instance_id, lock.member_id, lock.epoch)
            for lock in self._locks.values()
            if lock.epoch != CLAIM
        )

    def restore(self, saved: Iterable[SavedLock], now: float) -> list[LockAct]:
        """Claim the saved locks with their old member ids: new members would have to wait for the old sessions' end."""
        acts: list[LockAct] = []
        for one in saved:
            if one.instance_id not in self._locks and len(self._locks) < self._settings.seats_max:
                lock = _Lock(one.instance_id, one.member_id, now, now, one.epoch)
                self._locks[one.instance_id] = lock
                acts.append(self._beat(lock, now))
        return acts

    def _confirmed(self, lock: _Lock, beat: LockBeat, answer: LockAnswer, now: float) -> list[LockAct]:
        """Record that the lock was granted or confirmed; it counts as confirmed from ``sent_at``, not from ``now``."""
        fresh = self._settings.lock_fresh_seconds
        if now >= beat.sent_at + fresh and beat.epoch == CLAIM:
            return self._withdraw(lock, now)
        lock.epoch, lock.fresh_until = answer.epoch, max(lock.fresh_until, beat.sent_at + fresh)
        lock.due_at = beat.sent_at + min(answer.interval_seconds, fresh / BEATS_IN_FRESH)
        if now >= lock.fresh_until:
            return []  # the answer was late: `due` sends the request again
        if lock.note != beat.note:
            lock.due_at = now  # the note has changed since then
        lock.granted = True
        return [LockChange(lock.instance_id)]

    def _beat(self, lock: _Lock, now: float) -> LockBeat:
        lock.due_at = now + self._settings.lock_fresh_seconds / BEATS_IN_FRESH
        return LockBeat(lock.instance_id, lock.member_id, lock.epoch, now, lock.note)

    def _withdraw(self, lock: _Lock, now: float) -> list[LockAct]:
        """Withdraw a claim that was not answered in time, but may have been carried out."""
        return [LockChange(lock.instance_id, LockLoss.NOT_CONFIRMED), *self.release(lock.instance_id, now)]

    def _end(self, instance_id: str, member_id: str, now: float) -> list[LockAct]:
        """Send a release until it is answered. It names the member, and therefore does not affect another holder."""
        if len(self._releases) >= self._settings.seats_max:
            del self._releases[next(iter(self._releases))]  # the session ends by itself
        release = self._releases[member_id] = _Release(instance_id, now, now + SESSION_SECONDS)
        return [self._send_release(member_id, release, now)]

    def _send_release(self, member_id: str, release: _Release, now: float) -> LockBeat:
        release.due_at = now + self._settings.answer_seconds
        return LockBeat(release.instance_id, member_id, RELEASE, now)

    def _released(self, beat: LockBeat, answer: LockAnswer | None, now: float) -> list[LockAct]:
        """Process the answer to a release; None: it must be sent again."""
        if answer is None:
            if beat.member_id in self._releases:
                self._releases[beat.member_id].due_at = now + RETRY_SECONDS
            return []
        self._releases.pop(beat.member_id, None)
        lock = self._locks.get(beat.instance_id)
        if lock is None or lock.former != beat.member_id:
            return []
        lock.former = None
        if answer.error == NO_ERROR:
            return [self._beat(lock, now)]
        del self._locks[lock.instance_id]
        return [LockChange(lock.instance_id, LockLoss.TAKEN, UNRELEASED_INSTANCE_ID)]
