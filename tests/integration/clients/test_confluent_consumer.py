"""confluent-kafka's consumer with our assignors, on a real broker, compared with the coordinator's state."""

from __future__ import annotations

import contextlib
import itertools
import threading

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import Consumer as PlainConsumer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka.admin import KafkaAdminClient, MemberToRemove

from rebalance_agent.clients.confluent_assignors import Consumer
from support.members.confluent import PATIENCE, Application, until

pytestmark = pytest.mark.integration

NUMBER = itertools.count(1)
PARTITIONS = 8


@pytest.fixture(scope="module")
def admin(kafka):
    return AdminClient({"bootstrap.servers": kafka.bootstrap_servers})


@pytest.fixture(scope="module")
def producer(kafka):
    return Producer({"bootstrap.servers": kafka.bootstrap_servers})


@pytest.fixture
def topic(admin):
    return create(admin, PARTITIONS)


@pytest.fixture
def group():
    return f"confluent-group-{next(NUMBER)}"


def create(admin, partitions, name=None):
    name = name or f"confluent-topic-{next(NUMBER)}"
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(PATIENCE)
    return name


def produce(producer, topic, per_partition, partitions=PARTITIONS):
    for partition in range(partitions):
        for number in range(per_partition):
            producer.produce(topic, str(number), partition=partition)
    producer.flush(PATIENCE)


@pytest.fixture
def config(kafka, group):
    return {
        "bootstrap.servers": kafka.bootstrap_servers,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "heartbeat.interval.ms": 200,
        "session.timeout.ms": 6_000,
        "partition.assignment.strategy": "weighted-sticky",
    }


@pytest.fixture
def join(config):
    """Starts applications in the test's group; remaining ones are closed at the end."""
    with contextlib.ExitStack() as applications:

        def start(topics, settings=None, **options):
            topics = [topics] if isinstance(topics, str) else topics
            application = Application(config | (settings or {}), topics, **options)
            applications.callback(application.close)
            return application

        yield start


@pytest.fixture
def single(config):
    """A consumer that the test polls itself."""
    with contextlib.ExitStack() as consumers:

        def make(settings=None, **options):
            options = {"events_url": "", **options}
            return consumers.enter_context(Consumer(config | (settings or {}), **options))

        yield make


def weight(number):
    return {"assignment.consumer.weight": number}


def records(consumer, number, timeout=PATIENCE):
    """Return this many records from single polls."""
    found = []
    for _ in range(int(timeout / 0.2)):
        message = consumer.poll(0.2)
        if message is not None:
            assert message.error() is None, message.error()
            found.append(message)
        if len(found) == number:
            return found
    pytest.fail(f"{len(found)} records instead of {number}")


def committed(kafka, group, topic, partitions=PARTITIONS):
    consumer = PlainConsumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group})
    with contextlib.closing(consumer):
        asked = [TopicPartition(topic, partition) for partition in range(partitions)]
        return {each.partition: each.offset for each in consumer.committed(asked, timeout=PATIENCE)}


def member_ids(admin, group):
    description = admin.describe_consumer_groups([group])[group].result(PATIENCE)
    return {member.member_id: member for member in description.members}


@pytest.mark.parametrize("name", ["weighted-sticky", "cooperative-weighted-sticky"])
def test_two_members_with_weights_three_and_one_have_six_partitions_and_two(join, topic, admin, group, name):
    strategy = {"partition.assignment.strategy": name}
    heavy = join(topic, strategy, assignor_config=weight(3))
    until(lambda: len(heavy.partitions) == PARTITIONS)
    light = join(topic, strategy, assignor_config=weight(1))
    until(lambda: (len(heavy.partitions), len(light.partitions)) == (6, 2))
    assert heavy.partitions | light.partitions == set(range(PARTITIONS))
    coordinators = member_ids(admin, group)
    for application in (heavy, light):
        member = coordinators[application.consumer.memberid()]
        assert {each.partition for each in member.assignment.topic_partitions} == application.partitions
        until(lambda each=application: {one.partition for one in each.consumer.assignment()} == each.partitions)


def test_a_cooperative_member_keeps_its_position_in_kept_partitions(join, topic, producer):
    produce(producer, topic, 50)
    strategy = {"partition.assignment.strategy": "cooperative-weighted-sticky", "enable.auto.commit": False}
    first = join(topic, strategy)
    until(lambda: len(first.records) == 50 * PARTITIONS)
    second = join(topic, strategy)
    until(lambda: (len(first.partitions), len(second.partitions)) == (4, 4))
    assert [kind for kind, partitions in first.reported if partitions] == ["assign", "revoke"]
    produce(producer, topic, 10)
    # Without commits the second member begins at the start, and the first continues at its position.
    until(lambda: len(second.records) == 60 * 4)
    until(lambda: len(first.records) == 50 * PARTITIONS + 10 * 4)
    assert first.strays == second.strays == []


