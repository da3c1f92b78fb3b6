"""The epochs that Kafka's own classes record with assigned partitions and active tasks, read by our decoder."""

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
    """A member of a consumer group, whose current assignment follows its target by Kafka's classes."""

    def __init__(self):
        start_java()
        self._id = jpype.JClass("org.apache.kafka.common.Uuid").fromString(UUID)
        member = jpype.JClass(f"{GROUPS}.modern.consumer.ConsumerGroupMember$Builder")("m")
        member.setSubscribedTopicNames(jpype.java.util.List.of("t"))
        self._member = member.setMemberEpoch(0).build()

    def assign(self, epoch, *numbers, owned=None):
        """Its current assignment after a heartbeat: ``numbers`` are its target, ``owned`` what it owns."""
        image = jpype.JProxy(IMAGE, inst=Image(self._id))
        target = jpype.JClass(f"{GROUPS}.modern.Assignment")(self._by_topic(numbers))
        builder = jpype.JClass(f"{GROUPS}.modern.consumer.CurrentAssignmentBuilder")(self._member)
        builder.withMetadataImage(image).withTargetAssignment(epoch, target)
        builder.withCurrentPartitionEpoch(function(unowned))
        if owned is not None:
            request = "org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData$TopicPartitions"
            row = jpype.JClass(request)().setTopicId(self._id).setPartitions(integers(owned))
            builder.withOwnedTopicPartitions(jpype.java.util.List.of(row))
        self._member = builder.build()
        return self._recorded()

    def _recorded(self):
        helpers = jpype.JClass(f"{GROUPS}.GroupCoordinatorRecordHelpers")
        record = helpers.newConsumerGroupCurrentAssignmentRecord("g", self._member)
        return epochs_of(record, UUID)

    def _by_topic(self, numbers):
        return jpype.java.util.Map.of(self._id, jpype.java.util.HashSet(integers(numbers)))


class KafkasStreamsMember:
    """A member of a streams group, whose active tasks follow its target by Kafka's classes."""

    def __init__(self):
        start_java()
        member = jpype.JClass(f"{GROUPS}.streams.StreamsGroupMember$Builder").withDefaults("m")
        self._member = member.setMemberEpoch(0).setProcessId("p").build()

    def assign(self, epoch, *numbers, owned=None):
        """Its current assignment after a heartbeat: ``numbers`` are its target, ``owned`` what it owns."""
        builder = jpype.JClass(f"{GROUPS}.streams.CurrentAssignmentBuilder")(self._member)
        builder.withTargetAssignment(epoch, self._active(numbers))
        builder.withCurrentActiveTaskProcessId(function(lambda _subtopology, _task: None))
        builder.withCurrentStandbyTaskProcessIds(function(lambda _subtopology, _task: jpype.java.util.Set.of()))
        builder.withCurrentWarmupTaskProcessIds(function(lambda _subtopology, _task: jpype.java.util.Set.of()))
        if owned is not None:
            builder.withOwnedAssignment(self._active(owned))
        self._member = builder.build()
        helpers = jpype.JClass(f"{GROUPS}.streams.StreamsCoordinatorRecordHelpers")
        return epochs_of(helpers.newStreamsGroupCurrentAssignmentRecord("g", self._member), "0")

    def _active(self, numbers):
        of, tasks = jpype.java.util.Map.of, jpype.java.util.HashSet(integers(numbers))
        return jpype.JClass(f"{GROUPS}.streams.TasksTuple")(of("0", tasks), of(), of())


def epochs_of(record, key):
    """Partition -> epoch, as our decoder reads them from Kafka's record."""
    serde = jpype.JClass(f"{GROUPS}.GroupCoordinatorRecordSerde")()
    fact = group_fact(decode_record(bytes(serde.serializeKey(record)), bytes(serde.serializeValue(record)))).value
    return dict(zip(fact.assigned.get(key, ()), fact.assigned_in.get(key, ()), strict=True))


def integers(numbers):
    listed = jpype.java.util.ArrayList()
    for number in numbers:
        listed.add(jpype.JInt(number))
    return listed


def function(apply):
    return jpype.JProxy("java.util.function.BiFunction", dict={"apply": apply})


class Image:
    """The cluster's metadata: one topic, ``t``."""

    def __init__(self, topic_id):
        self._id = topic_id

    def topicMetadata(self, name):  # noqa: N802 - Kafka's name
        of = jpype.java.util.Optional
        return of.of(jpype.JProxy(f"{IMAGE}$TopicMetadata", dict={"id": lambda: self._id, "name": lambda: "t"}))


def unowned(_topic, _partition):
    return jpype.java.lang.Integer(-1)


@pytest.mark.parametrize("kind", [KafkasMember, KafkasStreamsMember], ids=["consumer", "streams"])
def test_a_kept_partition_has_an_old_epoch_and_one_that_came_back_a_new_one(kind):
    member = kind()
    assert member.assign(5, 0, 1) == {0: 5, 1: 5}
    assert member.assign(6, 0, 1, 2) == {0: 5, 1: 5, 2: 6}
    assert member.assign(7, 1, 2, owned=(0, 1, 2)) == {1: 5, 2: 6}  # it has yet to revoke 0
    assert member.assign(8, 0, 1, 2, owned=(1, 2)) == {0: 8, 1: 5, 2: 6}  # it had, and gets it back by one record
