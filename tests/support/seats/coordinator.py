"""The coordinator of one classic group, as far as seats depend on it; the comments number the measured facts.

Every request returns an error code, or calls ``reply`` or ``synced``, at once or later. The model itself assigns
partitions at the last SyncGroup of a generation, so no leader's assignment is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import ClassVar

PARTITIONS = tuple(range(6))

NONE, UNKNOWN_SERVER_ERROR = 0, -1
NOT_COORDINATOR, ILLEGAL_GENERATION, INCONSISTENT, UNKNOWN, REBALANCING = 16, 22, 23, 25, 27
MEMBER_ID_REQUIRED, FENCED = 79, 82


@dataclass
class Joined:
    """A response to JoinGroup."""

    error: int
    member_id: str = ""
    generation: int = -1
    leader: str = ""


Reply = Callable[[Joined], None]
Synced = Callable[[int, frozenset[int]], None]


@dataclass
class ModelMember:
    member_id: str
    instance_id: str | None
    profile: object
    session: float
    heard_at: float
    process: int
    partitions: frozenset[int] = frozenset()
    reply: Reply | None = None
    synced: Synced | None = None


@dataclass
class ModelCoordinator:
    """States are empty, preparing, completing and stable. ``fences``: fact 9; False is a fault for tests to find."""

    rebalance_timeout: float = 12.0
    state: str = "empty"
    generation: int = 0
    leader: str = ""
    members: dict[str, ModelMember] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    available: bool = True
    preparing_since: float = 0.0
    rebalances: int = 0
    _phase_at: float = 0.0
    _ids: int = 0
    _saved: tuple = ("empty", 0, "", {})
    fences: ClassVar[bool] = True

    # -- requests ----------------------------------------------------------------------------------------------

    def join(self, now, member_id, instance_id, profile, session, process, reply):
        if not self.available:
            reply(Joined(NOT_COORDINATOR))
        elif member_id and member_id in self.pending:
            if instance_id is not None:
                reply(Joined(UNKNOWN_SERVER_ERROR))  # fact 2
                return
            self.pending.discard(member_id)
            self._add(now, member_id, None, profile, session, process, reply)
        elif member_id:
            self._rejoin(now, member_id, instance_id, profile, reply)
        elif not self._consistent(profile, instance_id):
            reply(Joined(INCONSISTENT))  # fact 7: the holder is unaffected
        elif instance_id is None:
            self.pending.add(new := self._new_id())
            reply(Joined(MEMBER_ID_REQUIRED, new))
        else:
            old = next((one for one in self.members.values() if one.instance_id == instance_id), None)
            if old is None:
                self._add(now, self._new_id(), instance_id, profile, session, process, reply)  # fact 1
            else:
                self._replace(now, old, profile, session, process, reply)

    def sync(self, now, member_id, generation, synced):
        error = self._check(member_id, generation)
        if not error and self.state == "preparing":
            error = REBALANCING
        if error:
            synced(error, frozenset())
            return
        member = self.members[member_id]
        member.heard_at = now
        if self.state == "stable":
            synced(NONE, member.partitions)
            return
        member.synced = synced
        if all(one.synced for one in self.members.values()):
            self._complete()

    def heartbeat(self, now, member_id, generation):
        """Facts 3 and 12: only member id and generation count, not the instance id or the connection."""
        error = self._check(member_id, generation)
        if error:
            return error
        self.members[member_id].heard_at = now
        return REBALANCING if self.state == "preparing" else NONE

    def commit(self, member_id, generation):
        return self._check(member_id, generation) or (REBALANCING if self.state == "completing" else NONE)

    def leave(self, now, member_id, instance_id):
        if not self.available:
            return NOT_COORDINATOR
        member = self.members.get(member_id)
        if member is None:
            taken = instance_id and any(one.instance_id == instance_id for one in self.members.values())
            return FENCED if taken else UNKNOWN  # fact 11: a compare-and-set
        self._remove(now, member)
        return NONE

    # -- time --------------------------------------------------------------------------------------------------

    def tick(self, now):
        if not self.available:
            return
        for member in tuple(self.members.values()):
            waits = member.reply is not None or member.synced is not None
            if not waits and now - member.heard_at > member.session and member.member_id in self.members:
                self._remove(now, member)
        if self.state == "preparing" and now - self._phase_at > self.rebalance_timeout:
            for member in tuple(self.members.values()):
                if member.reply is None and member.instance_id is None:
                    del self.members[member.member_id]
            self._end_join(now, force=True)
        elif self.state == "completing" and now - self._phase_at > self.rebalance_timeout:
            for member in tuple(self.members.values()):
                if member.synced is None:
                    del self.members[member.member_id]
            self._prepare(now)

    def fail_over(self, now):
        """Another broker loads the group as last written; the old one answers waiting requests with NOT_COORDINATOR."""
        for member in self.members.values():
            self._answer(member, Joined(NOT_COORDINATOR))
            self._answer_sync(member, NOT_COORDINATOR)
        self.state, self.generation, self.leader, saved = self._saved
        self.members = {name: replace(copy(one), heard_at=now, reply=None, synced=None) for name, one in saved.items()}
        self.pending.clear()

    # -- inside ------------------------------------------------------------------------------------------------

    def _new_id(self):
        self._ids += 1
        return f"m{self._ids}"

    def _check(self, member_id, generation):
        if not self.available:
            return NOT_COORDINATOR
        if member_id not in self.members:
            return UNKNOWN
        return NONE if generation == self.generation else ILLEGAL_GENERATION

    def _consistent(self, profile, instance_id):
        others = [one for one in self.members.values() if instance_id is None or one.instance_id != instance_id]
        names = {offer.name for offer in profile.assignors}
        return all(names & {offer.name for offer in one.profile.assignors} for one in others)

    def _add(self, now, member_id, instance_id, profile, session, process, reply):
        self.members[member_id] = ModelMember(member_id, instance_id, profile, session, now, process, reply=reply)
        self._prepare(now)

    def _rejoin(self, now, member_id, instance_id, profile, reply):
        member = self.members.get(member_id)
        if member is None or (instance_id is not None and member.instance_id != instance_id):
            reply(Joined(UNKNOWN, member_id))  # facts 4 and 9
            return
        changed = member.profile != profile
        member.profile, member.heard_at = profile, now
        if self.state == "stable" and not changed and member_id != self.leader:
            reply(Joined(NONE, member_id, self.generation, self.leader))
            return
        self._answer(member, Joined(REBALANCING))
        member.reply = reply
        self._prepare(now)

    def _replace(self, now, old, profile, session, process, reply):
        new = ModelMember(
            self._new_id() if self.fences else old.member_id,
            old.instance_id,
            old.profile if self.state == "stable" else profile,  # fact 6: with any metadata
            session,
            now,
            process,
            old.partitions,
        )
        self._answer(old, Joined(FENCED))  # fact 9: only waiting members
        self._answer_sync(old, FENCED)
        del self.members[old.member_id]
        self.members[new.member_id] = new
        told, self.leader = self.leader, new.member_id if self.leader == old.member_id else self.leader
        if self.state == "stable":
            self._save()
            reply(Joined(NONE, new.member_id, self.generation, told))  # facts 5 and 8
            return
        new.reply = reply
        self._prepare(now)  # fact 13

    def _remove(self, now, member):
        self._answer(member, Joined(UNKNOWN))
        self._answer_sync(member, UNKNOWN)
        del self.members[member.member_id]
        self._prepare(now)

    def _prepare(self, now):
        if self.state != "preparing":
            for member in self.members.values():
                self._answer_sync(member, REBALANCING)
            self.state, self._phase_at, self.preparing_since = "preparing", now, now
            self.rebalances += 1
        self._end_join(now)

    def _end_join(self, now, *, force=False):
        """Fact 14: all others wait for a member that has not joined, until its session ends or it leaves."""
        if not force and not all(one.reply for one in self.members.values()):
            return
        joined = [one for one in self.members.values() if one.reply]
        if self.members and not joined:
            self._phase_at = now
            return
        self.generation += 1
        if not self.members:
            self.state = "empty"
            self._save()
            return
        if self.leader not in {one.member_id for one in joined}:
            self.leader = joined[0].member_id
        self.state, self._phase_at = "completing", now
        for member in self.members.values():
            member.heard_at = now if member.reply else member.heard_at
            self._answer(member, Joined(NONE, member.member_id, self.generation, self.leader))

    def _complete(self):
        names = sorted(self.members)
        self.state = "stable"
        for place, name in enumerate(names):
            self.members[name].partitions = frozenset(PARTITIONS[place :: len(names)])
        self._save()
        for member in self.members.values():
            self._answer_sync(member, NONE)

    def _save(self):
        self._saved = (self.state, self.generation, self.leader, {name: copy(m) for name, m in self.members.items()})

    def _answer(self, member, joined):
        reply, member.reply = member.reply, None
        if reply is not None:
            reply(joined)

    def _answer_sync(self, member, error):
        synced, member.synced = member.synced, None
        if synced is not None:
            synced(error, frozenset() if error else member.partitions)