def test_an_eager_rebalance_under_load_loses_nothing_and_delivers_nothing_after_the_revoke_callback(
    join, topic, producer
):
    produce(producer, topic, 500)
    slow = threading.Event()
    first = join(topic, on_record=lambda _application, _message: slow.wait(0.0005))
    until(lambda: len(first.records) > 200)
    second = join(topic, on_record=lambda _application, _message: slow.wait(0.0005))
    everything = {(partition, offset) for partition in range(PARTITIONS) for offset in range(500)}
    until(lambda: {*first.records, *second.records} == everything)
    assert second.partitions
    assert first.strays == second.strays == []
    # Stored offsets are committed before the revocation, so no record is read twice.
    assert len(first.records) + len(second.records) == len(everything)


def test_the_group_waits_for_the_revoke_callback(join, topic):
    entered, leave = threading.Event(), threading.Event()

    def on_revoke(_consumer, _partitions):
        entered.set()
        leave.wait(PATIENCE)

    first = join(topic, on_revoke=on_revoke)
    until(lambda: len(first.partitions) == PARTITIONS)
    second = join(topic)
    assert entered.wait(PATIENCE)
    threading.Event().wait(2)  # otherwise the rebalance would be complete by now
    assert not any(partitions for _, partitions in second.reported)
    leave.set()
    until(lambda: (len(first.partitions), len(second.partitions)) == (4, 4))


def test_heartbeats_continue_while_the_application_does_not_poll_for_longer_than_the_session(join, topic, admin, group):
    first = join(topic)
    until(lambda: len(first.partitions) == PARTITIONS)
    first.stall()
    member = first.consumer.memberid()
    second = join(topic)
    threading.Event().wait(7)  # longer than the session timeout: nothing is visible before
    assert member in member_ids(admin, group)
    assert not second.partitions
    first.go_on()
    until(lambda: (len(first.partitions), len(second.partitions)) == (4, 4))
    assert ("lost", set(range(PARTITIONS))) not in first.reported


def test_an_application_beyond_its_poll_interval_gets_an_error_loses_partitions_and_rejoins(join, topic, producer):
    produce(producer, topic, 1)
    short = {"max.poll.interval.ms": 6_000}
    slow = join(topic, short)
    until(lambda: len(slow.records) == PARTITIONS)
    slow.stall()
    quick = join(topic)
    until(lambda: len(quick.partitions) == PARTITIONS)
    slow.go_on()
    until(lambda: slow.errors)
    until(lambda: (len(slow.partitions), len(quick.partitions)) == (4, 4))
    assert [error.code() for error in slow.errors] == [KafkaError._MAX_POLL_EXCEEDED]
    assert ("lost", set(range(PARTITIONS))) in slow.reported
    assert not any(kind == "revoke" for kind, _ in slow.reported)


def test_a_commit_after_a_lost_membership_is_refused_like_confluents(single, topic, producer, join):
    produce(producer, topic, 1)
    consumer = single({"max.poll.interval.ms": 6_000, "enable.auto.commit": False})
    refused = []

    def on_lost(consumer, partitions):
        with pytest.raises(KafkaException) as raised:
            consumer.commit(message=last, asynchronous=False)
        refused.append(raised.value.args[0].code())

    consumer.subscribe([topic], on_lost=on_lost)
    last = records(consumer, PARTITIONS)[-1]
    other = join(topic)
    until(lambda: len(other.partitions) == PARTITIONS)
    with pytest.raises(KafkaException) as raised:
        consumer.commit(message=last, asynchronous=False)
    assert raised.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID
    assert consumer.poll(1).error().code() == KafkaError._MAX_POLL_EXCEEDED
    assert refused == [KafkaError.UNKNOWN_MEMBER_ID]


def test_a_member_that_the_coordinator_removed_is_fenced_and_loses_its_partitions(
    kafka, single, topic, group, producer
):
    produce(producer, topic, 1)
    consumer = single({"enable.auto.commit": False, "heartbeat.interval.ms": 2_000})
    lost = []
    consumer.subscribe([topic], on_lost=lambda _consumer, partitions: lost.extend(partitions))
    last = records(consumer, PARTITIONS)[-1]
    remove(kafka, group, consumer.memberid())
    with pytest.raises(KafkaException) as raised:
        consumer.commit(message=last, asynchronous=False)
    assert raised.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID
    # It rejoins, and reads uncommitted records again.
    assert len(records(consumer, PARTITIONS)) == PARTITIONS
    assert len(lost) == PARTITIONS


