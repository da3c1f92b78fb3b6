"""Derives a group's states and reached epochs from its records, for groups with broker-side assignment."""

from __future__ import annotations

from judge.evidence.facts import Fact, State


class EpochGroup:
    """A consumer or streams group (KIP-848, KIP-1071): epochs, targets and current assignments, one record each."""

    def __init__(self, history):
        self._history = history
        self.epoch, self.reported, self._after_gap = 0, 0, False
        self.members, self.target, self.current = {}, {}, {}

    def add(self, fact, at_ms, where, after_gap=False):
        """Take one record."""
        self._after_gap = self._after_gap or after_gap
        kind, gone = fact["kind"], fact.get("gone", False)
        if kind == "epoch":
            self.epoch = 0 if gone else fact["epoch"]
            if gone:
                self._history.facts.append(Fact("group_gone", -1, at_ms, where))
                self.reported = 0
        elif kind in ("member", "target", "current"):
            table = {"member": self.members, "target": self.target, "current": self.current}[kind]
            if gone:
                table.pop(fact["member"], None)
            else:
                table[fact["member"]] = fact
        # The tombstones of a member are followed by the epoch without it, in the same batch. Those of a static member
        # that another one replaces are followed by the other one's records: the group is never Empty.
        if self.members or kind == "epoch":
            self._state(at_ms, where)
        ended = (kind == "current" and not gone) or (kind == "epoch" and not self.members)
        if ended and self.epoch > self.reported and self._reached():
            if self._after_gap and self.reported:
                self._history.facts += [
                    Fact("hidden", each, at_ms, where) for each in range(self.reported + 1, self.epoch)
                ]
            self.reported, self._after_gap = self.epoch, False
            self._history.facts.append(Fact("generation", self.epoch, at_ms, where, len(self.members)))

    def _reached(self):
        """Whether every present member has its assignment of the group's epoch."""
        there = [self.current.get(member) for member in self.members]
        return all(
            each is not None and (each["epoch"] < 0 or (each["epoch"] >= self.epoch and each["stable"]))
            for each in there
        )

    def _state(self, at_ms, where):
        history, owners = self._history, {}
        for member, current in self.current.items():
            client = self.members.get(member, {}).get("client")
            if client is not None and current["epoch"] >= 0:
                owners.setdefault(client, set()).update(map(history.name, current["partitions"]))
        shown = frozenset(history.name(each) for target in self.target.values() for each in target["partitions"])
        topics = frozenset(topic for each in self.members.values() for topic in each["topics"])
        history.states.append(State(at_ms, self.epoch, len(self.members), owners, shown, topics, where))
