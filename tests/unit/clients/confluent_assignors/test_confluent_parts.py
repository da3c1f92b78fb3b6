"""The parts of the confluent consumer: handover, poll timer, offsets, commits, callbacks."""

from __future__ import annotations

import sys
import threading

import kafka.errors
import pytest
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as Partition

from rebalance_agent.clients.confluent_assignors import Consumer
from rebalance_agent.clients.confluent_assignors import consumer as consumer_module
from rebalance_agent.clients.confluent_assignors import group_metadata as groupmetadata
from rebalance_agent.clients.confluent_assignors.config.subscribed_topics import SubscribeCall
from rebalance_agent.clients.confluent_assignors.kafka_errors import confluent_error
from rebalance_agent.clients.confluent_assignors.member.committer import Committer, RequestedCommit, _batched
from rebalance_agent.clients.confluent_assignors.member.poll_interval import PollInterval
from rebalance_agent.clients.confluent_assignors.member.thread_handover import Task, ThreadHandover
from rebalance_agent.clients.confluent_assignors.offsets import OffsetStore, by_partition, from_message
from rebalance_agent.clients.confluent_assignors.rebalancing import Callbacks, Rebalancing
from rebalance_agent.clock import FakeClock, SystemClock
from rebalance_agent.errors import InvalidInputError

PATIENCE = 20.0


def offset(number, epoch=-1):
    return OffsetAndMetadata(number, "", epoch)


# handing over


def test_a_task_runs_on_the_executing_thread_and_is_then_done():
    handover, ran, reported = ThreadHandover(), [], []
    task = Task(lambda: ran.append(threading.current_thread()), lambda: reported.append(task.done))
    handover.offer(task)
    assert handover.waiting
    assert handover.carry_out()
    assert (ran, reported) == ([threading.current_thread()], [True])
    assert not handover.waiting
    assert not handover.carry_out()
    assert handover.await_done(task, 0)


def test_an_exception_of_a_task_is_raised_on_its_thread_and_the_other_side_continues():
    handover, reported = ThreadHandover(), []
    task = Task(lambda: {}["nothing"], lambda: reported.append("done"))
    handover.offer(task)
    with pytest.raises(KeyError):
        handover.carry_out()
    assert task.done
    assert reported == ["done"]


def test_a_task_is_withdrawn_only_before_it_was_taken():
    handover, taken = ThreadHandover(), []
    task = Task(lambda: taken.append(handover.withdraw(task)))
    handover.offer(task)
    assert handover.withdraw(task)
    assert not handover.waiting
    handover.offer(task)
    handover.carry_out()
    assert taken == [False]


# max.poll.interval.ms


def test_the_poll_interval_does_not_run_during_a_poll():
    clock = FakeClock()
    watch = PollInterval(1_000, clock)
    with watch:
        clock.advance(5_000)
        assert (watch.exceeded, watch.remaining_seconds) == (False, 1.0)
        with watch:  # a callback that polls
            pass
        clock.advance(5_000)
        assert not watch.exceeded
    clock.advance(1_000)
    assert not watch.exceeded
    clock.advance(1)
    assert watch.exceeded
    watch.touch()
    assert not watch.exceeded


# offsets


def test_only_owned_partitions_are_stored_and_only_changed_offsets_are_due():
    ledger = OffsetStore()
    ledger.own([("t", 0), ("t", 1)])
    ledger.store({Partition("t", 0): offset(5)})
    with pytest.raises(KafkaException) as raised:
        ledger.store({Partition("t", 1): offset(9), Partition("t", 2): offset(9)})
    assert raised.value.args[0].code() == KafkaError._STATE
    assert ledger.due() == {Partition("t", 0): offset(5)}
    ledger.committed({Partition("t", 0): offset(5)})
    assert ledger.due() == {}
    ledger.store({Partition("t", 0): offset(3)})  # after a seek backwards
    assert ledger.disown([("t", 0), ("t", 7)]) == {Partition("t", 0): offset(3)}
    assert ledger.owned == {("t", 1)}


def test_only_records_of_owned_partitions_are_delivered_and_stored_if_configured():
    ledger = OffsetStore()
    ledger.own([("t", 0), ("t", 1)])
    assert ledger.delivers(Message(topic="t", partition=0, offset=6, leader_epoch=2), store=True)
    assert ledger.delivers(Message(topic="t", partition=1, offset=6), store=False)
    assert not ledger.delivers(Message(topic="t", partition=2, offset=6), store=True)
    assert not ledger.delivers(Message(topic="u", partition=0, offset=6), store=True)
    ends = KafkaError(KafkaError._PARTITION_EOF)
    assert ledger.delivers(Message(topic="t", partition=1, offset=9, error=ends), store=True)
    assert not ledger.delivers(Message(topic="t", partition=2, offset=9, error=ends), store=True)
    assert ledger.delivers(Message(error=KafkaError(KafkaError._ALL_BROKERS_DOWN)), store=True)
    assert ledger.due() == {Partition("t", 0): offset(7, 2)}


