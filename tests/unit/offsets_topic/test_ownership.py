from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, TopicPartition

from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from rebalance_agent.offsets_topic import ownership
from rebalance_agent.offsets_topic.ownership import OWNERSHIP_PART, Ownership, SharedOwnership
from support.observer.fakes import Calls

NAMES = [f"group-{number}" for number in range(20)]


def _shared(health=None):
    shared = SharedOwnership({}, "rebalance-agent", health or Calls())
    shared.on_partition_count(4)
    return shared


def _partitions(*numbers):
    return [TopicPartition("__consumer_offsets", number) for number in numbers]


def test_a_single_observer_has_all_partitions_once_their_number_is_known():
    everything = Ownership()
    assert everything.partitions() is None
    everything.on_partition_count(3)
    assert everything.partitions() == {0, 1, 2}
    assert everything.owns("any")


def test_a_replica_owns_nothing_before_its_assignment():
    shared = _shared()
    assert shared.partitions() is None
    assert not any(map(shared.owns, NAMES))


def test_a_replica_reports_only_groups_of_its_partitions():
    shared, client, health = _shared(), Calls(), Calls()
    shared = _shared(health)
    shared._assigned(client, _partitions(1, 3))
    assert shared.partitions() == {1, 3}
    assert {name for name in NAMES if shared.owns(name)} == {
        name for name in NAMES if offsets_partition(name, 4) in (1, 3)
    }
    assert health.of("ready") == [(OWNERSHIP_PART,)]
    shared._revoked(client, _partitions(3))
    assert shared.partitions() == {1}


def test_assigned_partitions_are_never_fetched_by_the_group_consumer():
    shared, client = _shared(), Calls()
    shared._assigned(client, _partitions(2))
    assert [name for name, *_ in client.made] == ["incremental_assign", "pause"]


def _sharing(answers):
    """A replica with partitions 1 and 3; ``answers``: whether snapshots are written; and the recorded requests."""
    asked, answers = [], iter(answers)

    def stored(numbers):
        asked.append((numbers, shared.partitions()))
        return next(answers)

    shared = SharedOwnership({}, "rebalance-agent", Calls(), stored)
    shared._assigned(Calls(), _partitions(1, 3))
    return shared, asked


def test_partitions_are_revoked_with_a_snapshot():
    shared, asked = _sharing([False, False, True])
    client = Calls()
    shared._revoked(client, _partitions(3))
    assert asked == [([3], {1, 3})] * 3  # it still owns the partition
    assert shared.partitions() == {1}
    assert [name for name, *_ in client.made] == ["incremental_unassign"]


def test_the_wait_for_a_snapshot_has_a_timeout(monkeypatch):
    monkeypatch.setattr(ownership, "HANDOVER_LOOK_S", 0.001)
    monkeypatch.setattr(ownership, "HANDOVER_S", 0.01)
    shared, asked = _sharing([False] * 10)
    shared._revoked(Calls(), _partitions(3))
    assert len(asked) == 10
    assert shared.partitions() == {1}


def test_lost_partitions_are_removed_without_a_request():
    shared, asked = _sharing([])
    shared._lost(Calls(), _partitions(3))
    assert asked == []
    assert shared.partitions() == {1}


def test_more_replicas_than_partitions_leave_one_in_reserve_and_ready():
    health = Calls()
    shared = _shared(health)
    shared._assigned(Calls(), [])
    assert shared.partitions() == frozenset()
    assert health.of("ready") == [(OWNERSHIP_PART,)]
    assert not any(map(shared.owns, NAMES))


def test_without_the_right_to_read_replicas_share_nothing():
    shared = _shared()
    shared.topic_denied(yes=True)
    assert all(map(shared.owns, NAMES))
    shared.topic_denied(yes=False)
    assert not any(map(shared.owns, NAMES))


def test_a_missing_right_is_reported_with_the_command_that_grants_it():
    with pytest.raises(AccessDeniedError, match=r"kafka-acls.sh .* --group rebalance-agent"):
        _shared()._check(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))


def test_an_unreachable_broker_is_awaited_until_the_process_ends():
    _shared()._check(KafkaError(KafkaError._TRANSPORT))
    with pytest.raises(ClusterError):
        _shared()._check(KafkaError(KafkaError._FATAL, "fenced", True))
