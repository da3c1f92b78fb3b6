"""A model of a coordinator of one epoch group: it executes members' steps and writes records."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochMember,
    GroupEpoch,
    MemberState,
    MemberTarget,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.observations import EpochRecord
from support.tracker.epochs import ID
from support.tracker.tracking import T0

SUBTOPOLOGY = "0"
AWAY = -2
"""The epoch of a static member that left temporarily."""


@dataclass
class _Member:
    epoch: int
    instance: str | None = None
    state: MemberState = MemberState.STABLE
    assigned: set = field(default_factory=set)
    revoking: set = field(default_factory=set)


class EpochCoordinator:
    """One group on one topic. Every step is one batch of records with one timestamp, as on a broker.

    ``reached``: the epochs that all members have reached, in order. A share group's members own partitions as soon as
    they are assigned; those of a streams group have tasks of one subtopology. ``static``: the names of members with an
    instance id. They may leave temporarily (epoch -2) and return under a new member id.
    """

    def __init__(self, partitions, group="g", *, at=1_000, group_type=GroupType.CONSUMER, static=()):
        self.batches = []
        self.reached = []
        self.at = at
        self._group = group
        self._type = group_type
        self._key = SUBTOPOLOGY if group_type is GroupType.STREAMS else ID
        self._partitions = range(partitions)
        self._epoch = self._target_epoch = 1
        self._members = {}
        self._peopled = False
        self._targets = {}
        self._static = static
        self._ids = {}

    def step(self, name, action, wait_ms):
        """Execute ``action`` of the member ``name`` after ``wait_ms``; impossible actions are skipped."""
        self.at += wait_ms
        actions = {"join": self._join, "leave": self._leave, "pause": self._pause, "assign": self._assign}
        batch = list(actions.get(action, self._beat)(self._ids.get(name, name)))
        if batch:
            self.batches.append(batch)
            self._note_reached()

    def settle(self):
        """Let all members act until the group is stable."""
        self.step("", "assign", 100)
        quiet = 0
        while quiet < len(self._members):
            for name in sorted(self._members):
                written = len(self.batches)
                self.step(name, "beat", 100)
                quiet = quiet + 1 if len(self.batches) == written else 0

    def delete(self):
        """Remove all members and delete the group."""
        for name in sorted(self._members):
            self.step(name, "leave", 100)
        self.at += 100
        self.batches.append([self._write(None, kind=TargetEpoch), self._write(None, kind=GroupEpoch)])

    @property
    def names(self):
        """The names of the members."""
        return sorted(self._members)

    def _join(self, name):
        if name in self._members:
            if self._members[name].epoch == AWAY:
                yield from self._return(name)
            return
        if self._type is GroupType.STREAMS and not self.batches:
            yield self._write(Topology({SUBTOPOLOGY: ("t",)}))
        self._members[name] = _Member(self._target_epoch, name if name in self._static else None)
        self._peopled = True
        self._epoch += 1
        yield self._subscribed(name)
        yield self._write(GroupEpoch(self._epoch))
        yield self._current(name)

    def _pause(self, name):
        """A static member leaves temporarily: its target stays, and what it had to revoke is free."""
        member = self._members.get(name)
        if member is not None and member.instance and member.epoch != AWAY:
            member.epoch, member.revoking = AWAY, set()
            yield self._current(name)

    def _return(self, old):
        """A static member returns: its new id has the old target and partitions, and is reconciled at once."""
        member, target = self._members.pop(old), self._targets.pop(old, None)
        name = f"{member.instance}-{self.at}"
        self._ids[member.instance] = name
        self._members[name], member.epoch = member, 0
        for kind in (CurrentAssignment, MemberTarget, EpochMember):
            yield self._write(None, old, kind)
        yield self._subscribed(name)
        if target is not None:
            self._targets[name] = target
            yield self._write(MemberTarget(self._named(target)), name)
        yield self._current(name)
        yield from self._beat(name)

    def _subscribed(self, name):
        instance = self._members[name].instance
        return self._write(EpochMember(f"client-{name}", "/10.0.0.1", instance_id=instance, topics=("t",)), name)

    def _leave(self, name):
        if self._members.pop(name, None) is None:
            return
        self._targets.pop(name, None)
        self._epoch += 1
        for kind in (CurrentAssignment, MemberTarget, EpochMember):
            yield self._write(None, name, kind)
        yield self._write(GroupEpoch(self._epoch))

    def _assign(self, _name):
        if self._target_epoch == self._epoch:
            return
        self._target_epoch = self._epoch
        names = sorted(self._members)
        for place, name in enumerate(names):
            share = {number for number in self._partitions if number % len(names) == place}
            if self._type is GroupType.SHARE:
                share.add(0)  # all members have the first topic
            if self._targets.get(name) != share:
                self._targets[name] = share
                yield self._write(MemberTarget(self._named(share)), name)
        yield self._write(TargetEpoch(self._target_epoch))

    def _beat(self, name):
        member = self._members.get(name)
        if member is None or member.epoch == AWAY:
            return
        before = (member.epoch, member.state, set(member.assigned), set(member.revoking))
        target = self._targets.get(name, set())
        member.revoking = set()
        if self._type is GroupType.SHARE:
            member.assigned, member.epoch = set(target), self._target_epoch
        elif surplus := member.assigned - target:
            member.assigned &= target
            member.revoking, member.state = surplus, MemberState.UNREVOKED
        else:
            others = (other for each, other in self._members.items() if each != name)
            taken = set().union(*(other.assigned | other.revoking for other in others))
            member.assigned |= target - taken
            member.epoch = self._target_epoch
            member.state = MemberState.STABLE if member.assigned == target else MemberState.UNRELEASED
        if before != (member.epoch, member.state, member.assigned, member.revoking):
            yield self._current(name)

    def _note_reached(self):
        """An epoch without members counts only if the group had members since its last stable state."""
        if self._is_reached():
            if (self._members or self._peopled) and self._epoch not in self.reached:
                self.reached.append(self._epoch)
            self._peopled = bool(self._members)

    def _is_reached(self):
        return not self._members or (
            self._target_epoch == self._epoch
            and all(
                each.epoch == AWAY or (each.epoch == self._epoch and each.state is MemberState.STABLE)
                for each in self._members.values()
            )
        )

    def _current(self, name):
        member = self._members[name]
        assigned, revoking = self._named(member.assigned), self._named(member.revoking)
        return self._write(CurrentAssignment(member.epoch, member.epoch, member.state, assigned, revoking), name)

    def _write(self, value, subject="", kind=None):
        times = (T0 + self.at, T0 + self.at + 3)
        return EpochRecord(self._group, *times, self._type, kind or type(value), value, subject)

    def _named(self, numbers):
        return {self._key: tuple(sorted(numbers))} if numbers else {}
