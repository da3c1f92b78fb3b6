"""A helper group of locks, as Kafka's coordinator keeps one: heartbeats of static members without subscription.

The responses are those of a real broker (``tests/integration/gateway/test_seat_locks.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.gateway.seats.locks import LockAnswer
from rebalance_agent.gateway.seats.locks.lock_acts import CLAIM, RELEASE
from rebalance_agent.gateway.seats.locks.lock_frames import LockHolder

SESSION = 45.0
NOT_COORDINATOR, UNKNOWN_MEMBER_ID, NO_GROUP, FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH, UNRELEASED = (
    16,
    25,
    69,
    82,
    110,
    111,
)


@dataclass
class Member:
    member_id: str
    session_ends: float
    epoch: int
    previous: int = 0
    released: bool = False
    note: str | None = None


class HelperGroup:
    """Instance id -> member; ``down``: the coordinator moves; ``epoch``: the group's, which tests increase."""

    def __init__(self):
        self.members = {}
        self.epoch = 1
        self.down = False

    def beat(self, request, now):
        if self.down:
            return LockAnswer(NOT_COORDINATOR)
        self.expire(now)
        member = self.members.get(request.instance_id)
        if request.epoch == CLAIM:
            if member is not None and not member.released:
                return LockAnswer(UNRELEASED)
            new = Member(request.member_id, now + SESSION, self.epoch, note=request.note)
            self.members[request.instance_id] = new
            return LockAnswer(0, self.epoch)
        if member is None:
            return LockAnswer(UNKNOWN_MEMBER_ID if self.members else NO_GROUP)
        if member.member_id != request.member_id:
            return LockAnswer(FENCED_INSTANCE_ID)
        if request.epoch == RELEASE:
            member.released = True
            return LockAnswer(0, RELEASE)
        if member.released or request.epoch not in (member.epoch, member.previous):
            return LockAnswer(FENCED_MEMBER_EPOCH)
        if member.epoch != self.epoch:
            member.previous, member.epoch = member.epoch, self.epoch
        member.session_ends, member.note = now + SESSION, request.note or member.note
        return LockAnswer(0, member.epoch)

    def described(self, now):
        """The locks, as `holders` reads them; None while the coordinator moves."""
        self.expire(now)
        known = self.members.items()
        return None if self.down else tuple(LockHolder(name, m.member_id, m.released, m.note) for name, m in known)

    def expire(self, now):
        self.members = {name: one for name, one in self.members.items() if one.session_ends > now}

    def fail_over(self, now):
        """Another broker loads the group with its members, and their sessions restart."""
        for member in self.members.values():
            member.session_ends = now + SESSION
