"""Seats of one group whose members are behind two gateways, before a real broker."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from rebalance_agent.gateway.connection_relay import ConnectionRelay
from rebalance_agent.gateway.seats.locks.lock_notes import WAITING_PREFIX
from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT
from rebalance_agent.model.reported.seat_event import SEAT_PREFIX
from rebalance_agent.testing import EmbeddedKafka
from support.epoch_seats.epoch_groups import EpochSpreadGroup
from support.gateway.gateway_members import KafkaPythonMember, read_everything, shares
from support.gateway.running import gateway
from support.gateway.seat_groups import MEMBERS, PARTITIONS, SpreadGroup
from support.members.member_lines import LibrdkafkaMember
from support.members.threads import Load
from support.observer.observing import create_topic, eventually
from support.seats.gateway_process import gateway_process
from support.seats.lock_connection import LockConnection

pytestmark = pytest.mark.slow

BETWEEN = "seats.between.gateways=true"
CLIENTS = [
    (LibrdkafkaMember, "range", SpreadGroup),
    (LibrdkafkaMember, "cooperative-sticky", SpreadGroup),
    (KafkaPythonMember, "range", SpreadGroup),
    (KafkaPythonMember, "cooperative-sticky", SpreadGroup),
    (LibrdkafkaMember, "", EpochSpreadGroup),
]


def named(value):
    return getattr(value, "__name__", value)


@contextmanager
def two_gateways(bootstrap, seats):
    with gateway(bootstrap, seats=seats) as first, gateway(bootstrap, seats=seats) as second:
        yield [first, second]


def announced(kafka, group):
    """Wait until other gateways can know of the newcomers that wait."""
    _described(kafka, group, lambda lock: lock.instance_id.startswith(WAITING_PREFIX) and not lock.released)


def offered(kafka, group):
    """Wait until a seat is offered to other gateways."""
    _described(kafka, group, lambda lock: lock.instance_id.startswith(SEAT_PREFIX) and lock.released)


def _described(kafka, group, wanted):
    with LockConnection(kafka.bootstrap_servers, group) as locks:
        eventually(lambda: any(wanted(lock) for lock in locks.holders() or ()))


@pytest.mark.parametrize(("kind", "own", "grouped"), CLIENTS, ids=named)
def test_a_rolling_restart_with_surge_through_the_other_gateway_causes_no_rebalance(
    kafka, topic, joined, kind, own, grouped
):
    with (
        two_gateways(kafka.bootstrap_servers, f".*=on,seats.hold.seconds=10,{BETWEEN}") as gateways,
        Load(kafka, topic, PARTITIONS) as load,
    ):
        group = grouped(joined, gateways, topic, kind, own)
        group.fill()
        before = group.generation()
        for _ in range(MEMBERS):
            held = group.done("hold")
            new = group.start_at(group.next_place())
            eventually(lambda n=held: group.done("hold") > n, waiting_for=group.state)
            announced(kafka, group.name)
            group.end_oldest()
            group.members.append(new)
            eventually(group.whole, waiting_for=group.state)
        assert group.generation() == before, group.state()
        assert group.done("handover") == MEMBERS
        read_everything(load, *group.everybody)
        for each in group.members:
            each.close()


@pytest.mark.parametrize(("kind", "own", "grouped"), CLIENTS, ids=named)
def test_a_member_that_restarts_through_the_other_gateway_causes_no_rebalance(kafka, topic, joined, kind, own, grouped):
    with (
        two_gateways(kafka.bootstrap_servers, f".*=on,seats.hold.seconds=1,seats.keep.seconds=60,{BETWEEN}") as both,
        Load(kafka, topic, PARTITIONS) as load,
    ):
        group = grouped(joined, both, topic, kind, own)
        group.fill()
        before = group.generation()
        for _ in range(MEMBERS):
            place = group.next_place()
            group.end_oldest()
            group.members.append(group.start_at(place))
            eventually(group.whole, waiting_for=group.state)
        assert group.generation() == before, group.state()
        assert group.done("handover") == MEMBERS
        read_everything(load, *group.everybody)
        for each in group.members:
            each.close()


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_a_lost_claim_is_repeated_and_an_own_processed_one_is_recognised(kafka, topic, joined, lost, monkeypatch):
    """Each lock's first claim fails: the request does not reach the broker, or its response not the gateway."""
    cut, exchange = set(), ConnectionRelay.exchange

    async def losing(self, frame):
        if read_head(frame).api_key == CONSUMER_HEARTBEAT.key:
            asked = CONSUMER_HEARTBEAT.decode_request(1, frame)
            if asked["member_epoch"] == 0 and asked["instance_id"] not in cut:
                cut.add(asked["instance_id"])
                if lost == "answer":
                    await exchange(self, frame)
                raise ConnectionAbortedError("lost")
        return await exchange(self, frame)

    monkeypatch.setattr(ConnectionRelay, "exchange", losing)
    with two_gateways(kafka.bootstrap_servers, KEPT_LONG) as both, Load(kafka, topic, PARTITIONS) as load:
        group = SpreadGroup(joined, both, topic, LibrdkafkaMember, "range")
        group.fill(2)
        before = group.generation()
        for _ in range(2):
            place = group.next_place()
            group.end_oldest()
            offered(kafka, group.name)
            cut.clear()
            group.members.append(group.start_at(place))
            eventually(group.whole, waiting_for=group.state)
        assert cut
        assert group.generation() == before, group.state()
        assert group.done("handover") == 2
        read_everything(load, *group.everybody)
        for each in group.members:
            each.close()


