"""Writes ``kafkas_own_bytes.json``: bytes from Kafka's own Java classes, with the values they decode to.

Run from the checkout: ``PYTHONPATH=agent:tests python tests/golden/make_kafkas_own_bytes.py``.
"""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jpype

from rebalance_agent.groupprotocol.requests.flexible_api import FlexibleApi
from rebalance_agent.groupprotocol.requests.share_group_heartbeat import SHARE_HEARTBEAT
from rebalance_agent.groupprotocol.requests.streams_group_heartbeat import STREAMS_HEARTBEAT
from rebalance_agent.groupprotocol.tables import GROUP_METADATA, RECORDS
from rebalance_agent.groupprotocol.wire.message import Message
from rebalance_agent.groupprotocol.wire.primitives import BYTES, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Struct
from support.heartbeats.heartbeat_values import SHARE_ANSWER, SHARE_REQUEST, STREAMS_ANSWER, STREAMS_REQUEST
from support.kafka.kafkas_java import KafkasMessage, KafkasSerde, kafka_form, start_java, struct_form

OUT = Path(__file__).with_name("kafkas_own_bytes.json")
TOPIC_ID = "AAECAwQFBgcICQoLDA0ODw"
CLIENTS = "org.apache.kafka.clients.consumer"
SHARE_VERSIONS = {"ShareFetch": 2, "ShareAcknowledge": 2}
RECORDS_OF_A_PARTITION = bytes(range(80))
"""Fields that a gateway does not read."""
FLAGS = {"shutdownApplication", "topologyDescriptionRequired"}
"""Fields that Kafka's JSON has as true or false."""


def text(data: bytes) -> str:
    """Base64."""
    return base64.b64encode(data).decode()


def records() -> Iterator[dict[str, Any]]:
    """Every version of every record that groups write."""
    serde = KafkasSerde()
    offset_key = {"group": "orders", "topic": "clicks", "partition": 7}
    offset = {
        "offset": 42,
        "leaderEpoch": 3,
        "metadata": "héllo",
        "commitTimestamp": 1_700_000_000_000,
        "expireTimestamp": 1_700_000_900_000,
        "topicId": TOPIC_ID,
    }
    plain = KafkasMessage("OffsetCommitValue")
    for version in range(5):
        known = fields(offset, leaderEpoch=version >= 3, expireTimestamp=version == 1, topicId=version >= 4)
        yield record(serde, f"offset commit, value v{version}", 1, offset_key, plain.encode(version, known))
    bare = fields(offset, leaderEpoch=True, expireTimestamp=False, topicId=False)
    yield record(serde, "offset commit, value v4 without its tag", 1, offset_key, plain.encode(4, bare))
    legacy = KafkasMessage("LegacyOffsetCommitValue")
    oldest = fields(offset, leaderEpoch=False, expireTimestamp=False, topicId=False)
    yield record(serde, "offset commit, key v0", 0, offset_key, legacy.encode(0, oldest))

    group = KafkasMessage("GroupMetadataValue")
    for version in range(5):
        value = group.encode(version, group_value(version, "consumer", consumer_members()))
        yield record(serde, f"group metadata, value v{version}", 2, {"group": "orders"}, value)
    connect = group_value(3, "connect", [(b"\0\1connect's own", b"\0\2bytes")])
    yield record(serde, "a group of Kafka Connect", 2, {"group": "connect"}, group.encode(3, connect))
    for table in (RECORDS[version] for version in RECORDS if version > GROUP_METADATA.key.versions[-1]):
        key = KafkasMessage(table.key.name).encode(0, sample(table.key, 0))[2:]
        value = KafkasMessage(table.value.name).encode(0, sample(table.value, 0))
        version = table.key.versions[0].to_bytes(2, "big")
        yield record_bytes(serde, table.kind.replace("_", " "), version + key, value)
    empty = {**group_value(4, "consumer", []), "protocol": None, "leader": None, "generation": 8}
    yield record(serde, "an empty group", 2, {"group": "orders"}, group.encode(4, empty))


def record(serde: KafkasSerde, about: str, key_version: int, key: dict[str, Any], value: bytes) -> dict[str, Any]:
    """One row, with the coordinator's own reading of it."""
    names = {0: "LegacyOffsetCommitKey", 1: "OffsetCommitKey", 2: "GroupMetadataKey"}
    return record_bytes(
        serde, about, key_version.to_bytes(2, "big") + KafkasMessage(names[key_version]).encode(0, key)[2:], value
    )