def test_a_partition_owned_again_has_no_stored_offset():
    ledger = OffsetStore()
    ledger.own([("t", 0)])
    ledger.store({Partition("t", 0): offset(5)})
    ledger.own([("t", 0)])
    assert ledger.due() == {Partition("t", 0): offset(5)}
    ledger.disown([("t", 0)])
    ledger.own([("t", 0)])
    assert ledger.due() == {}


def test_the_stored_offset_of_a_message_is_its_successor_with_the_epoch():
    message = Message(topic="t", partition=2, offset=0, leader_epoch=4)
    assert from_message(message) == {Partition("t", 2): offset(1, 4)}
    with pytest.raises(KafkaException):
        from_message(Message(error=KafkaError(KafkaError._ALL_BROKERS_DOWN)))


def test_partitions_without_an_offset_are_omitted():
    assert by_partition([TopicPartition("t", 0, 7), TopicPartition("t", 1)]) == {Partition("t", 0): offset(7)}


# commits


class Coordinator:
    """Accepts commits when the test allows it."""

    def __init__(self):
        self.open = threading.Event()
        self.sent = []
        self.refusal = None

    def send(self, offsets):
        self.open.wait(PATIENCE)
        if self.refusal is not None:
            raise KafkaException(KafkaError(self.refusal))
        self.sent.append({each.partition: reported.offset for each, reported in offsets.items()})


@pytest.fixture
def coordinator():
    return Coordinator()


@pytest.fixture
def committing(coordinator):
    """Creates started committers; all are stopped at the end."""
    made = []

    def make(ledger=None, interval=None):
        reported = []
        committer = Committer(coordinator.send, ledger or OffsetStore(), reported.append, SystemClock(), interval)
        committer.start()
        made.append(committer)
        return committer, reported

    yield make
    coordinator.open.set()
    for each in made:
        each.stop()


def test_commits_arrive_in_order_and_asynchronous_ones_in_batches(coordinator, committing):
    committer, reported = committing()
    committer.commit_async({Partition("t", 0): offset(1)})
    committer.commit_async({Partition("t", 0): offset(2)})
    committer.commit_async({Partition("t", 1): offset(1)})
    waiter = threading.Thread(target=committer.commit_sync, args=({Partition("t", 0): offset(3)},))
    waiter.start()
    coordinator.open.set()
    waiter.join(PATIENCE)
    assert [each.get(0) for each in coordinator.sent][-1] == 3
    assert coordinator.sent[-2].get(1) == 1
    assert coordinator.sent[-2].get(0, 2) == 2
    assert [each.offsets for each in reported] == [
        {Partition("t", 0): offset(1)},
        {Partition("t", 0): offset(2)},
        {Partition("t", 1): offset(1)},
    ]


def test_a_refused_commit_raises_if_synchronous_and_is_logged_otherwise(coordinator, committing):
    coordinator.open.set()
    coordinator.refusal = KafkaError.ILLEGAL_GENERATION
    committer, reported = committing()
    committer.commit_async({Partition("t", 0): offset(1)})
    with pytest.raises(KafkaException) as raised:
        committer.commit_sync({Partition("t", 0): offset(2)})
    assert raised.value.args[0].code() == KafkaError.ILLEGAL_GENERATION
    assert [each.error.code() for each in reported] == [KafkaError.ILLEGAL_GENERATION]


def test_stored_offsets_are_sent_at_the_interval_until_they_have_arrived(coordinator, committing):
    coordinator.open.set()
    coordinator.refusal = KafkaError.COORDINATOR_NOT_AVAILABLE
    ledger = OffsetStore()
    ledger.own([("t", 0)])
    ledger.store({Partition("t", 0): offset(4)})
    _, reported = committing(ledger, 0.01)
    wait_for(lambda: len(reported) >= 2)
    coordinator.refusal = None
    wait_for(lambda: reported[-1].error is None)
    assert coordinator.sent == [{0: 4}]
    assert ledger.due() == {}


def test_stopping_finishes_requested_commits(coordinator, committing):
    committer, reported = committing()
    committer.commit_async({Partition("t", 0): offset(1)})
    coordinator.open.set()
    committer.stop()
    assert len(reported) == 1


