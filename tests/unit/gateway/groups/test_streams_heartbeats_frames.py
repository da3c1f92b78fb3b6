"""Events of members of streams groups (KIP-1071), from their heartbeats."""

from __future__ import annotations

import asyncio

from kafka.protocol.metadata import MetadataResponse

from rebalance_agent.gateway.groups.heartbeats.streams_topologies import (
    COUNT_EVERY_S,
    TOPICS_MAX,
    StreamsTopologies,
)
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.groupprotocol.requests.streams_group_heartbeat import STREAMS_HEARTBEAT
from rebalance_agent.model.events import MEMBER_PARTITIONS_MAX, Callback
from support.gateway.frames import group_frames
from support.gateway.groups import Gateway
from support.heartbeats.heartbeat_values import STREAMS_ANSWER, STREAMS_REQUEST

UNCHANGED = {**STREAMS_REQUEST, "member_epoch": 1, "topology": None, "active_tasks": None, "standby_tasks": None}
ANSWER = {**STREAMS_ANSWER, "status": None, "active_tasks": None, "partitions_by_user_endpoint": None}
SUBTOPOLOGY = STREAMS_REQUEST["topology"]["subtopologies"][0]


def tasks(**by_subtopology):
    return [{"subtopology_id": each[1:], "partitions": numbers} for each, numbers in by_subtopology.items()]


def topology(sources, repartitions=(), patterns=()):
    internal = [{**SUBTOPOLOGY["repartition_source_topics"][0], "name": name} for name in repartitions]
    first = {
        **SUBTOPOLOGY,
        "source_topics": list(sources),
        "repartition_source_topics": internal,
        "source_topic_regex": list(patterns),
        "copartition_groups": [],
    }
    return {"epoch": 1, "subtopologies": [first]}


class Member:
    """Heartbeats through a gateway; ``counts``: topic -> partitions in the cluster."""

    def __init__(self, gateway=None, counts=None, name="m"):
        self.gateway, self.name = gateway or Gateway(), name
        self.counts = {"t": 4} if counts is None else counts
        self.talk, self.asked = self.gateway.groups.for_connection(), []

    def beat(self, epoch, *, owns=None, gets=None, error=0, reaches=None, **fields):
        asked = {**UNCHANGED, "member_id": self.name, "member_epoch": epoch, "active_tasks": owns, **fields}
        request = STREAMS_HEARTBEAT.encode_request(1, 1, "app", asked)
        head = RequestHead(88, 1, 1)
        assert self.talk.wants(head)
        assert asyncio.run(self.talk.request(head, request, self._ask)) == request
        reached = epoch if reaches is None else reaches
        values = {**ANSWER, "member_id": self.name, "member_epoch": reached, "active_tasks": gets, "error_code": error}
        answer = STREAMS_HEARTBEAT.encode_answer(1, 1, values)
        assert self.talk.response(head, answer) == answer

    def joins(self, gets=None, *, of=None, **more):
        self.beat(0, reaches=1, owns=[], gets=gets, topology=of or topology(["t"]), **more)

    async def _ask(self, message):
        self.asked.append([each.name for each in message.topics])
        kind = MetadataResponse.MetadataResponseTopic
        part = kind.MetadataResponsePartition
        topics = [
            kind(
                version=12,
                error_code=0 if self.counts.get(name) else 3,
                name=name,
                partitions=[part(version=12, partition_index=number) for number in range(self.counts.get(name, 0))],
            )
            for name in self.asked[-1]
        ]
        return MetadataResponse(version=12, brokers=[], topics=topics)

    def reported(self):
        return [
            (each.callback, dict(each.partitions), each.generation)
            for each in self.gateway.events
            if each.member_id == self.name
        ]


def test_tasks_are_reported_as_the_partitions_that_they_read():
    one = Member()
    one.joins(tasks(_0=(0, 1)))
    one.gateway.clock.advance(5_000)
    one.beat(1, owns=tasks(_0=(0, 1)))
    one.beat(1, reaches=2, gets=tasks(_0=(0,)))
    one.gateway.clock.advance(700)
    one.beat(2, owns=tasks(_0=(0,)))
    one.beat(-1)
    assert one.reported() == [
        (Callback.ASSIGNED, {"t": (0, 1)}, 1),
        (Callback.REVOKED, {"t": (1,)}, 2),
        (Callback.LEFT, {"t": (0,)}, 2),
    ]
    revoked = one.gateway.events[1]
    assert revoked.timestamp_ms - revoked.started_ms == 700
    assert one.asked == [["t"]]


def test_a_task_reads_its_partition_of_each_topic_that_has_it():
    one = Member(counts={"t": 4, "small": 1})
    one.joins(tasks(_0=(0, 3)), of=topology(["t", "small"], ["between"]))
    one.beat(1, owns=tasks(_0=(0, 3)))
    one.beat(-1)  # ends the wait for the first fetch
    # The coordinator creates repartition topics with a partition for each task; "between" does not exist yet.
    assert one.reported()[0] == (Callback.ASSIGNED, {"between": (0, 3), "small": (0,), "t": (0, 3)}, 1)


def test_new_partitions_of_a_topic_are_counted_again():
    one = Member()
    one.joins(tasks(_0=(0,)))
    one.counts["t"] = 8
    one.beat(1, reaches=2, owns=tasks(_0=(0,)), gets=tasks(_0=(0, 7)))
    one.beat(2, owns=tasks(_0=(0, 7)))
    one.beat(-1)
    assert [each for each in one.reported() if each[0] is Callback.ASSIGNED][1] == (Callback.ASSIGNED, {"t": (7,)}, 2)


