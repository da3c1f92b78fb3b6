"""The coordinator of one group of KIP-848, as far as seats depend on it (measured on 4.3.0 and 4.4.0).

A member gives up partitions with the first answer that does not contain them, so the model needs no acknowledgement.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import ClassVar

from support.seats.coordinator import FENCED, NONE, NOT_COORDINATOR, PARTITIONS, UNKNOWN

JOINS, LEAVES, AWAY = 0, -1, -2
INVALID_REQUEST, FENCED_EPOCH, UNRELEASED, STALE_EPOCH = 42, 110, 111, 113


@dataclass
class EpochMember:
    member_id: str
    instance_id: str | None
    topics: object = None
    epoch: int = 0
    heard_at: float = 0.0
    partitions: frozenset[int] = frozenset()
    target: frozenset[int] = frozenset()
    classic: bool = False


@dataclass(frozen=True)
class Beaten:
    """An answer; ``partitions``: None if it assigns nothing new."""

    error: int
    member_id: str = ""
    epoch: int = 0
    partitions: frozenset[int] | None = None


@dataclass
class EpochCoordinator:
    """One group. ``fences``: commits of a replaced member are refused; False is a fault for tests to find."""

    session: float = 45.0
    epoch: int = 0
    members: dict[str, EpochMember] = field(default_factory=dict)
    available: bool = True
    former: set[str] = field(default_factory=set)
    fences: ClassVar[bool] = True

    def heartbeat(self, now, member_id, epoch, instance_id=None, topics=None):
        """One request; ``topics``: the subscription of a member that joins."""
        if not self.available:
            return Beaten(NOT_COORDINATOR)
        if epoch == JOINS:
            return self._join(now, member_id, instance_id, topics)
        if epoch < JOINS:
            return self._leave(member_id, epoch, instance_id)
        member = self.members.get(member_id)
        if member is None:
            return Beaten(UNKNOWN)
        if member.epoch != epoch:
            return Beaten(FENCED_EPOCH)
        return self._reconciled(now, member)

    def leave(self, now, member_id, instance_id):
        """Leave with both ids; return the error code. It is refused once a successor has the seat."""
        return self.heartbeat(now, member_id, LEAVES, instance_id).error

    @property
    def state(self):
        """``stable`` or ``empty``: no member ever waits for another one."""
        return "stable" if self.members else "empty"

    def commit(self, member_id, epoch):
        if not self.available:
            return NOT_COORDINATOR
        member = self.members.get(member_id)
        if member is None:
            return NONE if member_id in self.former and not self.fences else UNKNOWN
        return NONE if member.epoch == epoch else STALE_EPOCH

    def tick(self, now):
        if self.available:
            for member in tuple(self.members.values()):
                if now - member.heard_at > self.session:
                    self._remove(member)

    def fail_over(self, now):
        """Another broker loads the group: sessions begin again."""
        for member in self.members.values():
            member.heard_at = now

    def described(self):
        """A copy of the members."""
        return deepcopy([*self.members.values()])

    # -- inside ------------------------------------------------------------------------------------------------

    def _static(self, instance_id):
        return next((one for one in self.members.values() if one.instance_id == instance_id), None)

    def _join(self, now, member_id, instance_id, topics):
        holder = None if instance_id is None else self._static(instance_id)
        if holder is not None:
            if holder.epoch != AWAY:
                return Beaten(UNRELEASED)
            del self.members[holder.member_id]
            self.former.add(holder.member_id)
            self.members[member_id] = member = replace(holder, member_id=member_id)
        elif (member := self.members.get(member_id)) is not None:
            member.instance_id = instance_id or member.instance_id
        else:
            self.members[member_id] = member = EpochMember(member_id, instance_id)
        if member.topics != topics:
            member.topics = topics
            self._assign()
        return self._reconciled(now, member, joins=True)

    def _leave(self, member_id, epoch, instance_id):
        if instance_id is None and epoch == AWAY:
            return Beaten(INVALID_REQUEST)
        member = self.members.get(member_id) if instance_id is None else self._static(instance_id)
        if member is None:
            return Beaten(UNKNOWN)
        if member.member_id != member_id:
            return Beaten(FENCED)
        if epoch == LEAVES:
            self._remove(member)
        else:
            member.epoch = AWAY
        return Beaten(NONE, member_id, epoch)

    def _remove(self, member):
        del self.members[member.member_id]
        self._assign()

    def _assign(self):
        """A new target for every member, in a new epoch."""
        self.epoch += 1
        for place, name in enumerate(sorted(self.members)):
            self.members[name].target = frozenset(PARTITIONS[place :: len(self.members)])

    def _reconciled(self, now, member, *, joins=False):
        held = {p for one in self.members.values() if one is not member for p in one.partitions}
        before, member.partitions = member.partitions, member.target - held
        member.heard_at, member.epoch = now, self.epoch
        new = member.partitions if joins or member.partitions != before else None
        return Beaten(NONE, member.member_id, self.epoch, new)
