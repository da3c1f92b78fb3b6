"""kafka-python's consumer with our strategies and events on a real broker, compared with the coordinator's state."""

from __future__ import annotations

import contextlib
import itertools

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin import NewTopic as NewTopicOf
from kafka import ConsumerRebalanceListener, TopicPartition
from kafka import KafkaConsumer as PlainConsumer
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError

from rebalance_agent.clients.kafka_python import KafkaConsumer
from support.members.threads import Member, until
from support.observer.sidecars import Sidecar, SilentSidecar, absent, answering, reported

pytestmark = pytest.mark.integration

PATIENCE = 60.0
NUMBER = itertools.count(1)


@pytest.fixture(scope="module")
def admin(kafka):
    return AdminClient({"bootstrap.servers": kafka.bootstrap_servers})


@pytest.fixture
def topic(admin):
    return create(admin, 100)


@pytest.fixture
def group():
    return f"group-{next(NUMBER)}"


def create(admin, partitions, name=None):
    name = name or f"topic-{next(NUMBER)}"
    admin.create_topics([NewTopicOf(name, partitions, 1)])[name].result(PATIENCE)
    return name


@pytest.fixture
def join(kafka, group, sidecar):
    """Starts members of the test's group; remaining ones are closed at the end."""
    with contextlib.ExitStack() as members:

        def start(*topics, kind=KafkaConsumer, **configs):
            if kind is KafkaConsumer:
                configs.setdefault("events_url", sidecar.url)
            member = Member(
                kind(
                    *topics,
                    bootstrap_servers=kafka.bootstrap_servers,
                    group_id=group,
                    heartbeat_interval_ms=200,
                    session_timeout_ms=10_000,
                    **configs,
                )
            )
            members.callback(member.close)
            return member

        yield start


def settled(admin, group, members):
    """Client id -> (member id, partitions) from the coordinator, if the group is stable with this number of members."""
    description = admin.describe_consumer_groups([group])[group].result(PATIENCE)
    if description.state.name != "STABLE" or len(description.members) != members:
        return None
    return {
        member.client_id: (
            member.member_id,
            {(each.topic, each.partition) for each in member.assignment.topic_partitions},
        )
        for member in description.members
    }


def weighted(join, topic, name="weighted-sticky", weights=(900, 90, 10)):
    return {
        weight: join(
            topic,
            client_id=f"w{weight}",
            partition_assignment_strategy=name,
            assignor_config={"assignment.consumer.weight": weight},
        )
        for weight in weights
    }


def shares(members):
    return {weight: len(member.owned) for weight, member in members.items()}


@pytest.mark.parametrize("name", ["weighted-sticky", "cooperative-weighted-sticky"])
def test_weights_900_90_10_give_90_9_1_and_the_events_agree_with_the_coordinator(
    join, topic, group, admin, sidecar, name
):
    members = weighted(join, topic, name)
    until(lambda: shares(members) == {900: 90, 90: 9, 10: 1})
    until(lambda: settled(admin, group, 3))
    coordinators = settled(admin, group, 3)
    for weight, member in members.items():
        now = member.consumer.group_metadata()
        assert coordinators[f"w{weight}"] == (now.member_id, {(each.topic, each.partition) for each in member.owned})
        until(lambda client=f"w{weight}": reported(sidecar, kind="member", callback="assigned", client_id=client))
        assigned = reported(sidecar, kind="member", callback="assigned", client_id=f"w{weight}")
        assert {event["member_id"] for event in assigned} == {now.member_id}
        if name == "weighted-sticky":
            sidecar.wait_for(lambda _, client=f"w{weight}", number=now.generation_id: any(
                event["generation"] == number
                for event in reported(sidecar, kind="member", callback="assigned", client_id=client)
            ))  # fmt: skip
            assert (
                reported(sidecar, kind="member", callback="assigned", client_id=f"w{weight}")[-1]["generation"]
                == now.generation_id
            )
    # A cooperative assignor assigns the partitions that members have to revoke one generation later.
    until(lambda: any(_assigns_all(event) for event in reported(sidecar, kind="assign", assignor=name)))
    last = _last_assign(sidecar, name)
    assert (last["members"], last["partitions"], last["quality"]["skew_ratio"]) == (3, 100, 1.0)


def _assigns_all(event):
    return (event["members"], event["partitions"]) == (3, 100)


def _last_assign(sidecar, name):
    return max(reported(sidecar, kind="assign", assignor=name), key=lambda event: event["generation"])


