"""Brokers' responses to the gateway's own requests, in which kafka-python may read null for any list."""

from __future__ import annotations

import asyncio

import pytest
from kafka.protocol.admin.groups import DescribeGroupsResponse
from kafka.protocol.metadata import MetadataResponse

from rebalance_agent.gateway.groups.assignment_recovery import recover
from rebalance_agent.gateway.groups.heartbeats.heartbeat_handler import topics_described
from rebalance_agent.gateway.groups.leading.leader_decision import topics_of
from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.model.subscription import TopicMetadata
from support.gateway.frames import framed


def read(message):
    """Encode and decode the response."""
    return open_frame(type(message), RequestHead(message.API_KEY, message.version, 1), framed(message)).message


def partitions(version, replicas):
    kind = MetadataResponse.MetadataResponseTopic
    made = kind.MetadataResponsePartition(version=version, partition_index=0, leader_id=1, replica_nodes=replicas)
    return [kind(version=version, name="t", partitions=[made])]


@pytest.mark.parametrize(
    ("topics", "found"),
    [(None, {}), (partitions(4, None), {"t": TopicMetadata(1)}), (partitions(4, [1]), {"t": TopicMetadata(1)})],
)
def test_topics_without_brokers_or_replicas_have_no_known_racks(topics, found):
    answer = read(MetadataResponse(version=4, brokers=None, topics=topics, cluster_id="c", controller_id=1))
    assert (answer.brokers, topics_of(answer, ["t"], racks=True)) == (None, found)


def test_a_partition_without_replicas_has_no_rack():
    broker = MetadataResponse.MetadataResponseBroker(version=4, node_id=1, host="h", port=1, rack="r")
    answer = MetadataResponse(version=4, brokers=[broker], topics=partitions(4, None), cluster_id="c", controller_id=1)
    assert topics_of(read(answer), ["t"], racks=True) == {"t": TopicMetadata(1, ((),))}


def test_an_empty_response_names_no_topic():
    answer = read(MetadataResponse(version=12, brokers=[], topics=None, cluster_id="c", controller_id=1))

    async def ask(_request):
        return answer

    assert asyncio.run(topics_described(ask, ["t"])) == ()


def test_a_group_without_a_description_or_members_has_no_assignment():
    group = DescribeGroupsResponse.DescribedGroup(version=4, group_id="g", protocol_type="consumer", members=None)
    for groups in (None, [group]):
        answer = read(DescribeGroupsResponse(version=4, groups=groups))

        async def ask(_request, answer=answer):
            return answer

        assert asyncio.run(recover(ask, "g", "m")) == (None, False)
