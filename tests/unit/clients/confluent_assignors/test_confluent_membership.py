"""The membership thread with a fake member."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import kafka.errors
import pytest
from confluent_kafka import KafkaError, KafkaException
from kafka.structs import OffsetAndMetadata, TopicPartition

from rebalance_agent.clients.confluent_assignors.config.subscribed_topics import SubscribeCall
from rebalance_agent.clients.confluent_assignors.member.membership_thread import MembershipThread
from rebalance_agent.clients.confluent_assignors.member.poll_interval import PollInterval
from rebalance_agent.clients.confluent_assignors.member.thread_handover import Abandoned, ThreadHandover
from rebalance_agent.clients.confluent_assignors.offsets import OffsetStore
from rebalance_agent.clock import FakeClock

PATIENCE = 20.0
OFFSETS = {TopicPartition("t", 0): OffsetAndMetadata(1, "", -1)}


class FakeMember:
    """Records its calls; ``raises``: the exceptions of its next polls."""

    joined = True

    def __init__(self):
        self.calls = []
        self.raises = []
        self.refusals = []
        self.reported = []
        self.topics = ["a1", "a2", "b"]

    def follow(self, topics):
        self.calls.append(("follow", topics))

    def leave(self):
        self.calls.append("leave")

    def close(self, **options):
        self.calls.append("close")

    def list_topics(self):
        return list(self.topics)

    def poll(self, timeout_ms):
        threading.Event().wait(0.005)
        if self.raises:
            raise self.raises.pop(0)

    def commit(self, offsets, timeout_ms):
        if self.refusals:
            raise self.refusals.pop(0)
        self.calls.append(("commit", {each.partition: reported.offset for each, reported in offsets.items()}))

    @property
    def timed(self):
        return self

    def on_partitions_revoked(self, partitions):
        self.reported.append(("revoked", partitions))

    def on_partitions_lost(self, partitions):
        self.reported.append(("lost", partitions))

    def standbys(self):
        return {TopicPartition("t", 3)}

    def group_metadata(self):
        return SimpleNamespace(generation_id=7, member_id="m-1")


class World:
    """A membership, and an application that polls only when the test calls it."""

    def __init__(self):
        self.clock = FakeClock()
        self.member = FakeMember()
        self.handover = ThreadHandover()
        self.watch = PollInterval(1_000, self.clock)
        self.ledger = OffsetStore()
        self.reports = []
        self.connects = []
        self.membership = MembershipThread(
            self.connect, self.handover, self.watch, self.ledger, self.reports.append, self.clock, 60.0
        )

    def connect(self):
        if self.connects:
            raise self.connects.pop(0)
        return self.member

    def join(self, *topics):
        self.membership.subscribe(SubscribeCall(list(topics) or ["t"]))
        self.until(lambda: self.member.calls)

    def poll(self):
        with self.watch:
            return self.handover.carry_out()

    def until(self, condition):
        pause = threading.Event()
        for _ in range(int(PATIENCE / 0.005)):
            if condition():
                return
            pause.wait(0.005)
        pytest.fail("the condition never came")

    def late(self):
        self.watch.touch()
        self.clock.advance(1_250)


@pytest.fixture
def world():
    world = World()
    yield world
    world.membership.begin_close()
    world.until(lambda: (world.poll(), world.membership.closed(0.01))[1])


def test_no_connection_is_opened_before_a_subscription(world):
    assert world.membership.identity == (-1, "")
    world.join()
    assert world.membership.identity == (7, "m-1")
    assert world.member.calls == [("follow", ("t",))]


def test_the_member_reports_the_configured_copies(world):
    assert world.membership.standbys == frozenset()
    world.join()
    assert world.membership.standbys == {("t", 3)}


def test_a_consumer_that_exceeds_its_poll_interval_leaves_and_joins_at_the_next_poll(world):
    world.join()
    world.ledger.own([("t", 3)])
    world.late()
    world.until(lambda: "leave" in world.member.calls)
    world.until(lambda: world.handover.waiting)
    assert world.member.reported == []
    (error,) = world.reports
    assert error.code() == KafkaError._MAX_POLL_EXCEEDED
    assert "(1000ms) exceeded by 250ms" in error.str()
    assert world.poll()
    assert world.member.reported == [("lost", frozenset({TopicPartition("t", 3)}))]
    world.until(lambda: world.member.calls == [("follow", ("t",)), "leave", ("follow", ("t",))])


def test_a_rebalance_without_a_poll_of_the_application_ends_with_lost_partitions(world):
    world.join()
    world.ledger.own([("t", 3)])
    failed = kafka.errors.KafkaError("User rebalance callback throws an error")
    failed.__cause__ = Abandoned()
    world.member.raises.append(failed)
    world.until(lambda: world.handover.waiting)
    assert world.poll()
    assert [kind for kind, _ in world.member.reported] == ["lost"]
    assert [each.code() for each in world.reports] == [KafkaError._MAX_POLL_EXCEEDED]


def test_unsubscribing_revokes_and_then_leaves(world):
    world.join()
    world.ledger.own([("t", 3)])
    world.membership.subscribe(None)
    world.until(lambda: world.handover.waiting)
    assert "leave" not in world.member.calls
    assert world.poll()
    world.until(lambda: "leave" in world.member.calls)
    assert world.member.reported == [("revoked", frozenset({TopicPartition("t", 3)}))]
    with pytest.raises(KafkaException) as raised:
        world.membership.commit(OFFSETS)
    assert raised.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID


def test_a_consumer_that_unsubscribes_without_polling_leaves_at_the_poll_interval(world):
    world.join()
    world.ledger.own([("t", 3)])
    world.membership.subscribe(None)
    world.until(lambda: world.handover.waiting)
    world.late()
    world.until(lambda: "leave" in world.member.calls)
    world.until(world.poll)
    assert [kind for kind, _ in world.member.reported] == ["lost"]
    assert world.member.calls == [("follow", ("t",)), "leave"]


def test_a_failed_leave_ends_nothing(world):
    world.join()

    def leave():
        world.member.calls.append("leave")
        raise RuntimeError

    world.member.leave = leave
    world.membership.subscribe(None)
    world.until(lambda: "leave" in world.member.calls)
    world.membership.subscribe(SubscribeCall(["u"]))
    world.until(lambda: world.member.calls[-1] == ("follow", ("u",)))


def test_a_close_outside_of_a_generation_loses_partitions(world):
    world.join()
    world.ledger.own([("t", 3)])
    world.member.joined = False
    world.membership.begin_close()
    world.until(world.poll)
    world.until(lambda: world.membership.closed(0.01))
    assert [kind for kind, _ in world.member.reported] == ["lost"]
    assert world.member.calls[-1] == "close"


def test_an_error_is_reported_once_and_only_if_it_persists(world):
    denied = [kafka.errors.GroupAuthorizationFailedError("g") for _ in range(2)]
    world.connects = [kafka.errors.KafkaConnectionError(), *denied]
    world.join()
    assert [each.code() for each in world.reports] == [KafkaError.GROUP_AUTHORIZATION_FAILED]


def test_a_fenced_member_loses_everything_and_stays_away(world):
    world.join()
    world.ledger.own([("t", 3)])
    world.member.refusals.append(kafka.errors.FencedInstanceIdError())
    with pytest.raises(KafkaException) as raised:
        world.membership.commit(OFFSETS)
    assert raised.value.args[0].code() == KafkaError.FENCED_INSTANCE_ID
    world.until(lambda: world.handover.waiting)
    assert world.poll()
    assert [kind for kind, _ in world.member.reported] == ["lost"]
    assert [(each.code(), each.fatal()) for each in world.reports] == [(KafkaError.FENCED_INSTANCE_ID, True)]
    world.until(lambda: world.member.calls[-1] == "leave")


def test_a_commit_waits_for_the_end_of_a_join_up_to_a_timeout(world):
    world.join()
    world.member.refusals = [kafka.errors.RebalanceInProgressError()] * 3
    world.membership.commit(OFFSETS)
    assert world.member.calls[-1] == ("commit", {0: 1})

    def refuse(_offsets, timeout_ms):
        world.clock.advance(timeout_ms + 1)
        raise kafka.errors.RebalanceInProgressError

    world.member.commit = refuse
    with world.watch, pytest.raises(KafkaException) as raised:
        world.membership.commit(OFFSETS)
    assert raised.value.args[0].code() == KafkaError.REBALANCE_IN_PROGRESS


def test_patterns_are_matched_with_the_topics_periodically(world):
    world.join("^a")
    assert world.member.calls == [("follow", ("a1", "a2"))]
    world.member.topics.append("a3")
    with world.watch:  # the application keeps polling
        world.clock.advance(60_000)
        world.until(lambda: len(world.member.calls) == 2)
    assert world.member.calls[1] == ("follow", ("a1", "a2", "a3"))
    world.member.topics.clear()
    world.watch.touch()
    with world.watch:
        world.clock.advance(60_000)
        world.until(lambda: len(world.member.calls) == 3)
    assert world.member.calls[2] == "leave"
