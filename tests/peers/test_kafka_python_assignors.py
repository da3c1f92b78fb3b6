"""Cases in which kafka-python's own assignors fail and ours do not: the reason to use ours in its consumers."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.groupprotocol.consumer_protocol import decode_subscription
from support.assignors.rules import group, member


def test_its_roundrobin_fails_on_mixed_subscriptions():
    metadata = {"a": ["t"], "b": ["u"]}
    members = [
        SimpleNamespace(
            member_id=member_id, group_instance_id=None, metadata=ConsumerProtocolSubscription(0, topics, b"")
        )
        for member_id, topics in metadata.items()
    ]
    cluster = SimpleNamespace(partitions_for_topic=lambda topic: {0, 1})
    with pytest.raises(KeyError):
        RoundRobinPartitionAssignor.assign(cluster, members)
    ours = STRATEGIES["roundrobin"].assign(group({"t": 2, "u": 2}, member("a", "t"), member("b", "u")))
    assert ours.members == {"a": {"t": (0, 1)}, "b": {"u": (0, 1)}}


def test_it_cannot_read_a_version_1_subscription_without_owned_partitions():
    # Some clients send version 1 without its field; one such member fails the leader's assignment.
    short = struct.pack(">hih1si", 1, 1, 1, b"t", -1)
    with pytest.raises(struct.error):
        ConsumerProtocolSubscription.decode(short)
    reported = decode_subscription(short)
    assert (reported.version, reported.topics, reported.owned_partitions) == (1, ("t",), {})
