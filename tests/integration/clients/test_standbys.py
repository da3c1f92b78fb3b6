"""Standby copies on a real broker: their assignment, and the takeover when an active member fails."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient

from rebalance_agent.clients.confluent_assignors import Consumer
from rebalance_agent.errors import InternalTopicError
from support.members.threads import PATIENCE, Crew, create_topic, until

pytestmark = pytest.mark.integration

PARTITIONS = 6


@pytest.fixture
def crew(kafka):
    # The shortest session timeout that the broker allows, so that a test can wait for the removal of a member.
    with Crew(kafka, session_timeout_ms=6_000) as crew:
        yield crew


def settled_with_standbys(crew, sizes):
    return (
        crew.settled
        and crew.sizes == sizes
        and sum(len(member.consumer.standbys()) for member in crew.members) == PARTITIONS
    )


@pytest.mark.parametrize("name", ["copartitioned-sticky", "cooperative-copartitioned-sticky", "task-sticky"])
def test_standbys_take_over_from_a_killed_active_member(kafka, crew, name):
    topic = create_topic(kafka, PARTITIONS)
    for _ in range(3):
        crew.join(topic, partition_assignment_strategy=name, assignor_config={"assignment.num.standbys": 1})
    until(lambda: settled_with_standbys(crew, [2, 2, 2]))
    actives = {each for member in crew.members for each in member.owned}
    copies = {each for member in crew.members for each in member.consumer.standbys()}
    assert copies == actives
    assert all(not member.owned & member.consumer.standbys() for member in crew.members)

    killed = crew.members[0]
    theirs = killed.owned
    heirs = {each: member for member in crew.members[1:] for each in member.consumer.standbys() & theirs}
    assert heirs.keys() == theirs
    kept = {member: member.owned for member in crew.members[1:]}
    crew.crash(killed)
    until(lambda: settled_with_standbys(crew, [3, 3]))
    for each, heir in heirs.items():
        assert each in heir.owned
    assert all(member.owned > before for member, before in kept.items())
    # And each is the other's standby now.
    one, other = crew.members
    assert one.consumer.standbys() == other.owned
    assert other.consumer.standbys() == one.owned


def test_new_members_take_over_reported_copies_from_a_killed_active_member(kafka, crew):
    topic = create_topic(kafka, PARTITIONS)
    settings = {"assignment.num.standbys": 1}
    killed = crew.join(topic, partition_assignment_strategy="copartitioned-sticky", assignor_config=settings)
    until(lambda: len(killed.owned) == PARTITIONS)
    crew.crash(killed)
    # Both have state on disk from an earlier run, and no assignment yet.
    heir = crew.join(
        topic,
        partition_assignment_strategy="copartitioned-sticky",
        assignor_config=settings,
        held_standbys=lambda: {topic: [0, 1, 5]},
    )
    config = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "group.id": crew.group,
        "heartbeat.interval.ms": 200,
        "session.timeout.ms": 6_000,
        "partition.assignment.strategy": "copartitioned-sticky",
    }
    reported = {topic: [2, 3, 4]}
    with Consumer(config, assignor_config=settings, held_standbys=lambda: reported, events_url="") as other:
        other.subscribe([topic])

        def numbers(partitions):
            return {each.partition for each in partitions}

        def shared():
            other.poll(0.05)
            return len(heir.owned) == len(other.assignment()) == PARTITIONS // 2

        until(shared)
        assert numbers(heir.owned) == {0, 1, 5}
        assert numbers(other.assignment()) == {2, 3, 4}
        # And each is the other's standby now.
        assert numbers(heir.consumer.standbys()) == {2, 3, 4}
        assert numbers(other.standbys()) == {0, 1, 5}


def test_a_new_member_gets_units_when_it_reports_that_their_copies_are_complete(kafka, crew):
    topic = create_topic(kafka, PARTITIONS)
    settings = {"assignment.num.standbys": 1}
    old = crew.join(topic, partition_assignment_strategy="copartitioned-sticky", assignor_config=settings)
    until(lambda: len(old.owned) == PARTITIONS)
    config = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "group.id": crew.group,
        "heartbeat.interval.ms": 200,
        "session.timeout.ms": 6_000,
        "partition.assignment.strategy": "copartitioned-sticky",
    }
    complete = {}
    with Consumer(config, assignor_config=settings, held_standbys=lambda: complete, events_url="") as new:
        new.subscribe([topic])

        def polled(condition):
            new.poll(0.05)
            return condition()

        until(lambda: polled(lambda: len(new.standbys()) == PARTITIONS))
        assert (len(old.owned), new.assignment()) == (PARTITIONS, [])
        complete[topic] = [each.partition for each in new.standbys()]
        new.enforce_rebalance()
        until(lambda: polled(lambda: len(new.assignment()) == len(old.owned) == PARTITIONS // 2))


TASKS = "count:{topic}|changelog={changelog}"


def test_internal_topics_are_created_if_configured(kafka, crew):
    topic = create_topic(kafka, PARTITIONS)
    changelog = f"{topic}-changelog"
    member = crew.join(
        topic,
        partition_assignment_strategy="task-sticky",
        assignor_config={"assignment.task.subtopologies": TASKS.format(topic=topic, changelog=changelog)},
        create_internal_topics=True,
    )
    until(lambda: len(member.owned) == PARTITIONS)
    topics = AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(timeout=PATIENCE).topics
    assert len(topics[changelog].partitions) == PARTITIONS


@pytest.mark.parametrize(("found", "problem"), [(0, "does not exist"), (2, "has 2")])
def test_missing_and_wrong_internal_topics_are_an_error_before_the_assignment(kafka, crew, found, problem):
    topic = create_topic(kafka, PARTITIONS)
    changelog = f"{topic}-changelog"
    if found:
        create_topic(kafka, found, changelog)
    member = crew.join(
        topic,
        partition_assignment_strategy="task-sticky",
        assignor_config={"assignment.task.subtopologies": TASKS.format(topic=topic, changelog=changelog)},
    )
    until(lambda: member.error is not None)
    crew.members.remove(member)
    assert member.owned == set()
    member.consumer.close()
    assert isinstance(member.error, InternalTopicError)
    assert f"internal topic {changelog} needs {PARTITIONS} partitions, but {problem}" in str(member.error)
