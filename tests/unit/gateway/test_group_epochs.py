"""Events of members with broker-side assignment, from their heartbeats."""

from __future__ import annotations

import asyncio
import uuid

import pytest
from kafka.protocol.metadata import MetadataResponse

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.groupprotocol.requests import consumer_group_heartbeat as heartbeat
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT
from rebalance_agent.groupprotocol.wire.primitives import uuid_text
from rebalance_agent.groupprotocol.wire.schema import struct_codec
from rebalance_agent.model.events import Callback
from support.gateway.groups import Gateway

IDS = {name: uuid.uuid5(uuid.NAMESPACE_DNS, name) for name in ("t", "u")}
REQUEST = {**heartbeat.UNCHANGED, "group_id": "g", "member_id": "m"}
ANSWER = {
    "throttle_time_ms": 0,
    "error_code": 0,
    "error_message": None,
    "member_id": "m",
    "heartbeat_interval_ms": 5_000,
    "assignment": None,
}


def parts(**topics):
    return [{"topic_id": uuid_text(IDS[name].bytes), "partitions": numbers} for name, numbers in topics.items()]


def frame(fields, values, head):
    out = bytearray(head)
    struct_codec(fields, 1, flexible=True).write(out, values)
    return bytes(out)


class Member:
    """Heartbeats through an interceptor; ``topics`` are those of the cluster."""

    def __init__(self, gateway=None):
        self.gateway = gateway or Gateway()
        self.talk, self.asked = self.gateway.groups.for_connection(), []

    def beat(self, epoch, answer=None, **fields):
        head = self.send(epoch, **fields)
        if answer is not None:
            self.answer(head, {"member_epoch": epoch, **answer})

    def answer(self, head, answer):
        data = CONSUMER_HEARTBEAT.encode_answer(1, 1, {**ANSWER, **answer})
        assert self.talk.response(head, data) == data

    def send(self, epoch, **fields):
        request = CONSUMER_HEARTBEAT.encode_request(1, 1, "app", {**REQUEST, "member_epoch": epoch, **fields})
        head = RequestHead(68, 1, 1)
        assert asyncio.run(self.talk.request(head, request, self.ask)) == request
        return head

    async def ask(self, message):
        self.asked.append([each.name or each.topic_id for each in message.topics])
        kind = MetadataResponse.MetadataResponseTopic
        wanted = [name for name, each in IDS.items() if {name, each} & set(self.asked[-1])]
        topics = [kind(version=12, error_code=0, name=name, topic_id=IDS[name], partitions=[]) for name in wanted]
        return MetadataResponse(version=12, brokers=[], topics=topics)

    def reported(self):
        return [(each.callback, dict(each.partitions), each.generation) for each in self.gateway.events]


def test_partitions_are_assigned_confirmed_and_revoked():
    one = Member()
    one.beat(0, {"member_epoch": 3, "assignment": {"topic_partitions": parts(t=(0, 1))}}, subscribed_topic_names=["t"])
    one.gateway.clock.advance(5_000)
    one.beat(3, {}, topic_partitions=parts(t=(0, 1)))
    one.beat(3, {"member_epoch": 4, "assignment": {"topic_partitions": parts(t=(0,))}})
    one.gateway.clock.advance(700)
    one.beat(4, {}, topic_partitions=parts(t=(0,)))
    one.beat(-1, {})
    assert one.reported() == [
        (Callback.ASSIGNED, {"t": (0, 1)}, 3),
        (Callback.REVOKED, {"t": (1,)}, 4),
        (Callback.LEFT, {"t": (0,)}, 4),
    ]
    revoked = one.gateway.events[1]
    assert revoked.timestamp_ms - revoked.started_ms == 700
    assert one.asked == [["t"]]


def test_topics_of_a_pattern_are_requested_when_they_are_assigned():
    one = Member()
    answer = {"member_epoch": 1, "assignment": {"topic_partitions": parts(t=(0,), u=(1,))}}
    one.beat(0, answer, subscribed_topic_regex=".*")
    assert one.reported() == []
    one.beat(1, {})
    one.beat(1, {}, topic_partitions=parts(t=(0,), u=(1,)))
    assert one.reported() == [(Callback.ASSIGNED, {"t": (0,), "u": (1,)}, 1)]
    assert len(one.asked) == 1


@pytest.mark.parametrize(("error", "name"), [(110, "FENCED_MEMBER_EPOCH"), (25, "UNKNOWN_MEMBER_ID")])
def test_a_fenced_member_has_lost_its_partitions(error, name):
    one = Member()
    one.beat(0, {"member_epoch": 2, "assignment": {"topic_partitions": parts(t=(0,))}}, subscribed_topic_names=["t"])
    one.beat(2, {"error_code": error})
    assert one.reported() == [(Callback.ASSIGNED, {"t": (0,)}, 2), (Callback.LOST, {"t": (0,)}, 2)]
    assert one.gateway.events[-1].reason == f"{name} in the response to ConsumerGroupHeartbeat"