def sample(message: Message, version: int) -> dict[str, Any]:
    """Values for every field of ``message``, with Kafka's names, all different."""
    counter = itertools.count(1)

    def of_type(type_: Any) -> Any:
        number = next(counter)
        if isinstance(type_, Array):
            return [of_type(type_.of), of_type(type_.of)]
        if isinstance(type_, Struct):
            return {field.name: of_type(field.type) for field in type_.fields}
        return {id(STRING): f"text {number}", id(BYTES): bytes([number]), id(UUID): TOPIC_ID}.get(id(type_), number)

    return kafka_form(message, version, {field.name: of_type(field.type) for field in message.fields})


def record_bytes(serde: KafkasSerde, about: str, key_bytes: bytes, value: bytes) -> dict[str, Any]:
    """One row of whole bytes."""
    read = serde.decode(key_bytes, value)
    if read is None:
        raise SystemExit(f"Kafka does not know {about}")
    return {
        "about": about,
        "key": text(key_bytes),
        "value": text(value),
        "kafkas_key": read[0],
        "kafkas_value_version": read[1],
        "kafkas_value": read[2],
    }


def fields(values: dict[str, Any], **kept: bool) -> dict[str, Any]:
    """``values`` without the names that are not ``kept``."""
    return {name: value for name, value in values.items() if kept.get(name, True)}


