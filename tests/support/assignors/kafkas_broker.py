"""The assignors of Kafka's brokers, ``UniformAssignor`` and ``RangeAssignor``, in this process."""

from __future__ import annotations

import random

import jpype

from rebalance_agent.model.partitions import topic_partitions
from support.kafka.kafkas_java import start_java

COORDINATOR = "org.apache.kafka.coordinator.group"


class KafkasAssignor:
    """One of the brokers' assignors; topics get random ids, which it reads in the order of the topics."""

    def __init__(self, name: str) -> None:
        start_java()
        self._assignor = jpype.JClass(f"{COORDINATOR}.assignor.{name.capitalize()}Assignor")()
        self._uuid = jpype.JClass("org.apache.kafka.common.Uuid")
        self._spec, self._member, self._assignment = (
            jpype.JClass(f"{COORDINATOR}.modern.{simple}")
            for simple in ("GroupSpecImpl", "MemberSubscriptionAndAssignmentImpl", "Assignment")
        )
        self._type = jpype.JClass(f"{COORDINATOR}.api.assignor.SubscriptionType")

    def assign(self, group, seed):
        """Member id -> partitions, and the order in which the assignor gets the members."""
        rnd = random.Random(seed)
        uuids = [self._uuid(rnd.getrandbits(63), rnd.getrandbits(63)) for _ in group.topics]
        equal = len({frozenset(each.topics) for each in group.members}) == 1
        names = dict(zip(self._ordered(uuids, equal), group.topics, strict=True))
        ids = {name: uuid for uuid, name in names.items()}
        hash_map, linked, linked_set = (
            jpype.JClass(f"java.util.{name}") for name in ("HashMap", "LinkedHashMap", "LinkedHashSet")
        )
        members, owners = hash_map(), hash_map()
        for each in group.members:
            held = linked()
            for topic, numbers in each.owned.items():
                if topic in each.topics or not equal:
                    held.put(ids[topic], jpype.JClass("java.util.HashSet")(self._integers(numbers)))
                for number in numbers if topic in each.topics else ():
                    owners.computeIfAbsent(ids[topic], lambda _: hash_map()).put(jpype.JInt(number), each.member_id)
            members.put(each.member_id, self._of(each, linked_set([ids[topic] for topic in each.topics]), held))
        spec = self._spec(members, self._type.HOMOGENEOUS if equal else self._type.HETEROGENEOUS, owners)
        result = self._assignor.assign(spec, self._describer(group, names)).members()
        given = {
            str(entry.getKey()): topic_partitions(
                (names[topic.getKey()], int(number))
                for topic in entry.getValue().partitions().entrySet()
                for number in topic.getValue()
            )
            for entry in result.entrySet()
        }
        return given, [str(name) for name in spec.memberIds()]

    def _ordered(self, uuids, equal):
        if equal:
            return list(jpype.JClass("java.util.HashSet")(jpype.java.util.ArrayList(uuids)))
        in_order = jpype.java.util.ArrayList(uuids)
        jpype.java.util.Collections.sort(in_order)
        return list(in_order)

    def _integers(self, numbers):
        every = jpype.java.util.ArrayList()
        for number in numbers:
            every.add(jpype.JInt(number))
        return every

    def _of(self, member, subscribed, held):
        optional = jpype.java.util.Optional
        instance = optional.empty() if member.instance_id is None else optional.of(member.instance_id)
        return self._member(optional.empty(), instance, subscribed, self._assignment(held))

    def _describer(self, group, names):
        class Describer:
            @staticmethod
            def numPartitions(uuid):  # noqa: N802 - Kafka's name
                return group.topics[names[uuid]].partitions

        name = f"{COORDINATOR}.api.assignor.SubscribedTopicDescriber"
        return jpype.JProxy(name, inst=Describer())