def test_a_returning_static_member_is_another_process_and_revoked_nothing():
    one, given = Member(), {"member_epoch": 2, "assignment": {"topic_partitions": parts(t=(0,))}}
    for member_id in ("m", "n"):
        who = {"member_id": member_id, "instance_id": "i"}
        one.beat(0, {**given, "member_id": member_id}, **who, subscribed_topic_names=["t"])
        one.beat(2, {"member_id": member_id}, **who, topic_partitions=parts(t=(0,)))
    assert one.reported() == [(Callback.ASSIGNED, {"t": (0,)}, 2)] * 2
    assert len({each.process for each in one.gateway.events}) == 2
    one.beat(2, {"error_code": 82}, member_id="m", instance_id="i")
    assert len(one.reported()) == 2


def given(one, **topics):
    one.beat(
        0, {"member_epoch": 2, "assignment": {"topic_partitions": parts(**topics)}}, subscribed_topic_names=[*topics]
    )
    one.beat(2, {}, topic_partitions=parts(**topics))


def test_a_leave_is_reported_at_the_coordinators_response():
    one = Member()
    given(one, t=(0,))
    head = one.send(-1)
    assert len(one.reported()) == 1
    one.gateway.clock.advance(500)
    one.answer(head, {"member_epoch": -1})
    assert one.reported()[-1] == (Callback.LEFT, {"t": (0,)}, 2)
    assert one.gateway.events[-1].timestamp_ms == one.gateway.clock.now_ms() - 500
    assert len(one.gateway.groups.entries) == 0


def test_a_leave_without_a_response_changes_nothing():
    """Any client can send it with the member's id, and close its connection."""
    one = Member()
    given(one, t=(0,))
    stranger = Member(one.gateway)
    stranger.send(-1)
    stranger.talk.closed()
    one.beat(2, {})
    assert one.reported()[1:] == []
    assert len(one.gateway.groups.entries) == 1


@pytest.mark.parametrize(("error", "callback"), [(25, Callback.LOST), (16, Callback.REVOKED)])
def test_a_refused_leave_is_not_reported(error, callback):
    one = Member()
    given(one, t=(0,))
    one.beat(-1, {"error_code": error})
    one.beat(0, subscribed_topic_names=["t"])
    assert [reported[0] for reported in one.reported()] == [Callback.ASSIGNED, callback]


def test_a_static_member_that_leaves_for_a_while_is_reported():
    one = Member()
    given(one, t=(0,))
    one.beat(-2, {})
    assert (one.reported()[-1][0], one.gateway.events[-1].reason) == (Callback.LEFT, "for a while")


def test_partitions_in_a_members_heartbeat_are_not_reported_as_revoked():
    one = Member()
    given(one, t=(0, 1), u=(3,))
    one.beat(2, {"member_epoch": 3, "assignment": {"topic_partitions": parts(t=(0, 2), u=(3,))}})
    one.gateway.clock.advance(100)
    one.beat(3, {}, topic_partitions=parts(t=(0, 1), u=(3,)))  # to a new coordinator: all owned partitions
    one.gateway.clock.advance(100)
    assert len(one.reported()) == 1
    one.beat(3, {}, topic_partitions=parts(t=(0,), u=(3,)))
    assert one.reported()[1:] == [(Callback.REVOKED, {"t": (1,)}, 3)]
    assert one.gateway.events[-1].timestamp_ms - one.gateway.events[-1].started_ms == 200
    one.beat(3, {}, topic_partitions=parts(t=(0, 2), u=(3,)))
    assert one.reported()[2:] == [(Callback.ASSIGNED, {"t": (2,)}, 3)]


def test_an_epoch_without_changes_is_reported_once():
    one = Member()
    one.beat(0, {"member_epoch": 2}, subscribed_topic_names=["t"])
    assert one.reported() == []
    one.beat(2, {"member_epoch": 3, "assignment": {"topic_partitions": parts(t=(0,))}})
    one.beat(3, {}, topic_partitions=parts(t=(0,)))
    one.beat(3, {"member_epoch": 4})
    one.beat(4, {})
    assert one.reported() == [(Callback.ASSIGNED, {"t": (0,)}, 3), (Callback.ASSIGNED, {}, 4)]


def test_a_replaced_process_does_not_replace_its_successor():
    one, names = Member(), {"instance_id": "i", "subscribed_topic_names": ["t"]}
    one.beat(0, {"member_epoch": 2, "assignment": {"topic_partitions": parts(t=(0,))}}, **names)
    late = one.send(2, instance_id="i")
    Member(one.gateway).beat(0, {"member_epoch": 2, "member_id": "n"}, member_id="n", **names)
    one.answer(late, {"member_epoch": 2})
    assert [entry.membership.member_id for entry in one.gateway.groups.entries] == ["n"]


