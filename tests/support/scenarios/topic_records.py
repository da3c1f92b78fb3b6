"""The records of the offsets topic and of the events topic, read by a plain consumer."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.group_fact import ClassicGroupFact, group_fact
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.model.epoch_groups import CurrentAssignment, EpochMember, GroupEpoch, MemberState, TargetEpoch
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.partitions import count_partitions, pairs
from support.observer.observing import PATIENCE_S, eventually

OFFSETS = "__consumer_offsets"


@dataclass(frozen=True)
class StableGroup:
    """A stable group, by its records. ``number``: its generation or epoch."""

    number: int
    timestamp_ms: int
    clients: tuple[str, ...]
    partitions: int
    group_type: GroupType


class TopicRecords:
    """Both topics from their beginning, in memory, with open transactions. Safe from any thread."""

    def __init__(self, bootstrap, events_topic):
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": "rebalance-agent-topic-records",
            "enable.auto.commit": False,
            "isolation.level": "read_uncommitted",
            "fetch.wait.max.ms": 50,
            "log_level": 0,
        }
        self._groups = defaultdict(_GroupRecords)
        self._events = defaultdict(dict)
        self._reports = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._consumer = Consumer(settings)
        topics = {name: eventually(lambda name=name: self._partitions(name)) for name in (OFFSETS, events_topic)}
        self._consumer.assign(
            [TopicPartition(name, number, OFFSET_BEGINNING) for name, numbers in topics.items() for number in numbers]
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _partitions(self, topic):
        """The partitions of a topic; none while a broker has no metadata of the new topic."""
        return list(self._consumer.list_topics(topic, PATIENCE_S).topics[topic].partitions)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(PATIENCE_S)
        self._consumer.close()

    def stable_groups(self, group):
        """Every `StableGroup` of a group, in order."""
        with self._lock:
            return list(self._groups[group].stable_groups)

    def stable_group(self, group):
        """The group's current state; None during a rebalance, or before the group exists."""
        with self._lock:
            records = self._groups[group]
            return records.stable_groups[-1] if records.stable_groups and records.stable else None

    def latest(self, group):
        """The latest records of a group, for the error text of a test."""
        with self._lock:
            records = self._groups[group]
            facts = [f"{name} {fact}" for (_, name), fact in records.facts.items()]
            return "\n".join([*map(str, records.stable_groups[-2:]), f"stable: {records.stable}", *facts])

    def recorded_stall(self, group, number, from_ms, until_ms):
        """The part of a stall that the coordinator's records show: (from, until), of a partition of the only topic.

        From the record of a static member's temporary leave, otherwise from the start; until the record that assigns
        the partition.
        """
        with self._lock:
            records = self._groups[group]
            left = [each for each in records.left[number] if from_ms <= each <= until_ms]
            assigned = [each for each in records.assigned_ms[number] if from_ms <= each <= until_ms]
        return min(left, default=from_ms), max(assigned, default=until_ms)

    def unowned(self, group, from_ms, until_ms):
        """Periods of partitions, or of a streams group's tasks, without an owner: (partition, from, until).

        Only for groups whose coordinator assigns, and only for periods that ended in that time.
        """
        with self._lock:
            return [each for each in self._groups[group].unowned if from_ms <= each[2] <= until_ms]

    def numbers(self, group, until_ms):
        """Generations and reached epochs with members, each once, in order, up to ``until_ms``."""
        numbers = [
            stable.number for stable in self.stable_groups(group) if stable.clients and stable.timestamp_ms <= until_ms
        ]
        return [number for index, number in enumerate(numbers) if number not in numbers[max(0, index - 1) : index]]

    def has_report(self, group, client_id, kind, since_ms):
        """Whether a member has reported such a callback with this end (within a millisecond) or a later one."""
        return any(
            event["kind"] == "member"
            and (event["client_id"], event["callback"]) == (client_id, kind)
            and event["timestamp_ms"] >= since_ms - 1
            for event in self.events(group)
        )

    @property
    def reports(self):
        """The number of members' reports in the events topic, with repeated ones."""
        with self._lock:
            return self._reports

    def events(self, group):
        """The newest revision of every event of a group, in the order of their first publication."""
        with self._lock:
            return list(self._events[group].values())

    def _run(self):
        while not self._stop.is_set():
            for message in self._consumer.consume(500, 0.05):
                if message.error() is None:
                    self._add(message)

    def _add(self, message):
        if message.topic() != OFFSETS:
            event = json.loads(message.value())
            with self._lock:
                self._reports += event["kind"] == "member"
                events = self._events[event["group"]]
                if event.get("revision", 0) >= events.get(event["event_id"], event).get("revision", 0):
                    events[event["event_id"]] = event
            return
        try:
            record = decode_record(message.key() or b"", message.value())
        except DecodeError:
            return
        if record.unknown:
            return
        with self._lock:
            self._groups[record.group].add(record, message.timestamp()[1])


