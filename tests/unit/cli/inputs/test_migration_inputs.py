"""The records of a group are applied once each, also where following begins with some that were read before."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from rebalance_agent.advice.migration.broker_limits import BrokerLimits
from rebalance_agent.advice.migration.migrating_group import MigratingGroupRecords
from rebalance_agent.api.query import NotKnownError
from rebalance_agent.cli.inputs import migration_inputs
from rebalance_agent.cli.inputs.migration_inputs import MigrationInputs
from rebalance_agent.cli.inputs.raw_records import RawRecord
from rebalance_agent.errors import AccessDeniedError, ClusterError, InvalidInputError
from rebalance_agent.groupprotocol.tables import OFFSET_COMMIT
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.member_software import ClientSoftware
from support.judge.records import generation, group_key
from support.observer.fakes import generation_event
from support.observer.views import member_event

COMMIT = OFFSET_COMMIT.key.encode(1, {"group": "orders", "topic": "t", "partition": 0}), b"not read"


def members(group, count):
    """A classic group's record."""
    return group_key(group), generation(1, **{f"m{number}": (number,) for number in range(count)})


@pytest.fixture
def topic(monkeypatch):
    """A function that sets the records of the topic: pairs of key and value."""

    def holds(*pairs):
        raw = [RawRecord(key, value, 1, 0, offset) for offset, (key, value) in enumerate(pairs)]
        monkeypatch.setattr(migration_inputs, "cluster_record_batches", lambda _options: ([each] for each in raw))

    return holds


def test_only_later_records_are_followed(topic):
    topic(members("orders", 3), COMMIT, members("orders", 2), (b"\0\2", b"?"))
    inputs = MigrationInputs(BrokerLimits({}, {}), 1, MigratingGroupRecords("orders"), -1)
    options = SimpleNamespace()
    assert list(migration_inputs._applied(options, inputs.recorded)) == [[0], [], [2], []]
    inputs.position = 2
    topic(*([members("orders", 3)] * 3), members("others", 1), members("orders", 1))
    assert [len(group.members) for group in inputs.followed(options)] == [2, 1]


def test_records_that_are_read_together_are_one_change(topic, monkeypatch):
    topic(members("orders", 3))
    inputs = MigrationInputs(BrokerLimits({}, {}), 1, MigratingGroupRecords("orders"), -1)
    assert list(migration_inputs._applied(SimpleNamespace(), inputs.recorded)) == [[0]]
    inputs.position = 0
    reads = [[], [members("orders", 2), members("orders", 1)], [members("orders", 3)]]
    monkeypatch.setattr(migration_inputs, "cluster_record_batches", lambda _options: raw_batches(reads))
    assert [len(group.members) for group in inputs.followed(SimpleNamespace())] == [3, 1, 3]


def raw_batches(reads):
    """Batches of records with increasing offsets, from 1."""
    offsets = itertools.count(1)
    return [[RawRecord(key, value, 1, 0, next(offsets)) for key, value in read] for read in reads]


def test_a_group_that_is_deleted_is_waited_for(topic):
    topic(members("orders", 1))
    inputs = MigrationInputs(BrokerLimits({}, {}), 1, MigratingGroupRecords("orders"), -1)
    with pytest.raises(NotKnownError, match="no group 'orders'"):
        _ = inputs.group
    assert list(migration_inputs._applied(SimpleNamespace(), inputs.recorded)) == [[0]]
    inputs.position = 0
    topic(members("orders", 1), (group_key("orders"), None), members("orders", 1), members("orders", 2))
    assert [len(group.members) for group in inputs.followed(SimpleNamespace())] == [1, 2]


