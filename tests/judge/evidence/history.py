"""A group's history from its records: owners of partitions over time, Empty times, and the facts to publish."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from judge.evidence.epochs import EpochGroup
from judge.evidence.facts import Fact, State
from judge.evidence.process import FOREVER


class History:
    """States and facts of one group, from decoded records in order. ``names``: topic id, or task, -> topic.

    ``occupants``: member id -> client id of the consumer that has the member, if the coordinator still reports its
    predecessor (see `reported.occupants`).
    """

    def __init__(self, group, names=None, occupants=None):
        self.group, self.states, self.facts, self.commits = group, [], [], {}
        self._names, self._occupants = names or {}, occupants or {}
        self._epoch = EpochGroup(self)
        self._generation = None
        self.hidden = {}
        """Generation -> when its leader's assignment was received, of those whose records were compacted away."""

    def add(self, fact, at_ms, where, after_gap=False):
        """Take one record. ``after_gap``: offsets are missing between the group's last record and this one."""
        if fact["kind"] == "commit":
            if not fact.get("gone"):
                self.commits.setdefault(f"{fact['topic']}-{fact['partition']}", []).append(at_ms)
        elif fact["kind"] == "generation":
            self._classic(fact, at_ms, where, after_gap)
        else:
            self._epoch.add(fact, at_ms, where, after_gap)

    def name(self, partition):
        """Return ``topic-number`` of a pair; of a streams group's task, the partition of the group's first topic."""
        topic, number = partition
        first = f"{self.group}-t" if topic.startswith("task:") else topic
        return f"{self._names.get(topic, first)}-{number}"

    def _classic(self, fact, at_ms, where, after_gap):
        if fact.get("gone"):
            if self._generation is not None:
                self.facts.append(Fact("group_gone", -1, at_ms, where))
            self._generation = None
            self.states.append(State(at_ms, -1, 0, where=where))
            return
        number, before = fact["generation"], self._generation
        owners, ids_of = {}, {}
        for each in fact["members"]:
            client = self._occupants.get(each["member"], each["client"])
            ids_of.setdefault(client, set()).add(each["member"])
            owners.setdefault(client, set()).update(map(self.name, each["partitions"]))
        shown = frozenset(name for names in owners.values() for name in names)
        topics = frozenset(topic for each in fact["members"] for topic in each["topics"])
        ids = {each["member"] for each in fact["members"]}
        same = before is not None and before[0] == number
        # A static member that returns has a new id in the same generation; other records of a generation repeat it.
        if not same or ids != before[1]:
            for missing in range((before[0] if before else number - 1) + 1, number):
                self.facts.append(Fact("hidden" if after_gap else "aborted", missing, at_ms, where))
            if number > 0 or fact["members"]:
                self.facts.append(Fact("replaced" if same else "generation", number, at_ms, where, len(ids)))
        self._generation = (number, ids)
        self.states.append(State(at_ms, number, len(ids), owners, shown, topics, where, ids_of))

    def add_empty(self, at_ms, number):
        """The group became Empty in this generation. There is no record of it if brokers failed to write it.

        A new coordinator does not have such a generation: then the next record is not of the one after it.
        """
        index = bisect_right(self.states, at_ms, key=lambda state: state.at_ms)
        following = self.states[index : index + 1]
        if following and following[0].number == number + 1 and all(state.number != number for state in self.states):
            self.states.insert(index, State(at_ms, number, 0))

    def add_assigned(self, at_ms, number):
        """The leader's assignment of this generation was received."""
        if any(fact.kind == "hidden" and fact.number == number for fact in self.facts):
            self.hidden[number] = at_ms

    # -- questions ----------------------------------------------------------------------------------------------

    def state_at(self, at_ms):
        """Return the last state that began at or before ``at_ms``; None before the first."""
        index = bisect_right(self.states, at_ms, key=lambda state: state.at_ms)
        return self.states[index - 1] if index else None

    def shows(self, partition, at_ms):
        """Whether ``partition`` had an owner by the last record at or before ``at_ms``."""
        state = self.state_at(at_ms)
        return state is not None and partition in state.shown

    def changed(self, since_ms, until_ms):
        """Whether the group had a record in this time."""
        state = self.state_at(until_ms)
        return state is not None and state.at_ms >= since_ms

    def removed(self, removals):
        """Return client id -> times (ms) of the removals (ms, member id) that the record after them confirms."""
        clients = {name: client for state in self.states for client, names in state.ids.items() for name in names}
        found = {}
        for at_ms, member_id in removals:
            index = bisect_right(self.states, at_ms, key=lambda state: state.at_ms)
            following = [set().union(*state.ids.values()) for state in self.states[index : index + 1]]
            if member_id in clients and any(member_id not in ids for ids in following):
                found.setdefault(clients[member_id], []).append(at_ms)
        return found

    def emptied_before(self, until_ms):
        """Return the index of the last state before ``until_ms`` in which the group was Empty; -1 if it never was."""
        index = bisect_right(self.states, until_ms, key=lambda state: state.at_ms)
        return next((each for each in range(index - 1, -1, -1) if not self.states[each].members), -1)

    def joined_after(self, index):
        """Return the time of the first state with members after the state with ``index``."""
        return next((state.at_ms for state in self.states[index + 1 :] if state.members), None)

    def first_shown(self, index):
        """Return the partitions of the first assignment after the state with ``index``."""
        return next((state.shown for state in self.states[index + 1 :] if state.shown), frozenset())

    def given(self, partition, client, since_ms, until_ms, *, every=False):
        """Return when records last gave ``partition`` to ``client``, from ``since_ms`` to ``until_ms``; None if never.

        ``every``: in a classic group the last generation counts, since members run their callbacks for each generation
        before they join the next; of its records the first one with the member's id counts, since later ones are
        written for other members that return. Else the first record of the unbroken series counts that shows the
        partition with this client.
        """
        index = bisect_right(self.states, until_ms, key=lambda state: state.at_ms)
        found = last = None
        for state in reversed(self.states[:index]):
            has = any(is_client(client, owner) and partition in names for owner, names in state.owners.items())
            if state.at_ms < since_ms or (not has and found is not None):
                break
            if has:
                last = last or state
                if every and (state.number, state.ids.get(client)) != (last.number, last.ids.get(client)):
                    break
                found = state.at_ms
        return found

    def hidden_between(self, since_ms, until_ms):
        """Return when the last hidden generation in this time was assigned; None without one."""
        return max((at_ms for at_ms in self.hidden.values() if since_ms <= at_ms <= until_ms), default=None)

    def nth_given(self, partition, client, at_ms):
        """Return the index, among the records of ``at_ms``, of the first one that gives it to ``client``."""
        first = bisect_left(self.states, at_ms, key=lambda state: state.at_ms)
        for number, state in enumerate(self.states[first:]):
            if state.at_ms > at_ms:
                break
            if any(is_client(client, owner) and partition in names for owner, names in state.owners.items()):
                return number
        return 0

    def held_since(self, partition, client, at_ms, *, every=False):
        """Return the time since which ``client`` held ``partition`` at ``at_ms``, by the records (`given`), or None."""
        state = self.state_at(at_ms)
        held = state and any(is_client(client, owner) and partition in names for owner, names in state.owners.items())
        return self.given(partition, client, 0, at_ms, every=every) if held else None

    def kept_until(self, partition, owner, at_ms):
        """Return the time of the first record after ``at_ms`` without ``partition`` for ``owner``; infinite if none."""
        index = bisect_right(self.states, at_ms, key=lambda state: state.at_ms)
        lost = (state.at_ms for state in self.states[index:] if partition not in state.owners.get(owner, ()))
        return next(lost, FOREVER)

    def shown_since(self, partition, until_ms):
        """Return the first record of the last unbroken series before ``until_ms`` that shows ``partition``."""
        index = bisect_right(self.states, until_ms, key=lambda state: state.at_ms)
        found = None
        for state in reversed(self.states[:index]):
            if partition not in state.shown:
                if found is not None or not state.members:
                    break
                continue
            found = state.at_ms
        return found


def is_client(client, owner):
    """Whether a record's client id ``owner`` belongs to the member ``client``; Streams appends a thread's name."""
    return owner == client or (owner.startswith(client + "-") and "StreamThread" in owner)


def histories(rows, names, decode, occupants=None):
    """Return the `History` of each group, from rows of the offsets topic in the order of writing."""
    found = {}
    latest = {}
    place, gap, read = (-1, -1), -1, {}
    for row in sorted(rows, key=lambda row: (row["partition"], row["offset"])):
        if (row["partition"], row["offset"]) != (place[0], place[1] + 1):
            gap = row["offset"]
        place = row["partition"], row["offset"]
        if row["key"] is None:
            continue
        fact = decode(row["key"], row["value"])
        if fact is not None:
            group = fact["group"]
            history = found.setdefault(group, History(group, names, occupants))
            # A new leader's clock may be behind: a later record does not count as earlier.
            latest[group] = max(latest.get(group, 0), row["timestamp"])
            history.add(fact, latest[group], f"{place[0]}:{place[1]}", gap > read.get(group, -1))
            if fact["kind"] != "commit":
                read[group] = place[1]
    return found