def test_only_asynchronous_commits_are_batched():
    def asked(letter):
        return RequestedCommit({}, waited_for=letter == "w")

    commits = [asked(letter) for letter in "sswssw"]
    assert [len(group) for group in _batched(commits)] == [2, 1, 2, 1]
    assert [each for group in _batched(commits) for each in group] == commits


def wait_for(condition):
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if condition():
            return
        pause.wait(0.01)
    pytest.fail("the condition never came")


# callbacks


class Data:
    """The part of a data consumer that rebalances use."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        def call(partitions=()):
            self.calls.append((name, [each.partition for each in partitions]))

        return call


class World:
    def __init__(self, *, cooperative=False, **callbacks):
        self.data, self.ledger, self.sent = Data(), OffsetStore(), []
        self.rebalancing = Rebalancing(self, self.data, self.ledger, self.sent.append, cooperative=cooperative)
        self.rebalancing.callbacks = Callbacks(**callbacks)


TWO = [("t", 1), ("t", 0)]


def test_assignments_missing_in_callbacks_are_made_after_them():
    world = World(on_assign=lambda world, _: world.data.calls.append("user"))
    world.rebalancing.on_partitions_assigned(TWO)
    assert world.data.calls == ["user", ("assign", [0, 1])]
    world.ledger.store({Partition("t", 0): offset(5)})
    world.rebalancing.on_partitions_revoked(TWO)
    assert world.data.calls[2:] == [("unassign", [])]
    assert world.sent == [{Partition("t", 0): offset(5)}]
    assert world.ledger.owned == frozenset()


def test_a_cooperative_consumer_adds_and_removes_partitions():
    world = World(cooperative=True)
    world.rebalancing.on_partitions_assigned(TWO)
    world.rebalancing.on_partitions_revoked([("t", 1)])
    assert world.data.calls == [("incremental_assign", [0, 1]), ("incremental_unassign", [1])]
    assert world.ledger.owned == {("t", 0)}


def test_an_assignment_made_by_a_callback_is_not_repeated():
    world = World(
        on_assign=lambda world, _: world.rebalancing.assign([TopicPartition("t", 0, 9)]),
        on_revoke=lambda world, _: world.rebalancing.unassign(),
    )
    world.rebalancing.on_partitions_assigned(TWO)
    world.rebalancing.on_partitions_revoked(TWO)
    assert world.data.calls == [("assign", [0]), ("unassign", [])]


def test_lost_partitions_are_not_committed_and_on_revoke_replaces_a_missing_on_lost():
    reported = []
    world = World(on_revoke=lambda _, partitions: reported.append([each.partition for each in partitions]))
    world.rebalancing.on_partitions_assigned(TWO)
    world.ledger.store({Partition("t", 0): offset(5)})
    world.rebalancing.on_partitions_lost(TWO)
    assert (reported, world.sent, world.ledger.owned) == ([[0, 1]], [], frozenset())


@pytest.mark.parametrize("event", ["assigned", "revoked", "lost"])
def test_an_exception_of_a_callback_is_raised_after_the_rebalance(event):
    def fails(_consumer, _partitions):
        raise ValueError

    world = World(on_revoke=fails, on_lost=fails)
    if event == "assigned":
        world.rebalancing.callbacks = Callbacks(on_assign=fails)
    else:
        world.rebalancing.on_partitions_assigned(TWO)
    with pytest.raises(ValueError):  # noqa: PT011 - the user's own
        getattr(world.rebalancing, f"on_partitions_{event}")(TWO)
    assert len(world.ledger.owned) == (2 if event == "assigned" else 0)


@pytest.mark.parametrize("method", ["assign", "incremental_assign", "unassign", "incremental_unassign"])
def test_manual_assignments_are_refused_outside_of_callbacks(method):
    world = World()
    with pytest.raises(KafkaException) as raised:
        getattr(world.rebalancing, method)(*([] if method == "unassign" else [[]]))
    assert raised.value.args[0].code() == KafkaError._STATE
    assert world.data.calls == []


# errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (kafka.errors.CommitFailedError(kafka.errors.UnknownMemberIdError()), KafkaError.UNKNOWN_MEMBER_ID),
        (kafka.errors.CommitFailedError(kafka.errors.IllegalGenerationError()), KafkaError.ILLEGAL_GENERATION),
        (kafka.errors.CommitFailedError(kafka.errors.RebalanceInProgressError()), KafkaError.REBALANCE_IN_PROGRESS),
        (kafka.errors.CommitFailedError("kicked out"), KafkaError.UNKNOWN_MEMBER_ID),
        (kafka.errors.FencedInstanceIdError(), KafkaError.FENCED_INSTANCE_ID),
        (kafka.errors.GroupAuthorizationFailedError("g"), KafkaError.GROUP_AUTHORIZATION_FAILED),
        (kafka.errors.OffsetMetadataTooLargeError(), KafkaError.OFFSET_METADATA_TOO_LARGE),
        (kafka.errors.KafkaTimeoutError(), KafkaError._TIMED_OUT),
        (kafka.errors.KafkaConnectionError(), KafkaError._TRANSPORT),
        (kafka.errors.KafkaConfigurationError("x"), KafkaError._INVALID_ARG),
        (RuntimeError("GSSAPI lib not found!"), KafkaError._FAIL),
        (KafkaException(KafkaError(KafkaError._NO_OFFSET)), KafkaError._NO_OFFSET),
    ],
)
def test_errors_have_confluents_codes(error, code):
    reported = confluent_error(error)
    assert reported.code() == code
    assert reported.fatal() is (code == KafkaError.FENCED_INSTANCE_ID)


# topics


def test_a_subscription_may_contain_patterns_and_names():
    wanted = SubscribeCall(["plain", "^a.*b$", "^c"])
    assert wanted.has_patterns
    assert wanted.resolve(lambda: ["axb", "axbx", "cd", "plainer"]) == ("axb", "cd", "plain")


def test_a_subscription_by_names_needs_no_request():
    assert SubscribeCall(["b", "a"]).resolve(lambda: pytest.fail("asked")) == ("a", "b")


@pytest.mark.parametrize("topics", [[], "topic", [""], [1], ["^("]])
def test_an_invalid_subscription_is_refused(topics):
    with pytest.raises(InvalidInputError, match="topics"):
        SubscribeCall(topics)


# group metadata


class Writes:
    def __init__(self, written):
        self._written = written

    def consumer_group_metadata(self):
        return self._written


@pytest.mark.parametrize("instance", [None, "static"])
def test_group_metadata_has_librdkafkas_format(instance):
    reported = groupmetadata.group_metadata(Writes(b"CGMDv2:\xff\xff\xff\xffg\0\0\1"), "g", 258, "m", instance)
    ending = b"\1" if instance is None else b"\0static\0"
    assert reported == b"CGMDv2:" + (258).to_bytes(4, sys.byteorder) + b"g\0m\0" + ending


def test_metadata_in_another_format_is_refused():
    with pytest.raises(KafkaException) as raised:
        groupmetadata.group_metadata(Writes(b"CGMDv3:\xff\xff\xff\xffg\0\0\1"), "g", 1, "m", None)
    assert raised.value.args[0].code() == KafkaError._NOT_IMPLEMENTED


# the consumer's own loop


class Queue:
    """librdkafka with these batches of records; None stands for a rebalance."""

    def __init__(self, handover, *batches):
        self._handover = handover
        self._batches = list(batches)
        self.ran = []

    def consume(self, _number, _timeout):
        batch = self._batches.pop(0) if self._batches else []
        if self._batches and self._batches[0] is None:
            self._batches.pop(0)
            self._handover.offer(Task(lambda: self.ran.append("callback")))
        return batch

    def poll(self, _timeout):
        return next(iter(self.consume(1, 0)), None)


def test_records_already_read_are_delivered_before_a_rebalance():
    with Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}, events_url="") as consumer:
        real = consumer._data
        consumer._offset_store.own([("t", 0)])
        records = [Message(topic="t", partition=0, offset=number) for number in range(4)]
        consumer._data = queue = Queue(consumer._handover, records[:2], None, records[2:])
        assert consumer.consume(10, timeout=5) == records[:2]
        assert queue.ran == []
        assert consumer.consume(2, timeout=5) == records[2:]
        assert queue.ran == ["callback"]
        consumer._data = real


def test_a_method_of_a_closed_consumer_raises():
    consumer = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}, events_url="")
    consumer.close()
    consumer.close()
    for call in (
        consumer.poll,
        consumer.consume,
        consumer.commit,
        consumer.memberid,
        consumer.standbys,
        lambda: consumer.subscribe(["t"]),
    ):
        with pytest.raises(RuntimeError, match="Consumer closed"):
            call()


def test_the_member_gets_the_applications_callbacks_for_copies_and_loads(monkeypatch):
    asked = {"loads": dict, "create_internal_topics": True, "held_standbys": dict}
    config = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}
    monkeypatch.setattr(consumer_module, "MemberConsumer", lambda *_arguments, **options: options)
    with Consumer(config, events_url="", **asked) as consumer:
        assert consumer.standbys() == []
        assert asked.items() <= consumer._membership.connect().items()


def test_closing_in_a_callback_is_refused():
    with Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}, events_url="") as consumer:
        consumer._handover.offer(Task(consumer.close))
        with pytest.raises(RuntimeError, match="rebalance callback"):
            consumer.poll(0)
        assert consumer.poll(0) is None