def test_a_member_that_joined_before_is_known_once_another_member_sends_the_topology():
    old = Member(name="old")
    old.beat(3, owns=tasks(_0=(0, 1, 2, 3)))
    assert old.reported() == []
    new = Member(old.gateway, name="new")
    new.joins()
    old.beat(3, owns=tasks(_0=(0, 1, 2, 3)))
    old.beat(3, reaches=4, gets=tasks(_0=(0, 1)))
    old.beat(4, owns=tasks(_0=(0, 1)))
    assert (Callback.REVOKED, {"t": (2, 3)}, 4) in old.reported()


def test_partitions_of_all_topics_are_counted_regularly():
    one = Member(counts={"a": 4, "b": 2})
    one.joins(tasks(_0=(0,)), of=topology(["a", "b"]))
    one.counts["b"] = 4
    one.beat(1, owns=tasks(_0=(0,)))
    one.gateway.clock.advance(round(COUNT_EVERY_S * 1000))
    one.beat(1, reaches=2, gets=tasks(_0=(0, 3)))
    one.beat(2, owns=tasks(_0=(0, 3)))
    one.beat(-1)
    assert (Callback.ASSIGNED, {"a": (3,), "b": (3,)}, 2) in one.reported()


def test_a_topic_that_is_created_after_the_join_is_counted_before_its_partitions_are_reported():
    one = Member(counts={"a": 4})
    one.joins(of=topology(["a", "b"]))
    one.counts["b"] = 2
    one.beat(1, gets=tasks(_0=(0, 3)), owns=[])
    one.beat(1, owns=tasks(_0=(0, 3)))
    one.beat(-1)
    assert (Callback.ASSIGNED, {"a": (0, 3), "b": (0,)}, 1) in one.reported()


def test_tasks_of_a_partition_that_no_topic_has_are_reported_after_another_count():
    one = Member()
    one.joins(tasks(_0=(9,)))
    one.beat(1, owns=tasks(_0=(9,)))
    one.beat(1, owns=tasks(_0=(9,)))
    one.beat(-1)
    assert (one.reported()[-1][0], len(one.asked)) == (Callback.LEFT, 2)


def test_an_unusable_topology_replaces_the_one_before():
    one = Member()
    one.joins(tasks(_0=(0,)))
    one.beat(-1)
    again = Member(one.gateway, name="again")
    again.joins(tasks(_0=(0,)), of=topology([], patterns=["t.*"]))
    again.beat(1, owns=tasks(_0=(0,)))
    again.beat(-1)
    assert again.reported() == [(Callback.LEFT, {}, 1)]


def test_more_tasks_than_a_member_can_have_are_not_reported():
    one = Member()
    one.joins(tasks(_0=range(MEMBER_PARTITIONS_MAX + 1)))
    one.beat(1, owns=tasks(_0=range(MEMBER_PARTITIONS_MAX + 1)))
    one.beat(-1)
    assert one.reported() == [(Callback.LEFT, {}, 1)]


def test_a_refused_topology_is_not_stored():
    one, other = Member(), Member(name="other")
    other.talk = one.gateway.groups.for_connection()
    other.gateway = one.gateway
    one.joins(tasks(_0=(0,)))
    other.joins(of=topology(["elsewhere"]), error=25)
    one.beat(1, reaches=2, owns=tasks(_0=(0,)), gets=tasks(_0=(0, 1)))
    one.beat(2, owns=tasks(_0=(0, 1)))
    one.beat(-1)
    assert {topic for _, partitions, _ in one.reported() for topic in partitions} == {"t"}


def test_a_consumer_heartbeat_with_the_ids_of_a_streams_member_changes_nothing(caplog):
    one = Member(counts={})
    one.beat(3, gets=tasks(_0=(0,)))  # the topology is not known, so this target waits
    other, head, frames = one.gateway.groups.for_connection(), RequestHead(68, 1, 1), group_frames(68, 1)
    assert asyncio.run(other.request(head, frames.request, one._ask)) == frames.request
    assert other.response(head, frames.answer) == frames.answer
    assert (one.gateway.events, caplog.messages) == ([], [])
    Member(one.gateway, name="new").joins()
    one.beat(3, owns=tasks(_0=(0,)))
    one.beat(-1)
    assert one.reported() == [(Callback.LEFT, {"t": (0,)}, 3)]


def test_a_member_with_topics_of_a_pattern_reports_no_partitions():
    one = Member()
    one.joins(tasks(_0=(0,)), of=topology([], patterns=["t.*"]))
    one.beat(1, owns=tasks(_0=(0,)))
    one.beat(-1)
    assert one.reported() == [(Callback.LEFT, {}, 1)]


def test_a_fenced_member_lost_its_partitions():
    one = Member()
    one.joins(tasks(_0=(0, 1)))
    one.beat(1, owns=tasks(_0=(0, 1)), error=110)
    assert one.reported()[-1] == (Callback.LOST, {"t": (0, 1)}, 1)


def test_topologies_of_many_groups_are_bounded():
    topologies = StreamsTopologies()
    for number in range(30):
        names = tuple(f"{number}-{index}" for index in range(1_000))
        topologies.put(f"g{number}", {"0": names}, now=0)
        topologies.count(dict.fromkeys(names, 1))
    known = [number for number in range(30) if topologies.knows(f"g{number}", {"0": (0,)})]
    assert known == list(range(21, 30))
    for number in range(TOPICS_MAX + 1):
        topologies.put(f"empty-{number}", {}, now=0)
    assert not any(topologies.knows(f"g{number}", {"0": (0,)}) for number in range(30))