class _GroupRecords:
    """One group's records, decoded by the agent's code, but interpreted here instead of by its tracker."""

    def __init__(self):
        self.stable_groups = []
        self.stable = False
        self._type = None
        self.facts = {}
        self.assigned_ms = defaultdict(list)
        self.left = defaultdict(list)
        self._had = {}
        self.unowned = []
        self._holders = defaultdict(set)
        self._since_ms = {}

    def add(self, record, timestamp_ms):
        fact = group_fact(record)
        if isinstance(fact, ClassicGroupFact):
            self._classic(fact.value, timestamp_ms)
        elif fact is not None:
            self._type, kind, name = fact.group_type, fact.kind, fact.subject
            if fact.value is None:
                self.facts.pop((kind, name), None)
            else:
                self.facts[kind, name] = fact.value
            if kind is CurrentAssignment:
                current = self.facts.get((kind, name))
                self._set_owned(name, pairs(current.assigned) if current else frozenset(), timestamp_ms)
                if current and current.epoch < 0:
                    for number in self._had.pop(name, ()):
                        self.left[number].append(timestamp_ms)
                else:
                    self._set_assigned(name, current.assigned if current else {}, timestamp_ms)
            self._update_stable(timestamp_ms)

    def _set_assigned(self, member_id, assigned, timestamp_ms):
        has = {number for _, number in pairs(assigned)}
        for number in has - self._had.get(member_id, set()):
            self.assigned_ms[number].append(timestamp_ms)
        self._had[member_id] = has

    def _set_owned(self, member_id, assigned, timestamp_ms):
        for partition, holders in self._holders.items():
            if partition not in assigned and member_id in holders:
                holders.remove(member_id)
                if not holders:
                    self._since_ms[partition] = timestamp_ms
        for partition in assigned:
            self._holders[partition].add(member_id)
            if partition in self._since_ms:
                self.unowned.append((partition, self._since_ms.pop(partition), timestamp_ms))

    def _classic(self, group, timestamp_ms):
        if group is None:
            return
        revoking = [
            member for member in group.members if not pairs(member.owned) <= pairs(member.assigned)
        ]  # in a cooperative group the next generation assigns revoked partitions
        cooperative = (group.protocol or "").startswith("cooperative")
        self.stable = not (cooperative and revoking)
        if not cooperative:
            self._had.clear()  # all members revoked all partitions
        for member in group.members:
            self._set_assigned(member.member_id, member.assigned, timestamp_ms)
        clients = tuple(sorted(plain(member.client_id) for member in group.members))
        partitions = sum(count_partitions(member.assigned) for member in group.members)
        self.stable_groups.append(StableGroup(group.generation, timestamp_ms, clients, partitions, GroupType.CLASSIC))

    def _update_stable(self, timestamp_ms):
        epoch = self.facts.get((GroupEpoch, ""))
        members = {name: fact for (kind, name), fact in self.facts.items() if kind is EpochMember}
        has = {name: fact for (kind, name), fact in self.facts.items() if kind is CurrentAssignment}
        target = self.facts.get((TargetEpoch, ""))
        self.stable = epoch is not None and (
            not members
            or (
                target is not None
                and target.epoch >= epoch.epoch
                and all(
                    name in has
                    and (
                        has[name].epoch < 0
                        or (has[name].epoch >= epoch.epoch and has[name].state is MemberState.STABLE)
                    )
                    for name in members
                )
            )
        )
        if self.stable:
            # A static member that left temporarily does not count until its successor has joined.
            there = (member for name, member in members.items() if has[name].epoch >= 0)
            clients = tuple(sorted(plain(member.client_id) for member in there))
            partitions = sum(count_partitions(each.assigned) for name, each in has.items() if name in members)
            self.stable_groups.append(StableGroup(epoch.epoch, timestamp_ms, clients, partitions, self._type))


def plain(client_id):
    """A member's name in the scenario: Kafka Streams gives each of its threads its own client id."""
    return client_id.partition("-StreamThread-")[0]