def remove(kafka, group, member_id):
    """As by an administrator."""
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    with contextlib.closing(admin):
        admin.remove_group_members(group, [MemberToRemove(member_id=member_id)])


def test_pause_resume_seek_and_position_work_like_confluents(single, topic, producer):
    produce(producer, topic, 10, partitions=1)
    consumer = single()
    consumer.subscribe([topic])
    assert [each.offset() for each in records(consumer, 10)] == list(range(10))
    place = TopicPartition(topic, 0)
    assert consumer.position([place])[0].offset == 10
    consumer.pause([place])
    produce(producer, topic, 1, partitions=1)
    assert consumer.poll(1) is None
    consumer.resume([place])
    assert records(consumer, 1)[0].offset() == 10
    consumer.seek(TopicPartition(topic, 0, OFFSET_BEGINNING))
    assert [each.offset() for each in records(consumer, 11)] == list(range(11))
    assert consumer.get_watermark_offsets(place, timeout=10) == (0, 11)
    assert consumer.offsets_for_times([TopicPartition(topic, 0, 0)], timeout=10)[0].offset == 0
    assert topic in consumer.list_topics(topic, timeout=10).topics


def test_stored_offsets_are_committed_at_the_interval_and_on_commit_is_called(single, topic, producer, kafka, group):
    produce(producer, topic, 5)
    reported = []
    consumer = single(
        {"auto.commit.interval.ms": 200, "on_commit": lambda error, offsets: reported.append((error, offsets))}
    )
    consumer.subscribe([topic])
    records(consumer, 5 * PARTITIONS)
    until(lambda: consumer.poll(0.05) is None and committed(kafka, group, topic) == dict.fromkeys(range(PARTITIONS), 5))
    until(lambda: consumer.poll(0.05) is None and reported)
    assert {error for error, _ in reported} == {None}
    assert all(isinstance(each, TopicPartition) for _, offsets in reported for each in offsets)


def test_closing_commits_exactly_the_stored_offsets(single, topic, producer, kafka, group, config):
    produce(producer, topic, 5)
    with Consumer(config | {"enable.auto.offset.store": False}, events_url="") as consumer:
        consumer.subscribe([topic])
        taken = records(consumer, 5 * PARTITIONS)
        consumer.store_offsets(message=next(each for each in taken if (each.partition(), each.offset()) == (3, 2)))
    assert committed(kafka, group, topic)[3] == 3
    assert set(committed(kafka, group, topic).values()) == {3, -1001}


def test_without_auto_commit_offsets_are_committed_only_on_request(topic, producer, kafka, group, config):
    produce(producer, topic, 5)
    with Consumer(config | {"enable.auto.commit": False}, events_url="") as consumer:
        consumer.subscribe([topic])
        taken = records(consumer, 5 * PARTITIONS)
        assert consumer.commit(offsets=[TopicPartition(topic, 0, 2)], asynchronous=False)[0].offset == 2
        assert consumer.commit(message=next(each for each in taken if each.partition() == 1), asynchronous=True) is None
    assert committed(kafka, group, topic) == {0: 2, 1: 1} | dict.fromkeys(range(2, PARTITIONS), -1001)


def test_a_commit_without_stored_offsets_raises_no_offset(single, topic):
    consumer = single()
    consumer.subscribe([topic])
    with pytest.raises(KafkaException) as raised:
        consumer.commit(asynchronous=False)
    assert raised.value.args[0].code() == KafkaError._NO_OFFSET


def test_reading_begins_at_offsets_assigned_in_on_assign(single, topic, producer):
    produce(producer, topic, 10, partitions=1)

    def on_assign(consumer, partitions):
        consumer.assign([TopicPartition(each.topic, each.partition, 7) for each in partitions])

    consumer = single()
    consumer.subscribe([topic], on_assign=on_assign)
    assert [each.offset() for each in records(consumer, 3)] == [7, 8, 9]


def test_poll_raises_an_exception_of_a_callback_and_the_consumer_continues(single, topic, producer):
    produce(producer, topic, 1)
    failures = [ValueError("the user's own")]

    def on_assign(_consumer, partitions):
        if partitions and failures:
            raise failures.pop()

    consumer = single()
    consumer.subscribe([topic], on_assign=on_assign)
    with pytest.raises(ValueError, match="the user's own"):
        records(consumer, PARTITIONS)
    assert len(records(consumer, PARTITIONS)) == PARTITIONS


