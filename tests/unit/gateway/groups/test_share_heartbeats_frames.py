"""Events and readiness of members of share groups (KIP-932), from their heartbeats and their first ShareFetch."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from rebalance_agent.gateway.connection_interceptor import ConnectionInterceptor
from rebalance_agent.gateway.gateway_counters import GatewayCounters
from rebalance_agent.gateway.groups.client_membership import FETCH_SECONDS_MIN
from rebalance_agent.gateway.share_groups.share_frames import ShareFrames
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.groupprotocol.requests.share_group_heartbeat import SHARE_HEARTBEAT
from rebalance_agent.groupprotocol.requests.share_requests import read_share_request
from rebalance_agent.groupprotocol.requests.share_responses import SHARE_FETCH
from rebalance_agent.http.latched_readiness import LatchedReadiness
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import Callback
from support.gateway.frames import group_frames
from support.gateway.groups import Gateway
from support.heartbeats.share_frames import share_fetch
from unit.gateway.test_group_epochs import ANSWER, IDS, Member, parts

REQUEST = {"group_id": "g", "member_id": "m", "rack_id": None, "subscribed_topic_names": None}


class ShareMember(Member):
    """A member of a share group on one connection; ``connection`` reads its other requests, too."""

    def __init__(self, gateway=None, name="m"):
        super().__init__(gateway)
        self.name = name
        telemetry = SimpleNamespace(answers=lambda _head: False, joined=lambda *_names: None)
        shares = ShareFrames(GatewayCounters().shares)
        self.connection = ConnectionInterceptor(None, self.talk, telemetry, shares)

    def send(self, epoch, **fields):
        asked = {**REQUEST, "member_id": self.name, "member_epoch": epoch, **fields}
        request, head = SHARE_HEARTBEAT.encode_request(1, 1, "app", asked), RequestHead(76, 1, 1)
        assert self.talk.wants(head)
        assert asyncio.run(self.connection.request(head, request, self.ask)) == request
        return head

    def answer(self, head, answer):
        data = SHARE_HEARTBEAT.encode_answer(1, 1, {**ANSWER, "member_id": self.name, **answer})
        assert self.talk.response(head, data) == data

    def joins(self, **topics):
        self.beat(0, {"member_epoch": 3, **assigned(**topics)}, subscribed_topic_names=["t", "u"])

    def fetches(self, **topics):
        frame = share_fetch({IDS[name].bytes: numbers for name, numbers in topics.items()})
        asyncio.run(self.connection.request(RequestHead(SHARE_FETCH, 1, 2), frame, self.ask))

    def after(self, milliseconds):
        self.gateway.clock.advance(milliseconds)
        return self


def assigned(**topics):
    return {"assignment": {"topic_partitions": parts(**topics)}}


def test_a_member_joins_gives_partitions_up_gets_others_and_leaves():
    one = ShareMember()
    one.joins(t=(0, 1))
    one.after(400).fetches(t=(0, 1))
    one.after(5_000).beat(3, {"member_epoch": 4, **assigned(t=(0,), u=(2,))})
    one.after(300).fetches(u=(2,))
    one.after(4_700).beat(4, {})
    one.beat(-1, {"member_epoch": -1})
    assert one.reported() == [
        (Callback.ASSIGNED, {"t": (0, 1)}, 3),
        (Callback.REVOKED, {"t": (1,)}, 3),
        (Callback.ASSIGNED, {"u": (2,)}, 4),
        (Callback.LEFT, {"t": (0,), "u": (2,)}, 4),
    ]
    lasted = [each.timestamp_ms - each.started_ms for each in one.gateway.events]
    assert lasted == [400, 0, 300, 0]
    assert {each.evidence for each in one.gateway.events} == {Evidence.GATEWAY}
    assert {each.member_id for each in one.gateway.events} == {"m"}
    assert all(each.stop_seconds is each.join_seconds is each.sync_seconds is None for each in one.gateway.events)
    assert len(one.gateway.groups.entries) == 0


def test_another_epoch_with_the_same_partitions_is_reported_without_any():
    one = ShareMember()
    one.joins(t=(0,))
    one.fetches(t=(0,))
    one.beat(3, {"member_epoch": 4})
    assert one.reported()[1:] == [(Callback.ASSIGNED, {}, 4)]


def test_partitions_that_are_only_given_up_are_of_the_epoch_before():
    one = ShareMember()
    one.joins(t=(0, 1))
    one.fetches(t=(0, 1))
    one.beat(3, {"member_epoch": 4, **assigned(t=(0,))})
    assert one.reported()[1:] == [(Callback.REVOKED, {"t": (1,)}, 3)]


def test_topics_without_a_known_name_are_reported_once_it_is_known_with_the_time_of_the_assignment():
    one = ShareMember()
    one.joins(t=(0, 1))
    one.fetches(t=(0, 1))
    one.gateway.groups.topic_names.clear()
    at_ms = one.gateway.clock.now_ms()
    one.beat(3, {"member_epoch": 4, **assigned(u=(0,))})
    assert len(one.reported()) == 1
    one.after(1_000).beat(4, {})
    one.fetches(u=(0,))
    assert one.reported()[1:] == [(Callback.REVOKED, {"t": (0, 1)}, 3), (Callback.ASSIGNED, {"u": (0,)}, 4)]
    assert [each.started_ms for each in one.gateway.events[1:]] == [at_ms, at_ms]


def test_a_heartbeat_some_seconds_later_ends_the_wait_for_the_first_fetch():
    one = ShareMember()
    one.joins(t=(0,))
    one.after(1_000).beat(3, {})
    assert one.reported() == []
    one.after(round(FETCH_SECONDS_MIN * 1000)).beat(3, {})
    assert one.reported() == [(Callback.ASSIGNED, {"t": (0,)}, 3)]
    assert one.gateway.events[0].timestamp_ms == one.gateway.events[0].started_ms
    assert not one.gateway.groups.awaiting


@pytest.mark.parametrize(("topics", "ends"), [({"t": (0,)}, True), ({"t": (5,)}, False), ({"u": (0,)}, False)])
def test_only_a_fetch_of_the_assigned_partitions_ends_the_wait(topics, ends):
    one = ShareMember()
    one.joins(t=(0, 1), u=())
    one.after(100).fetches(**topics)
    assert bool(one.reported()) is ends


@pytest.mark.parametrize(("error", "name"), [(110, "FENCED_MEMBER_EPOCH"), (25, "UNKNOWN_MEMBER_ID")])
def test_a_fenced_member_has_lost_its_partitions_and_joins_again(error, name):
    one = ShareMember()
    one.joins(t=(0,))
    one.fetches(t=(0,))
    one.beat(3, {"error_code": error})
    assert one.reported()[-1] == (Callback.LOST, {"t": (0,)}, 3)
    assert one.gateway.events[-1].reason == f"{name} in the response to ShareGroupHeartbeat"
    one.beat(0, {"member_epoch": 6, **assigned(t=(0,))}, subscribed_topic_names=["t"])
    one.fetches(t=(0,))
    assert one.reported()[2:] == [(Callback.ASSIGNED, {"t": (0,)}, 6)]


def test_a_member_that_joined_before_it_used_the_gateway_is_known_from_its_next_assignment_on():
    one = ShareMember()
    one.beat(5, {"member_epoch": 6, **assigned(t=(0,))})
    one.beat(6, {})
    assert one.reported() == []
    one.beat(6, {"member_epoch": 7, **assigned(u=(1,))})
    one.beat(7, {})
    assert one.reported() == [(Callback.REVOKED, {"t": (0,)}, 6)]


def test_a_request_of_the_version_of_the_early_access_passes_unread():
    assert not ShareMember().talk.wants(RequestHead(76, 0, 1))
    assert not ShareMember().talk.wants(RequestHead(76, 2, 1))


def test_a_consumer_heartbeat_with_the_ids_of_a_share_member_changes_nothing():
    one = ShareMember()
    one.joins(t=(0,))
    one.fetches(t=(0,))
    other, head, frames = one.gateway.groups.for_connection(), RequestHead(68, 1, 1), group_frames(68, 1)
    asyncio.run(other.request(head, frames.request, one.ask))
    other.response(head, frames.answer)
    assert one.reported() == [(Callback.ASSIGNED, {"t": (0,)}, 3)]


def test_a_share_member_is_ready_once_it_has_its_assignment():
    gateway = Gateway()
    gateway.groups.readiness = readiness = LatchedReadiness(gateway.clock, "no consumer")
    one = ShareMember(gateway)
    head = one.send(0, subscribed_topic_names=["t"])
    assert readiness.reason() == "consumer 'app' of group 'g' waits for its assignment"
    one.answer(head, {"member_epoch": 3, **assigned(t=(0,))})
    assert readiness.reason() == ""


def test_the_test_reads_a_fetch_as_the_gateway_does():
    frame = share_fetch({IDS["t"].bytes: (0, 7)})
    assert {number for _, number in read_share_request(SHARE_FETCH, 1, frame).fetched} == {0, 7}
