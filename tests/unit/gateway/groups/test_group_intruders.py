"""Requests with the ids of another client's member, which the broker refuses or has not answered yet."""

from __future__ import annotations

import asyncio

import pytest
from kafka.protocol.consumer.group import HeartbeatRequest, JoinGroupResponse, SyncGroupRequest

from rebalance_agent.gateway.groups.member_entries import ENTRIES_MAX
from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.model.partitions import count_partitions
from support.gateway.coordinator import ToyCoordinator
from support.gateway.frames import framed
from support.gateway.groups import Client, Gateway, Line

RULE = "orders=weighted-sticky,assignment.consumer.weight=300"
GROUP_AUTHORIZATION_FAILED = 30


class Intruder:
    """Another connection of the same gateway, whose JoinGroups name ``victim``."""

    def __init__(self, gateway, victim):
        self._talk, self._victim = gateway.groups.for_connection(), victim

    async def join(self, *, refused, **changes):
        as_victim = Client(None, names=("roundrobin",), instance_id=self._victim.instance_id, rack="elsewhere")
        fields = {"member_id": self._victim.member_id, "session_timeout_ms": 1, "rebalance_timeout_ms": 1}
        frame = framed(as_victim.join_request(**fields | changes), client_id="intruder")
        head = read_head(frame)
        await self._talk.request(head, frame, None)
        if refused:
            answer = JoinGroupResponse(version=as_victim.join_version, error_code=GROUP_AUTHORIZATION_FAILED)
            self._talk.response(head, framed(answer))


def grown(refused, victim_fields, **changes):
    """Return two members after a rebalance in which an intruder sent a JoinGroup for the first one, the leader."""
    broker, gateway = ToyCoordinator(1), Gateway(RULE)
    victim, other = Client(Line(gateway, broker), **victim_fields), Client(Line(Gateway(RULE), broker))

    async def go():
        await victim.join()
        await victim.sync()
        broker.members = 2
        broker.somebody_waits.clear()
        joining = asyncio.create_task(victim.join())
        await broker.somebody_waits.wait()
        await Intruder(gateway, victim).join(refused=refused, **changes)
        await asyncio.gather(joining, other.join())
        errors = [(await victim.sync()).error_code]  # of the leader; without its assignment the other member waits
        return errors if any(errors) else [*errors, (await other.sync()).error_code]

    return asyncio.run(go()), victim, other


@pytest.mark.parametrize("refused", [False, True], ids=["unanswered", "refused"])
@pytest.mark.parametrize(
    ("victim", "changes"),
    [({}, {}), ({"instance_id": "i-1"}, {}), ({"instance_id": "i-1"}, {"member_id": ""})],
    ids=["dynamic", "static", "static without a member id"],
)
def test_a_join_in_the_name_of_a_member_changes_nothing_before_it_is_accepted(refused, victim, changes):
    errors, victim, other = grown(refused, victim, **changes)
    assert errors == [0, 0]
    assert [each.protocol_name for each in victim.line.sent if type(each) is SyncGroupRequest] == [
        "weighted-sticky"
    ] * 2
    assert [count_partitions(each.owned) for each in (victim, other)] == [8, 8]


def test_the_timeouts_of_a_refused_join_do_not_shorten_the_members_assignment_time():
    broker, gateway = ToyCoordinator(1), Gateway(RULE)
    victim = Client(Line(gateway, broker))

    async def go():
        await victim.join()
        await Intruder(gateway, victim).join(refused=True)
        (entry,) = gateway.groups.entries
        return entry.terms.session_seconds, entry.terms.rebalance_seconds, entry.terms.participant.rack

    assert asyncio.run(go()) == (10, 60, None)


@pytest.mark.parametrize("error", [25, GROUP_AUTHORIZATION_FAILED, 22, 16])
def test_refused_heartbeats_with_invented_ids_push_out_no_member(error):
    broker, gateway = ToyCoordinator(1), Gateway(RULE)
    victim, intruder = Client(Line(gateway, broker)), Client(Line(gateway, broker, "intruder"), generation=1)

    async def go():
        await victim.join()
        await victim.sync()
        known = list(gateway.groups.entries)
        broker.errors[HeartbeatRequest] = error
        for number in range(ENTRIES_MAX):
            intruder.member_id = f"invented-{number}"
            assert (await intruder.heartbeat()).error_code == error
        return known, list(gateway.groups.entries)

    before, after = asyncio.run(go())
    assert len(before) == 1
    assert after == before


@pytest.mark.parametrize("error", [0, 27])
def test_a_member_that_the_gateway_has_not_seen_is_known_after_an_accepted_heartbeat(error):
    broker, gateway = ToyCoordinator(1), Gateway(RULE)
    member, questions = Client(Line(Gateway(RULE), broker)), []

    async def go():
        await member.join()
        await member.sync()
        member.line = Line(gateway, broker)  # its gateway was restarted
        member.line.ask = lambda message: questions.append(message) or broker(message)
        broker.errors[HeartbeatRequest] = 16
        await member.heartbeat()
        assert not len(gateway.groups.entries), "another broker answered, which is not the coordinator"
        broker.errors[HeartbeatRequest] = error
        for _ in range(3):
            await member.heartbeat()

    asyncio.run(go())
    (entry,) = gateway.groups.entries
    assert (entry.membership.member_id, count_partitions(entry.membership.owned)) == (member.member_id, 16)
    assert len(questions) == 2, "for each heartbeat until one is accepted"