KEPT_LONG = f".*=on,seats.hold.seconds=1,seats.keep.seconds=300,{BETWEEN}"


@contextmanager
def seat_of_a_killed_gateway(kafka, topic, joined):
    """A group whose other member left through a gateway that keeps its seat, and was killed; and a living gateway."""
    bootstrap = kafka.bootstrap_servers
    with (
        gateway_process(bootstrap, KEPT_LONG) as killed,
        gateway(bootstrap, seats=KEPT_LONG) as living,
        Load(kafka, topic, PARTITIONS) as load,
    ):
        group = SpreadGroup(joined, [living], topic, LibrdkafkaMember, "range")
        leaver = joined(LibrdkafkaMember, killed.bootstrap, group.name, topic, "leaver", "range")
        group.everybody.append(leaver)
        eventually(lambda: shares(leaver) == [PARTITIONS])
        group.members.append(group.start())
        eventually(lambda: all(shares(*group.members, leaver)) and sum(shares(*group.members, leaver)) == PARTITIONS)
        leaver.close()
        offered(kafka, group.name)
        before = group.generation()
        killed.end()
        yield group, before
        read_everything(load, *group.everybody)
        for each in group.members:
            each.close()


def test_the_seat_of_a_killed_gateway_ends_with_its_session_as_after_a_crash(kafka, topic, joined):
    with seat_of_a_killed_gateway(kafka, topic, joined) as (group, before):
        eventually(group.whole, waiting_for=group.state)  # although it should be kept for 300 s
        assert group.generation() > before


def test_a_successor_takes_the_seat_that_a_killed_gateway_offered(kafka, topic, joined):
    with seat_of_a_killed_gateway(kafka, topic, joined) as (group, before):
        group.members.append(group.start())
        eventually(group.whole, waiting_for=group.state)
        assert group.generation() == before, group.state()
        assert group.done("handover") == 1


def test_gateways_without_shared_locks_rebalance_and_lose_nothing(kafka, topic, joined):
    with (
        gateway(kafka.bootstrap_servers, seats=f".*=on,seats.hold.seconds=1,{BETWEEN}") as first,
        gateway(kafka.bootstrap_servers, seats=".*=on,seats.hold.seconds=1") as second,
        Load(kafka, topic, PARTITIONS) as load,
    ):
        group = SpreadGroup(joined, [first, second], topic, LibrdkafkaMember, "range")
        group.fill(2)
        before = group.generation()
        for _ in range(2):
            place = group.next_place()
            group.end_oldest()
            group.members.append(group.start_at(place))
            eventually(group.whole, waiting_for=group.state)
        assert group.generation() > before
        assert group.done("handover") == 0
        read_everything(load, *group.everybody)
        for each in group.members:
            each.close()


def test_a_broker_without_groups_of_kip_848_hands_seats_over_behind_one_gateway_only(joined):
    properties = {"group.coordinator.rebalance.protocols": "classic"}
    with EmbeddedKafka(properties=properties) as kafka:
        create_topic(kafka.bootstrap_servers, "t", PARTITIONS)
        with gateway(kafka.bootstrap_servers, seats=KEPT_LONG) as one:
            group = SpreadGroup(joined, [one], "t", LibrdkafkaMember, "range")
            group.fill(1)
            group.end_oldest()
            eventually(lambda: one.acts.counted["claim", "failed"] == 1, waiting_for=group.state)
            group.members.append(group.start())
            eventually(group.whole, waiting_for=group.state)
            assert group.done("handover") == 1
            group.members[0].close()