def test_a_revocation_has_the_old_generation_and_an_assignment_the_new_one(join, topic, group, sidecar):
    first = join(topic, client_id="first", partition_assignment_strategy="range")
    until(lambda: len(first.owned) == 100)
    before = first.consumer.group_metadata()
    second = join(topic, client_id="second", partition_assignment_strategy="range")
    until(lambda: (len(first.owned), len(second.owned)) == (50, 50))
    after = first.consumer.group_metadata()
    assert sidecar.wait_for(
        lambda _: any(
            event["generation"] == after.generation_id
            for event in reported(sidecar, client_id="first", callback="assigned")
        )
    )
    revoked = reported(sidecar, client_id="first", callback="revoked", generation=before.generation_id)
    assert [(event["partitions"], event["member_id"]) for event in revoked] == [({topic: "0-99"}, before.member_id)]
    assigned = reported(sidecar, client_id="first", callback="assigned", generation=after.generation_id)
    assert [event["partitions"] for event in assigned] == [{topic: "0-49"}]
    assert revoked[0]["timestamp_ms"] <= assigned[0]["started_ms"]


def test_failover_moves_all_partitions_when_the_active_member_leaves_and_reports_the_leave(join, topic, sidecar):
    config = {"partition_assignment_strategy": "failover"}
    active = join(topic, client_id="active", assignor_config={"assignment.consumer.priority": 10}, **config)
    standby = join(topic, client_id="standby", assignor_config={"assignment.consumer.priority": 5}, **config)
    until(lambda: len(active.owned) == 100 and standby.consumer.group_metadata().generation_id > 0)
    membership = active.consumer.group_metadata()
    active.close()
    until(lambda: len(standby.owned) == 100)
    assert sidecar.wait_for(lambda _: reported(sidecar, client_id="active", callback="left"))
    (left,) = reported(sidecar, client_id="active", callback="left")
    assert left["member_id"] == membership.member_id
    assert left["generation"] >= membership.generation_id
    assert reported(sidecar, client_id="active", callback="revoked")[-1]["sequence"] < left["sequence"]


def test_failover_keeps_the_owner_when_an_equal_member_joins(join, topic):
    owner = join(topic, client_id="b", partition_assignment_strategy="failover")
    until(lambda: len(owner.owned) == 100)
    newcomer = join(topic, client_id="a", partition_assignment_strategy="failover")
    until(lambda: newcomer.consumer.group_metadata().generation_id > 0)
    until(lambda: len(owner.owned) == 100)
    assert newcomer.owned == set()


def test_topics_of_another_member_only_get_an_owner(join, admin):
    mine, theirs = create(admin, 3), create(admin, 2)
    leader = join(mine, partition_assignment_strategy="roundrobin")
    until(lambda: len(leader.owned) == 3)
    other = join(theirs, partition_assignment_strategy="roundrobin")
    until(lambda: other.owned == {TopicPartition(theirs, 0), TopicPartition(theirs, 1)})
    assert {each.topic for each in leader.owned} == {mine}


def test_a_pattern_is_instrumented_like_a_list_and_follows_new_topics(join, admin, sidecar, group):
    create(admin, 2, f"{group}-one")
    member = join(partition_assignment_strategy="range", client_id="p", metadata_max_age_ms=500)
    member.stop()
    member.consumer.subscribe(pattern=f"^{group}-.*")
    member = Member(member.consumer)
    try:
        until(lambda: len(member.owned) == 2)
        create(admin, 3, f"{group}-two")
        until(lambda: len(member.owned) == 5)
        assert sidecar.wait_for(
            lambda _: any(
                event["partitions"] == {f"{group}-one": "0-1", f"{group}-two": "0-2"}
                for event in reported(sidecar, client_id="p", callback="assigned")
            )
        )
    finally:
        member.stop()


class ShortV1(RangePartitionAssignor):
    """A member whose subscription of "version 1" ends after the fields of version 0, as sarama's did."""

    @classmethod
    def metadata(cls, topics):
        return b"\0\1" + super().metadata(topics).encode()[2:]


def test_a_member_with_a_truncated_subscription_does_not_break_the_leaders_assignment(join, topic):
    leader = join(topic, partition_assignment_strategy="range")
    until(lambda: len(leader.owned) == 100)
    other = join(topic, kind=PlainConsumer, partition_assignment_strategy=[ShortV1])
    until(lambda: (len(leader.owned), len(other.owned)) == (50, 50))
    assert leader.error is None


