from __future__ import annotations

import copy
from types import SimpleNamespace

import pytest
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from rebalance_agent.instrumentation import Instrumentation
from rebalance_agent.instrumentation import assign_decision as decision
from support.observer.recorded_instrumentation import RecordedInstrumentation


class Cluster:
    """Cluster metadata: topics and partition counts."""

    def __init__(self, **topics):
        self._topics = topics

    def topics(self):
        return set(self._topics)

    def partitions_for_topic(self, topic):
        return set(range(self._topics[topic])) if topic in self._topics else None


def member(name, *topics, owned=()):
    rows = [ConsumerProtocolSubscription.TopicPartition(topic, list(numbers)) for topic, numbers in owned]
    subscription = ConsumerProtocolSubscription(
        version=3, topics=list(topics), user_data=b"", owned_partitions=rows, generation_id=4, rack_id=None
    )
    return SimpleNamespace(member_id=name, group_instance_id=None, metadata=subscription)


@pytest.fixture
def seen():
    return RecordedInstrumentation()


def test_an_assignor_of_any_library_is_timed_and_measured_and_its_result_is_unchanged(seen):
    inner = RangePartitionAssignor()
    members = [member("a", "t"), member("b", "t", owned=[("t", (0, 1))])]
    expected = inner.assign(Cluster(t=5), members)
    assert seen.hooks.assignor(inner).assign(Cluster(t=5), members) == expected
    (event,) = seen.events
    assert (event.assignor, event.generation, event.members, event.partitions) == ("range", 7, 2, 5)
    assert (event.quality.spread, event.quality.imbalance, event.quality.unassigned) == (1, 0, 0)
    assert (event.quality.moved, event.error) == (2, None)


def test_without_a_sidecar_assignments_are_not_measured(monkeypatch):
    monkeypatch.setattr(decision, "judge", lambda *_: pytest.fail("judged"))
    hooks = Instrumentation(group="g", client_id="c", events_url="")
    assert set(hooks.assignor(RangePartitionAssignor()).assign(Cluster(t=5), [member("a", "t")])) == {"a"}


def test_the_measured_time_is_only_the_assignors(seen):
    class Slow(RangePartitionAssignor):
        @classmethod
        def assign(cls, cluster, members):
            seen.clock.advance(250)
            return super().assign(cluster, members)

    seen.hooks.assignor(Slow()).assign(Cluster(t=1), [member("a", "t")])
    assert seen.events[0].duration_seconds == 0.25


def test_a_failure_passes_unchanged_and_is_counted(seen):
    error = KeyError("topic")

    class Broken(RangePartitionAssignor):
        def assign(self, cluster, members):
            raise error

    with pytest.raises(KeyError) as raised:
        seen.hooks.assignor(Broken()).assign(Cluster(), [member("a")])
    assert raised.value is error
    assert (seen.events[0].error, seen.events[0].quality) == ("KeyError: 'topic'", None)


def test_other_attributes_are_the_assignors_own(seen):
    class Own(RangePartitionAssignor):
        special = 42

    inner = Own()
    wrapped = seen.hooks.assignor(inner)
    assert (wrapped.name, wrapped.special, wrapped.version) == ("range", 42, 0)
    assert wrapped.supported_protocols() == inner.supported_protocols()
    assert wrapped.metadata({"t"}).encode() == inner.metadata({"t"}).encode()
    assert copy.copy(wrapped).special == 42
    with pytest.raises(AttributeError):
        wrapped.nothing  # noqa: B018 - attribute access is the test


def test_received_assignments_are_passed_on(seen):
    given = []

    class Keeps(RangePartitionAssignor):
        def on_assignment(self, assignment, generation):
            given.append((assignment, generation))

    seen.hooks.assignor(Keeps()).on_assignment("assignment", 7)
    assert given == [("assignment", 7)]


def test_an_unreadable_result_is_returned_and_reported_without_quality(seen, caplog):
    class Odd(RangePartitionAssignor):
        def assign(self, cluster, members):
            return {"a": b"bytes"}

    assert seen.hooks.assignor(Odd()).assign(Cluster(t=1), [member("a", "t")]) == {"a": b"bytes"}
    assert (seen.events[0].quality, seen.events[0].error) == (None, None)


def test_a_too_large_assignment_is_reported_without_quality(seen, monkeypatch):
    monkeypatch.setattr(decision, "QUALITY_SIZE_MAX", 6)
    wrapped = seen.hooks.assignor(RangePartitionAssignor())
    wrapped.assign(Cluster(t=5), [member("a", "t")])
    wrapped.assign(Cluster(t=5), [member("a", "t"), member("b", "t")])
    assert [event.quality is None for event in seen.events] == [False, True]


def test_a_generation_of_another_librarys_cooperative_assignor_is_not_measured(seen):
    members = [member("a", "t", owned=[("t", (0, 1, 2, 3))]), member("b", "t")]
    seen.hooks.assignor(CooperativeStickyAssignor()).assign(Cluster(t=4), members)
    assert (seen.events[0].partitions, seen.events[0].quality) == (2, None)


def test_members_given_as_an_iterator_reach_the_assignor(seen):
    wrapped = seen.hooks.assignor(RangePartitionAssignor())
    assert set(wrapped.assign(Cluster(t=2), iter([member("a", "t"), member("b", "t")]))) == {"a", "b"}