def test_an_unreadable_list_of_topics_raises_nothing():
    async def broken(_):
        raise DecodeError("Metadata v12 does not match its schema")

    one = Member()
    one.ask = broken
    one.beat(0, {"member_epoch": 2, "assignment": {"topic_partitions": parts(t=(0,))}}, subscribed_topic_names=["t"])
    assert (one.reported(), one.gateway.outcomes) == ([], [])


def test_a_member_older_than_the_gateway_is_reported_by_its_changes_only():
    one = Member()
    one.beat(7, {"assignment": {"topic_partitions": parts(t=(0, 1))}}, subscribed_topic_names=["t"])
    assert one.reported() == []
    one.beat(7, {"member_epoch": 8, "assignment": {"topic_partitions": parts(t=(0,))}})
    one.beat(8, {}, topic_partitions=parts(t=(0,)))
    assert one.reported() == [(Callback.REVOKED, {"t": (1,)}, 8)]


def test_the_partitions_of_a_member_older_than_the_gateway_come_from_its_heartbeat():
    one = Member()
    one.beat(7, {}, subscribed_topic_names=["t"], topic_partitions=parts(t=(0, 1)))
    one.beat(7, {"member_epoch": 8, "assignment": {"topic_partitions": parts(t=(1, 2))}})
    one.beat(8, {}, topic_partitions=parts(t=(1,)))
    one.beat(8, {}, topic_partitions=parts(t=(1, 2)))
    assert one.reported() == [(Callback.REVOKED, {"t": (0,)}, 8), (Callback.ASSIGNED, {"t": (2,)}, 8)]


def test_a_member_older_than_the_gateway_is_fully_reported_after_it_rejoins():
    one = Member()
    one.beat(7, {})
    one.beat(7, {"error_code": 110})
    given(one, t=(0,))
    assert one.reported() == [(Callback.ASSIGNED, {"t": (0,)}, 2)]


def test_unnamed_topics_of_a_fenced_member_are_not_reported_after_its_rejoin():
    async def broken(_):
        raise ConnectionError

    one = Member()
    one.beat(0, {"member_epoch": 1, "assignment": {"topic_partitions": parts(t=(0,))}}, subscribed_topic_regex=".*")
    ask, one.ask = one.ask, broken
    one.beat(1, {"error_code": 110})
    one.ask = ask
    given(one, t=(1,), u=(1,))
    assert one.reported() == [(Callback.ASSIGNED, {"t": (1,), "u": (1,)}, 2)]


def test_partitions_of_a_topic_named_later_were_assigned_at_the_response():
    one = Member()
    one.beat(0, {"member_epoch": 1, "assignment": {"topic_partitions": parts(t=(0,))}}, subscribed_topic_regex=".*")
    one.gateway.clock.advance(300)
    one.beat(1, {}, topic_partitions=parts(t=(0,)))
    (event,) = one.gateway.events
    assert event.timestamp_ms - event.started_ms == 300


def test_an_assignment_is_reported_when_the_members_heartbeat_confirms_it():
    one = Member()
    one.beat(0, {"member_epoch": 2, "assignment": {"topic_partitions": parts(t=(0,))}}, subscribed_topic_names=["t"])
    one.gateway.clock.advance(700)
    one.beat(2, {}, topic_partitions=parts(t=(0,)))
    (event,) = one.gateway.events
    assert event.timestamp_ms - event.started_ms == 700


def test_pending_revocations_are_reported_with_new_partitions_and_returned_ones_are_not():
    one = Member()
    given(one, t=(0, 1, 2, 3))
    one.beat(2, {"member_epoch": 3, "assignment": {"topic_partitions": parts(t=(0, 1))}})
    one.gateway.clock.advance(400)
    one.beat(3, {"assignment": {"topic_partitions": parts(t=(0, 3))}}, topic_partitions=parts(t=(0, 1, 2, 3)))
    one.gateway.clock.advance(600)
    one.beat(3, {}, topic_partitions=parts(t=(0, 3)))
    assert one.reported()[1:] == [(Callback.REVOKED, {"t": (1, 2)}, 3)]
    assert one.gateway.events[-1].timestamp_ms - one.gateway.events[-1].started_ms == 1_000


def test_a_leave_during_a_revocation_includes_the_partitions_being_revoked():
    one = Member()
    given(one, t=(0, 1))
    one.beat(2, {"member_epoch": 3, "assignment": {"topic_partitions": parts(t=(0,))}})
    one.beat(-1, {})
    assert one.reported()[1:] == [(Callback.LEFT, {"t": (0, 1)}, 3)]


@pytest.mark.parametrize("read", [CONSUMER_HEARTBEAT.decode_request, CONSUMER_HEARTBEAT.decode_answer])
def test_a_truncated_request_is_no_heartbeat(read):
    with pytest.raises(DecodeError, match="ConsumerGroupHeartbeat"):
        read(1, b"\0" * 9)