def test_a_restarted_static_member_gets_its_partitions_without_a_rebalance(join, topic, admin, group):
    static = {"group.instance.id": "one", "session.timeout.ms": 30_000}
    one = join(topic, static)
    two = join(topic)
    until(lambda: (len(one.partitions), len(two.partitions)) == (4, 4))
    before = one.partitions
    changes = len(two.reported)
    one.close()
    again = join(topic, static)
    until(lambda: again.partitions == before)
    assert len(two.reported) == changes


def test_the_older_of_two_consumers_with_one_instance_id_is_fenced(join, topic, producer):
    static = {"group.instance.id": "twin", "auto.commit.interval.ms": 100}
    older = join(topic, static)
    until(lambda: len(older.partitions) == PARTITIONS)
    newer = join(topic, static)
    until(lambda: len(newer.partitions) == PARTITIONS)
    produce(producer, topic, 1)  # it notices at a commit
    until(lambda: not older.partitions)
    assert older.reported[-1] == ("lost", set(range(PARTITIONS)))
    until(lambda: older.errors)
    assert [(error.code(), error.fatal()) for error in older.errors] == [(KafkaError.FENCED_INSTANCE_ID, True)]


def test_unsubscribing_revokes_and_leaves_and_subscribing_again_rejoins(single, topic, producer, sidecar):
    produce(producer, topic, 1)
    reported = []
    consumer = single(events_url=sidecar.url)
    callbacks = {
        "on_assign": lambda _consumer, partitions: reported.append(("assign", len(partitions))),
        "on_revoke": lambda _consumer, partitions: reported.append(("revoke", len(partitions))),
    }
    consumer.subscribe([topic], **callbacks)
    records(consumer, PARTITIONS)
    consumer.unsubscribe()
    until(lambda: consumer.poll(0.05) is None and reported[-1] == ("revoke", PARTITIONS))
    until(lambda: consumer.poll(0.05) is None and not consumer.memberid())
    assert sidecar.wait_for(
        lambda taken: [each["callback"] for each in taken if each["kind"] == "member"][-1] == "left"
    )
    consumer.subscribe([topic], **callbacks)
    until(lambda: consumer.poll(0.05) is None and reported[-1] == ("assign", PARTITIONS))


def test_a_pattern_follows_new_topics(join, admin, group):
    create(admin, 2, f"{group}-one")
    other = create(admin, 1)
    application = join([f"^{group}-.*", other], {"topic.metadata.refresh.interval.ms": 500})
    until(lambda: len(application.held) == 3)
    create(admin, 3, f"{group}-two")
    until(lambda: len(application.held) == 6)
    assert {topic for topic, _ in application.held} == {f"{group}-one", f"{group}-two", other}


def test_callbacks_are_reported_with_their_times_on_the_applications_thread(topic, join, sidecar):
    pause = threading.Event()
    first = join(topic, {"client.id": "reported"}, events_url=sidecar.url, on_revoke=lambda *_: pause.wait(0.3))
    until(lambda: len(first.partitions) == PARTITIONS)
    first.stall()
    second = join(topic)
    pause.wait(2)  # the rebalance waits for the application's poll, which is not part of its callback
    first.go_on()
    until(lambda: len(second.partitions) == 4)
    first.close()
    assert sidecar.wait_for(lambda taken: any(event.get("callback") == "left" for event in taken))
    revoked = [event for event in sidecar.taken if event.get("callback") == "revoked"]
    assert all(300 <= event["timestamp_ms"] - event["started_ms"] < 1_500 for event in revoked)
    assert revoked[0]["partitions"] == {topic: f"0-{PARTITIONS - 1}"}
    assert any(event["kind"] == "assign" and event["assignor"] == "weighted-sticky" for event in sidecar.taken)


def test_consume_gives_batches_and_a_transaction_commits_for_the_member(kafka, single, topic, producer, group):
    produce(producer, topic, 20)
    consumer = single({"enable.auto.commit": False})
    consumer.subscribe([topic])
    taken = []
    until(lambda: taken.extend(consumer.consume(50, 0.5)) or len(taken) == 20 * PARTITIONS)
    transactional = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": f"{group}-tx"})
    transactional.init_transactions(PATIENCE)
    transactional.begin_transaction()
    offsets = [TopicPartition(topic, 0, 20)]
    transactional.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), PATIENCE)
    transactional.commit_transaction(PATIENCE)
    assert consumer.committed([TopicPartition(topic, 0)], timeout=PATIENCE)[0].offset == 20