def group_value(version: int, protocol_type: str, members: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    """The value of a group's record, in Kafka's names."""
    rows = [
        fields(
            {
                "memberId": f"consumer-{number}-id",
                "groupInstanceId": "static-1" if number else None,
                "clientId": f"consumer-{number}",
                "clientHost": "/10.0.0.1",
                "rebalanceTimeout": 300_000,
                "sessionTimeout": 45_000,
                "subscription": text(subscription),
                "assignment": text(assignment),
            },
            groupInstanceId=version >= 3,
            rebalanceTimeout=version >= 1,
        )
        for number, (subscription, assignment) in enumerate(members)
    ]
    value = {
        "protocolType": protocol_type,
        "generation": 7,
        "protocol": "cooperative-sticky",
        "leader": "consumer-0-id",
        "currentStateTimestamp": 1_700_000_000_123,
        "members": rows,
    }
    return fields(value, currentStateTimestamp=version >= 2)


def consumer_members() -> list[tuple[bytes, bytes]]:
    """Two members in the format of Kafka's clients."""
    return [(subscription(3), assignment(3)), (subscription(0), assignment(0))]


def partitions() -> Any:
    """A Java list of topic partitions, deliberately unsorted."""
    topic_partition = jpype.JClass("org.apache.kafka.common.TopicPartition")
    named = [("payments", 4), ("clicks", 2), ("clicks", 0)]
    return jpype.JClass("java.util.ArrayList")([topic_partition(topic, number) for topic, number in named])


def subscription(version: int) -> bytes:
    """``ConsumerProtocol.serializeSubscription``."""
    topics = jpype.JClass("java.util.ArrayList")(["payments", "clicks"])
    buffer = jpype.JClass("java.nio.ByteBuffer").wrap(jpype.JArray(jpype.JByte)(b"\0\0\0\x06"))
    rack = jpype.JClass("java.util.Optional").of("rack-1")
    java = jpype.JClass(f"{CLIENTS}.ConsumerPartitionAssignor$Subscription")(topics, buffer, partitions(), 6, rack)
    return drained(jpype.JClass(f"{CLIENTS}.internals.ConsumerProtocol").serializeSubscription(java, version))


def assignment(version: int) -> bytes:
    """``ConsumerProtocol.serializeAssignment``."""
    java = jpype.JClass(f"{CLIENTS}.ConsumerPartitionAssignor$Assignment")(partitions(), None)
    return drained(jpype.JClass(f"{CLIENTS}.internals.ConsumerProtocol").serializeAssignment(java, version))


def sticky_user_data() -> bytes:
    """The user data of ``StickyAssignor`` after an assignment in generation 6."""
    assignor = jpype.JClass(f"{CLIENTS}.StickyAssignor")()
    given = jpype.JClass(f"{CLIENTS}.ConsumerPartitionAssignor$Assignment")(partitions())
    generation = jpype.JClass(f"{CLIENTS}.ConsumerGroupMetadata")(
        "orders", 6, "m", jpype.JClass("java.util.Optional").empty()
    )
    assignor.onAssignment(given, generation)
    return drained(assignor.subscriptionUserData(jpype.JClass("java.util.HashSet")()))


def cooperative_sticky_user_data() -> bytes:
    """The user data of ``CooperativeStickyAssignor`` after an assignment in generation 6."""
    assignor = jpype.JClass(f"{CLIENTS}.CooperativeStickyAssignor")()
    given = jpype.JClass(f"{CLIENTS}.ConsumerPartitionAssignor$Assignment")(partitions())
    generation = jpype.JClass(f"{CLIENTS}.ConsumerGroupMetadata")(
        "orders", 6, "m", jpype.JClass("java.util.Optional").empty()
    )
    assignor.onAssignment(given, generation)
    return drained(assignor.subscriptionUserData(jpype.JClass("java.util.HashSet")()))


def share_responses() -> Iterator[dict[str, Any]]:
    """Every version of both responses of share groups: without brokers, with two, and with other hosts."""
    partition = {
        "partitionIndex": 3,
        "errorCode": 6,
        "errorMessage": None,
        "currentLeader": {"leaderId": 2, "leaderEpoch": 9},
    }
    fetched = {
        **partition,
        "acknowledgeErrorCode": 0,
        "acknowledgeErrorMessage": "h\u00e9llo",
        "records": text(RECORDS_OF_A_PARTITION),
        "acquiredRecords": [
            {"firstOffset": 5, "lastOffset": 9, "deliveryCount": 1},
            {"firstOffset": 10, "lastOffset": 10, "deliveryCount": 2},
        ],
    }
    partitions = {"ShareFetch": fetched, "ShareAcknowledge": partition}
    for name, newest in SHARE_VERSIONS.items():
        message = KafkasMessage(f"{name}ResponseData")
        for version in range(1, newest + 1):
            fields_of = {
                "throttleTimeMs": 1,
                "errorCode": 0,
                "errorMessage": None,
                "responses": [{"topicId": TOPIC_ID, "partitions": [partitions[name], partitions[name]]}],
            }
            if name == "ShareFetch" or version > 1:
                fields_of["acquisitionLockTimeoutMs"] = 30_000
            hosts = {"none": (), "brokers": ("broker-1", "broker-2"), "rewritten": ("127.0.0.1", "127.0.0.1")}
            yield {
                "api": name,
                "version": version,
                **{
                    about: text(message.encode(version, {**fields_of, "nodeEndpoints": list(endpoints(names))})[2:])
                    for about, names in hosts.items()
                },
            }


def share_requests() -> Iterator[dict[str, Any]]:
    """Every version of both requests of share groups, with acknowledgements of two partitions, and without any."""
    one = {"firstOffset": 5, "lastOffset": 9, "acknowledgeTypes": [1]}
    each = {"firstOffset": 10, "lastOffset": 14, "acknowledgeTypes": [0, 1, 2, 3, 3]}
    for name, newest in SHARE_VERSIONS.items():
        message = KafkasMessage(f"{name}RequestData")
        for version in range(1, newest + 1):
            last = {"firstOffset": 20, "lastOffset": 20, "acknowledgeTypes": [4 if version > 1 else 1]}
            partitions = [
                {"partitionIndex": 3, "acknowledgementBatches": [one, each]},
                {"partitionIndex": 4, "acknowledgementBatches": [last]},
                {"partitionIndex": 5, "acknowledgementBatches": []},
            ]
            fields_of = {"groupId": "payments", "memberId": "m", "shareSessionEpoch": 2}
            if version > 1:
                fields_of["isRenewAck"] = True
            if name == "ShareFetch":
                limits = ("maxWaitMs", "minBytes", "maxBytes", "maxRecords", "batchSize")
                fields_of |= dict.fromkeys(limits, 500)
                fields_of["forgottenTopicsData"] = [{"topicId": TOPIC_ID, "partitions": [6]}]
                if version > 1:
                    fields_of["shareAcquireMode"] = 0
            topics = [{"topicId": TOPIC_ID, "partitions": partitions}]
            yield {
                "api": name,
                "version": version,
                "acknowledging": text(message.encode(version, {**fields_of, "topics": topics})[2:]),
                "none": text(message.encode(version, {**fields_of, "topics": []})[2:]),
            }


def heartbeats(api: FlexibleApi, request: dict[str, Any], answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every version of a group's heartbeat, with values in nearly every field."""
    for version in api.versions:
        row: dict[str, Any] = {"version": version}
        for side, schema, values in (("Request", api.request, request), ("Response", api.answer, answer)):
            form = struct_form(schema, version, values)
            form |= {name: bool(value) for name, value in form.items() if name in FLAGS}
            row[side.lower()] = text(KafkasMessage(f"{api.name}{side}Data").encode(version, form)[2:])
        yield row


def txn_commits() -> dict[str, str]:
    """TxnOffsetCommit by topic ids (version 6): a request for two partitions, and an answer that refuses one."""
    offset = {"committedOffset": 42, "committedLeaderEpoch": 3, "committedMetadata": None}
    asked = [{"partitionIndex": number, **offset} for number in (0, 7)]
    results = [{"partitionIndex": 0, "errorCode": 0}, {"partitionIndex": 7, "errorCode": 22}]
    request = {
        "transactionalId": "tx",
        "groupId": "orders",
        "producerId": 4_000,
        "producerEpoch": 2,
        "generationIdOrMemberEpoch": 9,
        "memberId": "consumer-0-id",
        "groupInstanceId": "static-1",
        "topics": [{"topicId": TOPIC_ID, "partitions": asked}],
    }
    answer = {"throttleTimeMs": 1, "topics": [{"topicId": TOPIC_ID, "partitions": results}]}
    return {
        "request": text(KafkasMessage("TxnOffsetCommitRequestData").encode(6, request)[2:]),
        "answer": text(KafkasMessage("TxnOffsetCommitResponseData").encode(6, answer)[2:]),
    }


def describes() -> Iterator[dict[str, Any]]:
    """Every version that we read of the APIs that describe epoch groups: a request for two groups, and a response."""
    assignment = {"topicPartitions": [{"topicId": TOPIC_ID, "topicName": "clicks", "partitions": [0, 7]}]}
    tasks = {
        "activeTasks": [{"subtopologyId": "0", "partitions": [1, 2]}],
        "standbyTasks": [{"subtopologyId": "0", "partitions": [3]}],
        "warmupTasks": [{"subtopologyId": "1", "partitions": [4]}],
    }
    member = {
        "memberId": "m-1",
        "rackId": None,
        "memberEpoch": 8,
        "clientId": "h\u00e9llo",
        "clientHost": "/10.0.0.1",
    }
    subscribed = {"subscribedTopicNames": ["clicks", "payments"], "assignment": assignment}
    consumer = {**member, **subscribed, "instanceId": "static-1", "subscribedTopicRegex": "c.*"}
    consumer["targetAssignment"] = {"topicPartitions": []}
    offset = {"subtopologyId": "0", "partition": 1, "offset": 42}
    streams = {
        **member,
        "instanceId": None,
        "topologyEpoch": 3,
        "processId": "p-1",
        "userEndpoint": {"host": "h", "port": 65_000},
        "clientTags": [{"key": "zone", "value": "a"}],
        "taskOffsets": [offset],
        "taskEndOffsets": [offset],
        "assignment": tasks,
        "targetAssignment": tasks,
        "isClassic": True,
    }
    internal = {
        "name": "store-changelog",
        "partitions": 5,
        "replicationFactor": 3,
        "topicConfigs": [{"key": "retention.ms", "value": "1"}],
    }
    subtopology = {
        "subtopologyId": "0",
        "sourceTopics": ["clicks"],
        "repartitionSinkTopics": ["sink"],
        "stateChangelogTopics": [internal],
        "repartitionSourceTopics": [internal],
    }
    group = {"errorCode": 0, "errorMessage": None, "groupId": "orders", "groupState": "Reconciling"}
    group |= {"groupEpoch": 9, "assignmentEpoch": 8, "authorizedOperations": -2_147_483_648}
    topology = {"epoch": 3, "subtopologies": [subtopology]}
    named = {**group, "assignorName": "uniform"}
    node = {"name": "n", "sourceTopics": [], "sinkTopic": None, "stores": [], "successors": []}
    source = {**node, "nodeType": 1, "sourceTopics": ["clicks"], "successors": ["p"]}
    processor = {**node, "nodeType": 2, "stores": ["store"]}
    nodes = [source, {**processor, "successors": ["s"]}, {**node, "nodeType": 3, "sinkTopic": "out"}]
    description = {
        "subtopologies": [{"subtopologyId": "0", "nodes": nodes}],
        "globalStores": [{"source": {**source, "sourceTopics": ["rates"]}, "processor": processor}],
    }
    stored = {"topology": topology, "topologyDescription": description, "topologyDescriptionStatus": 3}
    none = {"topology": topology, "topologyDescription": None, "topologyDescriptionStatus": 1}
    for name, version, described in (
        ("ConsumerGroup", 0, {**named, "members": [consumer]}),
        ("ConsumerGroup", 1, {**named, "members": [{**consumer, "memberType": 1}]}),
        ("ShareGroup", 1, {**named, "members": [{**member, **subscribed}]}),
        ("StreamsGroup", 0, {**group, "topology": topology, "members": [streams, {**streams, "userEndpoint": None}]}),
        ("StreamsGroup", 0, {**group, "errorCode": 69, "errorMessage": "gone", "topology": None, "members": []}),
        ("StreamsGroup", 1, {**group, **stored, "members": [streams], "assignorName": "sticky"}),
        ("StreamsGroup", 1, {**group, **none, "members": [], "assignorName": None}),
    ):
        answer = {"throttleTimeMs": 1, "groups": [described]}
        asked = {"groupIds": ["orders", "h\u00e9llo"], "includeAuthorizedOperations": False}
        request, row = KafkasMessage(f"{name}DescribeRequestData"), {}
        if name == "StreamsGroup" and version:
            asked["includeTopologyDescription"] = False
            row["topology_request"] = text(request.encode(version, asked | {"includeTopologyDescription": True})[2:])
        yield {
            "api": f"{name}Describe",
            "version": version,
            "request": text(request.encode(version, asked)[2:]),
            **row,
            "answer": text(KafkasMessage(f"{name}DescribeResponseData").encode(version, answer)[2:]),
            "kafkas_groups": [described],
        }


def share_offsets() -> Iterator[dict[str, Any]]:
    """Both versions of DescribeShareGroupOffsets: a request for two groups, and a response with a refused group."""
    partition = {"startOffset": 42, "leaderEpoch": 3, "errorCode": 0, "errorMessage": None}
    for version in range(2):
        lags = [{"lag": 7}, {"lag": -1}] if version else [{}, {}]
        partitions = [{"partitionIndex": number, **partition, **lag} for number, lag in enumerate(lags)]
        topic = {"topicName": "h\u00e9llo", "topicId": TOPIC_ID, "partitions": partitions}
        groups = [
            {"groupId": "orders", "topics": [topic], "errorCode": 0, "errorMessage": None},
            {"groupId": "x", "topics": [], "errorCode": 30, "errorMessage": "denied"},
        ]
        asked = {"groups": [{"groupId": name, "topics": None} for name in ("orders", "h\u00e9llo")]}
        answer = {"throttleTimeMs": 1, "groups": groups}
        yield {
            "version": version,
            "request": text(KafkasMessage("DescribeShareGroupOffsetsRequestData").encode(version, asked)[2:]),
            "answer": text(KafkasMessage("DescribeShareGroupOffsetsResponseData").encode(version, answer)[2:]),
            "kafkas_groups": groups,
        }


def endpoints(hosts: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Brokers 1 and 2, ports 9001 and 9002; the second one has no rack."""
    for number, host in enumerate(hosts, start=1):
        yield {"nodeId": number, "host": host, "port": 9_000 + number, "rack": "r" if number == 1 else None}


def drained(buffer: Any) -> bytes:
    """The remaining bytes of a Java buffer."""
    return bytes(buffer.get(index) & 0xFF for index in range(buffer.position(), buffer.limit()))


def main() -> None:
    """Write the file."""
    start_java()
    golden = {
        "records": list(records()),
        "subscriptions": {str(version): text(subscription(version)) for version in range(4)},
        "assignments": {str(version): text(assignment(version)) for version in range(4)},
        "sticky_user_data": text(sticky_user_data()),
        "cooperative_sticky_user_data": text(cooperative_sticky_user_data()),
        "share_responses": list(share_responses()),
        "share_requests": list(share_requests()),
        "share_heartbeats": list(heartbeats(SHARE_HEARTBEAT, SHARE_REQUEST, SHARE_ANSWER)),
        "streams_heartbeats": list(heartbeats(STREAMS_HEARTBEAT, STREAMS_REQUEST, STREAMS_ANSWER)),
        "txn_commits_by_topic_ids": txn_commits(),
        "describes": list(describes()),
        "share_offsets": list(share_offsets()),
    }
    OUT.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
