"""Work that replicas share, and work that each replica does."""

from __future__ import annotations

from confluent_kafka import TopicPartition

from rebalance_agent.cluster.admin_client import GroupListing
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.polls.list_groups import list_poll
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.watch.observer_share import ObserverShare
from rebalance_agent.tracking.observations import ListedGroup
from support.observer.fakes import Calls, fake_context

PARTITION_OF = {"abc": 2, "orders": 3, "a": 1, "b": 2, "c": 3, "": 0}
"""Of four. Java hashes these names to 96354, -1008770331 (Kafka takes the absolute value), 97, 98, 99 and 0."""


class Cluster:
    def list_groups(self, _states):
        listed = (ListedGroup(name, GroupState.EMPTY, GroupType.CLASSIC) for name in PARTITION_OF)
        return GroupListing(tuple(listed), complete=True)


def made(**settings):
    return ObserverShare(fake_context(Cluster()), ObserverSettings(state_topic="", **settings), None)


def listed(share):
    """The groups of a list response, as the tracker gets them."""
    received = []
    list_poll("list_all", (), share.context, received.extend)()
    (poll,) = share.context.inbox.take(9, 0)
    assert [each.group for each in poll.groups] == received
    return set(received)


def test_a_replica_lists_only_groups_of_its_partitions_and_reads_all_their_records():
    share = made(replicas_group="rebalance-agent-tests")
    assert listed(share) == set()
    share.ownership.on_partition_count(4)
    share.ownership._assigned(Calls(), [TopicPartition("__consumer_offsets", number) for number in (1, 2)])
    assert listed(share) == {name for name, partition in PARTITION_OF.items() if partition in (1, 2)}
    share.ownership._lost(Calls(), [TopicPartition("__consumer_offsets", 2)])
    assert listed(share) == {"a"}
    assert all(map(share.tail_context.shows, PARTITION_OF))


def test_an_observer_without_replicas_lists_all_groups():
    assert listed(made()) == set(PARTITION_OF)


def test_without_the_right_to_read_the_topic_every_replica_lists_all_groups():
    share = made(replicas_group="rebalance-agent-tests")
    share.ownership.topic_denied(yes=True)
    assert listed(share) == set(PARTITION_OF)