def test_a_deletion_is_seen_if_the_next_read_shows_no_new_group(topic, monkeypatch):
    topic(members("orders", 1))
    inputs = MigrationInputs(BrokerLimits({}, {}), 1, MigratingGroupRecords("orders"), -1)
    assert list(migration_inputs._applied(SimpleNamespace(), inputs.recorded)) == [[0]]
    inputs.position = 0
    deleted = [(group_key("orders"), None)]
    reads = [deleted, [], [], [members("orders", 1)], deleted, [members("orders", 2)], []]
    monkeypatch.setattr(migration_inputs, "cluster_record_batches", lambda _options: raw_batches(reads))
    followed = [group and len(group.members) for group in inputs.followed(SimpleNamespace())]
    assert followed == [1, None, 1, 2]


class FakeClient:
    """Connections to brokers with these features; a `ClusterError` instead of the response."""

    def __init__(self, features):
        self._features = features

    def nodes(self):
        return [3]

    def __call__(self, requests):
        assert [node for node, _ in requests] == [3]
        return [self._features]

    def close(self):
        pass


def features(epoch=1, error_code=0, **levels):
    named = [SimpleNamespace(name=name.replace("_", "."), max_version_level=level) for name, level in levels.items()]
    return SimpleNamespace(error_code=error_code, finalized_features_epoch=epoch, finalized_features=named)


class FakeCluster:
    """A cluster of two brokers; ``denied``: the kinds of settings that may not be read."""

    def __init__(self, leader, denied=(), failing=(), features=None):
        self._leader, self._denied, self._failing, self._features = leader, denied, failing, features

    def broker_client(self):
        if self._features is None:
            raise InvalidInputError("kafka-python", "is not installed")
        return FakeClient(self._features)

    def identify(self):
        return "c", {"__consumer_offsets": 4}

    def leader(self, _topic, _partition):
        return self._leader

    def brokers(self):
        return {7: ("h", 1), 5: ("h", 2)}

    def list_groups(self):
        return SimpleNamespace(groups=[SimpleNamespace(group_type=GroupType.CONSUMER)])

    def settings(self, kind, name):
        if kind in self._denied:
            raise AccessDeniedError("denied")
        if kind in self._failing:
            raise ClusterError("no response")
        return {"of": f"{kind} {name}"}


def test_settings_are_those_of_the_coordinator_and_of_the_group():
    broker, limits = migration_inputs._limits(FakeCluster(7), "orders")
    assert (broker, limits.broker, limits.group) == (7, {"of": "broker 7"}, {"of": "group orders"})
    assert limits.consumer_groups
    assert migration_inputs._limits(FakeCluster(-1), "orders")[0] == 5


def test_settings_that_may_not_be_read_are_not_known():
    assert migration_inputs._limits(FakeCluster(7, denied=("broker",)), "orders")[1].upgrades is None
    with pytest.raises(ClusterError):
        migration_inputs._limits(FakeCluster(7, failing=("group",)), "orders")


@pytest.mark.parametrize(
    ("read", "supported", "problem"),
    [
        (features(group_version=1), True, ""),
        (features(metadata_version=33), False, ""),
        (features(epoch=-1), None, "the brokers report no features"),
        (features(error_code=35), None, "the brokers report no features"),
        (ClusterError("no response"), None, "no response"),
        (None, None, "kafka-python is not installed"),
    ],
)
def test_the_feature_shows_whether_the_cluster_allows_the_protocol(read, supported, problem):
    cluster = FakeCluster(7, features=read)
    cluster.list_groups = lambda: SimpleNamespace(groups=[])
    limits = migration_inputs._limits(cluster, "orders")[1]
    assert (limits.supported, limits.version_problem) == (supported, problem)


def test_the_last_library_that_a_gateway_reported_for_a_member_counts():
    old, new = ClientSoftware("librdkafka", "2.6.1"), ClientSoftware("librdkafka", "2.12.0")
    reports = [member_event(member_id="a", software=each) for each in (old, new, None)]
    past = (*reports, member_event(member_id="b"), generation_event())
    inputs = MigrationInputs(BrokerLimits({}, {}), 1, MigratingGroupRecords("orders"), -1, past=past)
    assert inputs.software == {"a": new}