def test_kafka_pythons_own_assignors_and_members_work_beside_ours(join, topic, sidecar):
    ours = join(topic, client_id="ours", partition_assignment_strategy=[RangePartitionAssignor])
    until(lambda: len(ours.owned) == 100)
    plain = join(topic, kind=PlainConsumer, partition_assignment_strategy=[RangePartitionAssignor])
    until(lambda: (len(ours.owned), len(plain.owned)) == (50, 50))
    assert sidecar.wait_for(lambda _: reported(sidecar, kind="assign", assignor="range"))


class Raises(ConsumerRebalanceListener):
    """A user's listener that raises if it gets partitions."""

    def __init__(self):
        self.error = ValueError("the user's own")

    def on_partitions_revoked(self, revoked):
        pass

    def on_partitions_assigned(self, assigned):
        if assigned:
            raise self.error


@pytest.mark.parametrize("kind", [PlainConsumer, KafkaConsumer])
def test_an_exception_of_the_users_listener_is_raised_as_without_instrumentation(kafka, topic, group, sidecar, kind):
    ours = {"events_url": sidecar.url} if kind is KafkaConsumer else {}
    listener = Raises()
    consumer = kind(bootstrap_servers=kafka.bootstrap_servers, group_id=group, **ours)
    consumer.subscribe([topic], listener=listener)
    with pytest.raises(KafkaError, match="User rebalance callback throws an error") as raised:
        until(lambda: consumer.poll(timeout_ms=500) is None)
    assert raised.value.__cause__ is listener.error
    until(lambda: consumer.poll(timeout_ms=100) == {} and len(consumer.assignment()) == 100)
    consumer.close()
    if ours:
        assert sidecar.wait_for(lambda _: reported(sidecar, callback="left"))
        (failed, *_) = [event for event in reported(sidecar, kind="member", callback="assigned") if event["partitions"]]
        assert failed["error"] == "ValueError: the user's own"


@pytest.mark.parametrize("kind", [PlainConsumer, KafkaConsumer])
def test_a_listener_of_the_wrong_kind_is_refused_by_kafka_python_itself(kafka, group, kind):
    consumer = kind(bootstrap_servers=kafka.bootstrap_servers, group_id=group)
    with contextlib.closing(consumer), pytest.raises(TypeError, match="listener must be"):
        consumer.subscribe(["t"], listener=object())


@contextlib.contextmanager
def failing():
    with Sidecar(*[500] * 1_000) as sidecar:
        yield sidecar.url


@contextlib.contextmanager
def malformed():
    with Sidecar(*[400] * 1_000) as sidecar:
        yield sidecar.url


@contextlib.contextmanager
def mute():
    with SilentSidecar() as sidecar:
        yield sidecar.url


@pytest.mark.parametrize(
    "sick",
    [absent, mute, failing, malformed, lambda: answering(b"\xff\x00nonsense")],
    ids=["absent", "silent", "500", "400", "garbage"],
)
def test_a_consumer_works_beside_a_failing_sidecar(join, topic, sick):
    with sick() as url:
        first = join(topic, partition_assignment_strategy="weighted-sticky", events_url=url)
        until(lambda: len(first.owned) == 100)
        second = join(topic, partition_assignment_strategy="weighted-sticky", events_url=url)
        until(lambda: (len(first.owned), len(second.owned)) == (50, 50))
        second.close()
        until(lambda: len(first.owned) == 100)
        first.close()
        assert (first.error, second.error) == (None, None)


def test_unsubscribing_reports_the_leave_with_the_revoked_partitions(join, topic, sidecar):
    member = join(topic, client_id="u", partition_assignment_strategy="range")
    until(lambda: len(member.owned) == 100)
    member.stop()
    member.consumer.unsubscribe()
    assert sidecar.wait_for(lambda _: reported(sidecar, client_id="u", callback="left"))
    assert reported(sidecar, client_id="u", callback="left")[0]["partitions"] == {topic: "0-99"}


def test_a_consumer_without_a_group_works_and_reports_nothing(kafka, topic, sidecar):
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, events_url=sidecar.url)
    with contextlib.closing(consumer):
        consumer.assign([TopicPartition(topic, 0)])
        consumer.poll(timeout_ms=200)
        assert consumer.assignment() == {TopicPartition(topic, 0)}
    assert sidecar.bodies == []
