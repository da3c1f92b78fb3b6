"""The epochs that Kafka 4.4's own classes record with assigned partitions (KIP-1251), read by our decoder."""

import pytest

from rebalance_agent.groupprotocol.group_fact import group_fact
from rebalance_agent.groupprotocol.records import decode_record

jpype = pytest.importorskip("jpype", reason="runs Java in this process")
from support.kafka.kafkas_java import start_java  # noqa: E402 - needs jpype

pytestmark = pytest.mark.integration

GROUPS = "org.apache.kafka.coordinator.group"
IMAGE = "org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage"
UUID = "AAAAAAAAAAAAAAAAAAAAAQ"


class KafkasMember:
    """One member, whose current assignment follows its target by Kafka's classes."""

    def __init__(self):
        start_java()
        self._id = jpype.JClass("org.apache.kafka.common.Uuid").fromString(UUID)
        self._set, self._map = jpype.JClass("java.util.HashSet"), jpype.JClass("java.util.HashMap")
        member = jpype.JClass(f"{GROUPS}.modern.consumer.ConsumerGroupMember$Builder")("m")
        member.setSubscribedTopicNames(jpype.java.util.List.of("t"))
        self._member = member.setMemberEpoch(0).build()

    def assign(self, epoch, *numbers, owned=None):
        """Its current assignment after a heartbeat: ``numbers`` are its target, ``owned`` what it owns."""
        image = jpype.JProxy(IMAGE, inst=Image(self._id))
        target = jpype.JClass(f"{GROUPS}.modern.Assignment")(self._by_topic(numbers))
        builder = jpype.JClass(f"{GROUPS}.modern.consumer.CurrentAssignmentBuilder")(self._member)
        builder.withMetadataImage(image).withTargetAssignment(epoch, target)
        builder.withCurrentPartitionEpoch(jpype.JProxy("java.util.function.BiFunction", dict={"apply": unowned}))
        if owned is not None:
            request = "org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData$TopicPartitions"
            row = jpype.JClass(request)().setTopicId(self._id).setPartitions(self._integers(owned))
            builder.withOwnedTopicPartitions(jpype.java.util.List.of(row))
        self._member = builder.build()
        return self._recorded()

    def _recorded(self):
        helpers = jpype.JClass(f"{GROUPS}.GroupCoordinatorRecordHelpers")
        record = helpers.newConsumerGroupCurrentAssignmentRecord("g", self._member)
        serde = jpype.JClass(f"{GROUPS}.GroupCoordinatorRecordSerde")()
        key, value = bytes(serde.serializeKey(record)), bytes(serde.serializeValue(record))
        fact = group_fact(decode_record(key, value)).value
        return dict(zip(fact.assigned.get(UUID, ()), fact.assigned_in.get(UUID, ()), strict=True))

    def _by_topic(self, numbers):
        by_topic = self._map()
        by_topic.put(self._id, self._set(self._integers(numbers)))
        return by_topic

    def _integers(self, numbers):
        integers = jpype.java.util.ArrayList()
        for number in numbers:
            integers.add(jpype.JInt(number))
        return integers


class Image:
    """The cluster's metadata: one topic, ``t``."""

    def __init__(self, topic_id):
        self._id = topic_id

    def topicMetadata(self, name):  # noqa: N802 - Kafka's name
        of = jpype.java.util.Optional
        return of.of(jpype.JProxy(f"{IMAGE}$TopicMetadata", dict={"id": lambda: self._id, "name": lambda: "t"}))


def unowned(_topic, _partition):
    return jpype.java.lang.Integer(-1)


def test_a_kept_partition_has_an_old_epoch_and_one_that_came_back_a_new_one():
    member = KafkasMember()
    assert member.assign(5, 0, 1) == {0: 5, 1: 5}
    assert member.assign(6, 0, 1, 2) == {0: 5, 1: 5, 2: 6}
    assert member.assign(7, 1, 2, owned=(0, 1, 2)) == {1: 5, 2: 6}  # it has yet to revoke 0
    assert member.assign(8, 0, 1, 2, owned=(1, 2)) == {0: 8, 1: 5, 2: 6}  # it had, and gets it back by one record
