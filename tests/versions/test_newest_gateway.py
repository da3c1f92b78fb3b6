"""Requests that only the newest brokers know, through a gateway: they mean the same as without it."""

from __future__ import annotations

import itertools
import uuid
from contextlib import closing

import pytest
from kafka.protocol.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka.protocol.producer import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    TxnOffsetCommitRequest,
)

from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import RequestHead, read_head
from rebalance_agent.groupprotocol.requests.txn_offset_commit import decode_txn_commit_answer
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR
from rebalance_agent.model.events import Callback
from rebalance_agent.testing import EmbeddedKafka
from rebalance_agent.testing.kafka.kafka_versions import VERSIONS
from support.gateway.frames import framed, with_topic_id
from support.gateway.running import Plain, gateway
from support.kafka.frame_connection import FrameConnection
from support.observer.observing import PATIENCE_S, create_topic, eventually

pytestmark = pytest.mark.integration

ILLEGAL_GENERATION, WRONG_NODE = 22, 129
NO_LEADER_EPOCH = -1


@pytest.fixture(scope="module")
def kafka():
    with EmbeddedKafka(2, version=VERSIONS[0]) as running:
        yield running


def exchanged(address, frame):
    with closing(FrameConnection(address, PATIENCE_S)) as connection:
        return connection.exchange(frame)


def asked(address, message, answer):
    """The answer of kafka-python's class ``answer``."""
    frame = framed(message)
    return open_frame(answer, read_head(frame), exchanged(address, frame)).message


def brokers(bootstrap):
    metadata = asked(bootstrap, MetadataRequest(version=12, topics=[]), MetadataResponse)
    return metadata.cluster_id, {each.node_id: f"{each.host}:{each.port}" for each in metadata.brokers}


def greeted(address, cluster, node):
    """The answer to ApiVersions version 5 (KIP-1242) of a client that names this node: its error, and versions."""
    frame = framed(ApiVersionsRequest(version=4, client_software_name="x", client_software_version="1"))
    compact = b"\0" if cluster is None else bytes([len(cluster) + 1]) + cluster.encode()
    # Version 4 with the two new fields before its tagged fields, of which there are none.
    frame = frame[:2] + b"\0\5" + frame[4:-1] + compact + node.to_bytes(4, "big", signed=True) + b"\0"
    # The answer has the form of version 4.
    message = open_frame(ApiVersionsResponse, RequestHead(18, 4, 0), exchanged(address, frame)).message
    return message.error_code, {each.api_key: each.max_version for each in message.api_keys}


def test_a_client_that_names_its_node_is_at_the_right_one_and_a_wrong_one_refuses_it(kafka):
    with gateway(kafka.bootstrap_servers) as through:
        cluster, ports = brokers(through.bootstrap)
        assert ports.keys() == {1, 2}
        assert not set(ports.values()) & set(kafka.bootstrap_servers.split(","))
        for node, (at, address) in itertools.product(ports, ports.items()):
            error, newest = greeted(address, cluster, node)
            assert error == (NO_ERROR if node == at else WRONG_NODE), (node, at)
            assert newest.get(18, 5) == 5
        assert greeted(ports[1], "another", 1)[0] == WRONG_NODE
        assert greeted(through.bootstrap, None, -1)[0] == NO_ERROR, "a client that knows no broker yet names neither"


def test_a_refused_commit_by_topic_ids_in_a_transaction_is_counted(kafka):
    unique = uuid.uuid4().hex[:8]
    topic, group = f"topic-{unique}", f"group-{unique}"
    create_topic(kafka.bootstrap_servers, topic, 2)
    with (
        gateway(kafka.bootstrap_servers, f"{group}=weighted-sticky") as through,
        closing(Plain(through.bootstrap, group, topic)) as one,
    ):
        eventually(lambda: len(one.owned) == 2)
        generation = eventually(lambda: through.generation(group) > 0 and through.generation(group))
        commit = transaction(through.bootstrap, group, topic, one.consumer.memberid())
        assert commit(generation) == [NO_ERROR]
        assert commit(generation - 1) == [ILLEGAL_GENERATION]
        with closing(Plain(through.bootstrap, group, topic)):
            revoked, *_ = eventually(lambda: through.reported(Callback.REVOKED))
    assert revoked.rejected_commits == 1


def transaction(bootstrap, group, topic, member_id):
    """Begin a producer's work; return what sends a commit of one partition in a generation, and returns its errors."""
    (found,) = asked(bootstrap, MetadataRequest(version=12, topics=[named(topic)]), MetadataResponse).topics
    transactions = coordinator(bootstrap, 1, group)
    begun = {"transactional_id": group, "transaction_timeout_ms": 60_000, "producer_id": -1, "producer_epoch": -1}
    producer = eventually(
        lambda: accepted(asked(transactions, InitProducerIdRequest(version=4, **begun), InitProducerIdResponse))
    )
    address = coordinator(bootstrap, 0, group)

    def commit(generation):
        kind = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        partition = kind.TxnOffsetCommitRequestPartition(
            version=5, partition_index=0, committed_offset=7, committed_leader_epoch=NO_LEADER_EPOCH
        )
        message = TxnOffsetCommitRequest(
            version=5,
            transactional_id=group,
            group_id=group,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=None,
            topics=[kind(version=5, name=topic, partitions=[partition])],
        )
        frame = with_topic_id(framed(message), topic, found.topic_id.bytes)
        answer = decode_txn_commit_answer(exchanged(address, frame[:2] + b"\0\6" + frame[4:]))
        return [each.error_code for topic in answer.topics for each in topic.partitions]

    return commit


def named(topic):
    return MetadataRequest.MetadataRequestTopic(version=12, name=topic, topic_id=None)


def coordinator(bootstrap, key_type, key):
    """The address of a group's (key type 0) or a transaction's (1) coordinator."""

    def found():
        message = FindCoordinatorRequest(version=4, key_type=key_type, coordinator_keys=[key])
        (one,) = asked(bootstrap, message, FindCoordinatorResponse).coordinators
        return one.error_code == NO_ERROR and f"{one.host}:{one.port}"

    return eventually(found)


def accepted(answer):
    return answer if answer.error_code == NO_ERROR else None
