"""Whole rebalances of unmodified clients, frame by frame, with a coordinator's rules."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from kafka.protocol.consumer.group import JoinGroupRequest, SyncGroupRequest

from rebalance_agent.assignors import STRATEGIES, strategy
from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome
from rebalance_agent.gateway.groups.leading.leader_decision import budget_seconds
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.groupprotocol.consumer_protocol import decode_assignment, decode_subscription, encode_assignment
from rebalance_agent.model.events import AssignEvent
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.subscription import ConsumerAssignment
from support.gateway.coordinator import ToyCoordinator
from support.gateway.groups import Client, Gateway, Line

HEAVY = "orders=weighted-sticky,assignment.consumer.weight=300"
LIGHT = "orders=weighted-sticky,assignment.consumer.weight=100"
VERSIONS = [(join, min(5, max(0, join - 3))) for join in range(10)] + [(9, sync) for sync in range(5)]


def client(rules, broker, **options):
    gateway = Gateway(rules, **options.pop("gateway", {}))
    line = Line(gateway, broker, options.pop("client_id", "app"))
    one = Client(line, **options)
    one.gateway = gateway
    return one


async def rebalance(*clients):
    await asyncio.gather(*(each.join() for each in clients))
    return await asyncio.gather(*(each.sync() for each in clients))


def counts(*clients):
    return [count_partitions(each.owned) for each in clients]


def asked(one, kind):
    return [each for each in one.line.sent if type(each) is kind]


@pytest.mark.parametrize(("join", "sync"), VERSIONS)
def test_clients_with_range_get_their_share_by_weight_in_every_version(join, sync):
    broker = ToyCoordinator(2)
    versions = {"join_version": join, "sync_version": sync, "subscription_version": min(join, 3)}
    heavy, light = client(HEAVY, broker, **versions), client(LIGHT, broker, **versions)
    answers = asyncio.run(rebalance(heavy, light))
    assert counts(heavy, light) == [12, 4]
    assert broker.protocol == "weighted-sticky"
    assert {each.protocol_name for each in answers} == {"range" if sync >= 5 else None}
    assert [heavy.joined.protocol_name, light.joined.protocol_name] == ["range", "range"]
    assert heavy.gateway.outcomes[-2:] == [FrameOutcome.CHOSEN, FrameOutcome.ASSIGNED]
    assert light.gateway.outcomes[-1] is FrameOutcome.CHOSEN


@pytest.mark.parametrize("name", [name for name in STRATEGIES if not strategy(name).by_load])
def test_every_compatible_strategy_assigns_every_partition_twice(name):
    broker = ToyCoordinator(2)
    own = "range" if strategy(name).protocol is RebalanceProtocol.EAGER else "cooperative-sticky"
    one, other = (client(f"orders={name}", broker, names=(own,)) for _ in range(2))

    async def twice():
        await rebalance(one, other)
        await rebalance(one, other)

    asyncio.run(twice())
    assert {*one.owned.get("t", ()), *other.owned.get("t", ())} == set(range(16))
    assert broker.protocol == name
    outcomes = one.gateway.outcomes + other.gateway.outcomes
    assert outcomes.count(FrameOutcome.ASSIGNED) == 2
    assert set(outcomes) == {FrameOutcome.OFFERED, FrameOutcome.CHOSEN, FrameOutcome.ASSIGNED}


def test_kafkajs_gets_its_own_assigners_name_and_format():
    broker = ToyCoordinator(2)
    kafkajs = {"names": ("RoundRobinAssigner",), "join_version": 5, "sync_version": 3, "subscription_version": 0}
    heavy, light = client(HEAVY, broker, **kafkajs), client(LIGHT, broker)
    asyncio.run(rebalance(heavy, light))
    assert counts(heavy, light) == [12, 4]
    assert heavy.joined.protocol_name == "RoundRobinAssigner"
    assert {bytes(each.metadata)[:2] for each in heavy.joined.members} == {b"\0\0"}


def test_our_strategy_is_listed_before_the_clients_own_unchanged_ones():
    broker = ToyCoordinator(1)
    one = client(HEAVY, broker, names=("roundrobin", "range"), rack="r1")
    before = one.join_request()
    asyncio.run(rebalance(one))
    sent = asked(one, JoinGroupRequest)[0]
    assert [each.name for each in sent.protocols] == ["weighted-sticky", "roundrobin", "range"]
    assert [bytes(each.metadata) for each in sent.protocols[1:]] == [bytes(e.metadata) for e in before.protocols]
    ours = decode_subscription(bytes(sent.protocols[0].metadata))
    assert (ours.version, ours.topics, ours.rack_id, ours.user_data[:4]) == (3, ("t",), "r1", b"\0\0\1\x2c")


def test_the_assignment_of_an_eager_client_is_its_claim_at_the_next_join():
    broker = ToyCoordinator(2)
    heavy, light = client(HEAVY, broker), client(LIGHT, broker)

    async def twice():
        await rebalance(heavy, light)
        given = (heavy.owned, light.owned)
        await rebalance(light, heavy)  # the other member is the leader
        return given

    given = asyncio.run(twice())
    assert (heavy.owned, light.owned) == given
    said = decode_subscription(bytes(asked(light, JoinGroupRequest)[-1].protocols[0].metadata))
    assert (dict(said.owned_partitions), said.generation_id) == (light.owned, 1)
    assert heavy.gateway.outcomes.count(FrameOutcome.ASSIGNED) == 1
    assert light.gateway.outcomes.count(FrameOutcome.ASSIGNED) == 1


def test_the_leaders_own_assignor_sees_all_topics_without_our_user_data():
    broker = ToyCoordinator(2)
    one = client(HEAVY, broker, subscription_version=1)
    other = client(LIGHT, broker, topics=("u",))
    asyncio.run(rebalance(one, other))
    seen = [decode_subscription(bytes(each.metadata)) for each in one.joined.members]
    assert [(each.version, each.topics, each.user_data) for each in seen] == [(1, ("t",), None), (1, ("u",), None)]


def test_members_without_a_gateway_keep_the_group_on_their_own_assignor():
    broker = ToyCoordinator(2)
    behind, plain = client(HEAVY, broker), client("", broker)
    asyncio.run(rebalance(behind, plain))
    assert broker.protocol == "range"
    assert counts(behind, plain) == [16, 0]  # the assignment of the leader's client
    assert behind.gateway.outcomes[-1] is FrameOutcome.NOT_CHOSEN


def test_the_strategy_is_used_once_the_last_plain_member_has_left():
    broker = ToyCoordinator(2)
    behind, plain, other = client(HEAVY, broker), client("", broker), client(LIGHT, broker)

    async def rolled():
        await rebalance(behind, plain)
        await rebalance(behind, other)

    asyncio.run(rolled())
    assert counts(behind, other) == [12, 4]


@pytest.mark.parametrize("name", ["weighted-sticky", "failover"])
def test_an_eager_strategy_is_not_offered_to_a_cooperative_client(name, caplog):
    broker = ToyCoordinator(1)
    one = client(f"orders={name}", broker, names=("cooperative-sticky",))
    asyncio.run(rebalance(one))
    assert broker.protocol == "cooperative-sticky"
    assert one.gateway.outcomes == [FrameOutcome.MISFIT] * 2
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "set a cooperative strategy in gateway_groups" in record.getMessage()


@pytest.mark.parametrize("names", [("range",), ("range", "cooperative-sticky"), ("sticky",)])
def test_a_cooperative_strategy_is_not_offered_to_an_eager_client(names):
    one = client("orders=cooperative-weighted-sticky", ToyCoordinator(1), names=names)
    asyncio.run(rebalance(one))
    assert set(one.gateway.outcomes) == {FrameOutcome.MISFIT}


@pytest.mark.parametrize(
    "fields", [{"names": ("stream",)}, {"protocol_type": "connect"}, {"names": ("range", "my-own")}, {"names": ()}]
)
def test_joins_of_streams_connect_and_unknown_protocols_pass_unchanged(fields):
    one = client(HEAVY, ToyCoordinator(1), **fields)
    frame = one.line.framed(one.join_request())
    head = RequestHead(11, 9, 1)
    assert asyncio.run(one.line.talk.request(head, frame, one.line.ask)) == frame
    assert one.gateway.outcomes == [FrameOutcome.FOREIGN]


def test_frames_of_groups_without_a_rule_are_unchanged():
    one = client(HEAVY, ToyCoordinator(1), group="other")
    frame = one.line.framed(one.join_request())
    assert asyncio.run(one.line.talk.request(RequestHead(11, 9, 1), frame, one.line.ask)) == frame
    assert one.gateway.outcomes == []


def test_a_cooperative_client_gets_partitions_of_another_in_two_rounds():
    broker = ToyCoordinator(1)
    rules = "orders=cooperative-weighted-sticky,assignment.consumer.weight="
    old = client(f"{rules}100", broker, names=("cooperative-sticky",))
    new = client(f"{rules}100", broker, names=("cooperative-sticky",))

    async def grow():
        await rebalance(old)
        alone, broker.members = dict(old.owned), 2
        await rebalance(old, new)
        first = counts(old, new)
        await rebalance(old, new)
        return alone, first

    alone, first = asyncio.run(grow())
    assert (count_partitions(alone), first, counts(old, new)) == (16, [8, 0], [8, 8])
    assert not set(old.owned["t"]) & set(new.owned["t"])


def test_owned_partitions_of_a_cooperative_client_come_from_its_subscription():
    broker = ToyCoordinator(1)
    one = client("orders=cooperative-weighted-sticky", broker, names=("cooperative-sticky",))

    async def go():
        await rebalance(one)
        one.owned = {"t": (3, 4)}  # it revoked the other partitions
        await rebalance(one)

    asyncio.run(go())
    said = decode_subscription(bytes(asked(one, JoinGroupRequest)[-1].protocols[0].metadata))
    assert (dict(said.owned_partitions), said.generation_id) == ({"t": (3, 4)}, 1)


def test_a_leader_with_skip_assignment_does_not_assign():
    broker = ToyCoordinator(1)
    one = client(HEAVY, broker, instance_id="i-1")

    async def go():
        await rebalance(one)
        broker.skip_assignment = True
        one.member_id = ""  # it was restarted
        await one.join()
        return await one.sync()

    asyncio.run(go())
    assert list(asked(one, SyncGroupRequest)[-1].assignments) == []
    assert one.gateway.outcomes.count(FrameOutcome.ASSIGNED) == 1


def test_a_returning_static_member_keeps_its_claim():
    broker = ToyCoordinator(1)
    one = client(HEAVY, broker, instance_id="i-1")

    async def go():
        await rebalance(one)
        again = Client(Line(one.gateway, broker), instance_id="i-1")
        await rebalance(again)
        return again

    again = asyncio.run(go())
    said = decode_subscription(bytes(asked(again, JoinGroupRequest)[0].protocols[0].metadata))
    assert count_partitions(said.owned_partitions) == 16


def test_a_removed_client_keeps_its_claim_on_its_connection():
    broker = ToyCoordinator(1)
    one = client(HEAVY, broker)

    async def go():
        await rebalance(one)
        one.member_id, one.generation = "", -1
        await rebalance(one)

    asyncio.run(go())
    said = decode_subscription(bytes(asked(one, JoinGroupRequest)[-1].protocols[0].metadata))
    assert (count_partitions(said.owned_partitions), said.generation_id) == (16, 1)


def test_an_assignor_that_fails_leaves_the_clients_own_assignment(caplog):
    broker = ToyCoordinator(1)
    one = client(HEAVY, broker)

    async def go():
        await one.join()
        broker.delay = asyncio.get_running_loop().create_future()
        broker.delay.set_exception(ConnectionError("gone"))
        await one.sync({one.member_id: {"t": (5,)}})

    asyncio.run(go())
    assert one.owned == {"t": (5,)}
    assert one.gateway.outcomes[-1] is FrameOutcome.ASSIGN_FAILED
    assert "the client's own assignment is used" in caplog.text
    (event,) = [each for each in one.gateway.events if isinstance(each, AssignEvent)]
    assert (event.assignor, event.error) == ("weighted-sticky", "ConnectionError: gone")


def test_a_missing_response_leaves_the_clients_own_assignment():
    broker = ToyCoordinator(1)
    one = client(HEAVY, broker, gateway={"assign_seconds": 0.01})

    async def go():
        await one.join()
        broker.delay = asyncio.get_running_loop().create_future()
        await one.sync({one.member_id: {"t": (5,)}})

    asyncio.run(go())
    assert one.owned == {"t": (5,)}
    assert one.gateway.outcomes[-1] is FrameOutcome.ASSIGN_LATE


@pytest.mark.parametrize(
    ("configured", "rebalance", "session", "budget"), [(5, 60, 45, 5), (5, 8, 45, 2), (5, 60, 6, 2), (5, -1, 6, 0)]
)
def test_the_gateway_uses_only_a_part_of_the_coordinators_timeout(configured, rebalance, session, budget):
    assert budget_seconds(configured, rebalance, session) == budget


def test_a_sync_whose_join_preceded_the_gateway_is_answered_with_a_rejoin():
    broker = ToyCoordinator(1)
    one = client(HEAVY, broker)

    async def go():
        await one.join()
        fresh = Gateway(HEAVY)
        one.line = Line(fresh, broker)
        return (await one.sync()).error_code, fresh.outcomes

    assert asyncio.run(go()) == (27, [FrameOutcome.SENT_BACK])


def test_after_a_restart_the_gateway_learns_a_members_partitions_from_its_heartbeat():
    broker = ToyCoordinator(2)
    heavy, light = client(HEAVY, broker), client(LIGHT, broker)

    async def go():
        await rebalance(heavy, light)
        given = heavy.owned
        heavy.line = Line(Gateway(HEAVY), broker)
        await heavy.heartbeat()
        await heavy.heartbeat()
        await rebalance(heavy, light)
        return given

    given = asyncio.run(go())
    said = decode_subscription(bytes(asked(heavy, JoinGroupRequest)[-1].protocols[0].metadata))
    assert (dict(said.owned_partitions), said.generation_id) == (given, 1)


def test_user_data_of_our_assignments_does_not_reach_the_client():
    broker = ToyCoordinator(1)
    one = client("orders=copartitioned-sticky", broker)

    async def go():
        await one.join()
        return await one.sync()

    answer = asyncio.run(go())
    assert decode_assignment(broker.assignments[one.member_id]).user_data is not None
    assert decode_assignment(bytes(answer.assignment)).user_data is None
    assert count_partitions(one.owned) == 16


def test_assignments_of_other_assignors_are_unchanged():
    broker = ToyCoordinator(1)
    one = client("", broker, names=("stream",))
    data = encode_assignment(ConsumerAssignment(2, {"t": (1,)}, b"tasks"))

    async def go():
        await one.join()
        broker.assignments = {one.member_id: data}
        broker.skip_assignment = True
        return bytes((await one.sync({})).assignment)

    assert asyncio.run(go()) == data


def test_a_client_that_offers_the_same_strategy_is_reported_with_its_own_name():
    broker = ToyCoordinator(1)
    one = client("orders=sticky", broker, names=("range", "sticky"))
    asyncio.run(rebalance(one))
    assert [each.name for each in asked(one, JoinGroupRequest)[0].protocols] == ["sticky", "range"]
    assert one.joined.protocol_name == "sticky"
    assert counts(one) == [16]


def test_racks_are_requested_if_members_have_one():
    broker = ToyCoordinator(2, racks={0: "a", 1: "b"})
    rules = "orders=rack-aware-sticky"
    one, other = client(rules, broker, rack="b"), client(rules, broker, rack="a")
    asyncio.run(rebalance(one, other))
    assert [{number % 2 for number in each.owned["t"]} for each in (one, other)] == [{1}, {0}]


def test_a_client_without_a_rack_gets_its_gateways():
    broker = ToyCoordinator(3, topics={"t": 6}, racks={0: "a", 1: "b", 2: "c"})
    old = {"subscription_version": 0}  # kafka-python and aiokafka send their rack only in Fetch
    one, other = (client("orders=rack-aware-sticky", broker, gateway={"rack": rack}, **old) for rack in "ca")
    telling = client("orders=rack-aware-sticky", broker, gateway={"rack": "a"}, rack="b")
    asyncio.run(rebalance(one, other, telling))
    assert [each.owned["t"] for each in (one, other, telling)] == [(2, 5), (0, 3), (1, 4)]


def test_topics_of_other_members_are_requested():
    broker = ToyCoordinator(2, topics={"t": 4, "u": 6})
    one, other = client(HEAVY, broker), client(LIGHT, broker, topics=("u",))
    asyncio.run(rebalance(one, other))
    assert (one.owned, other.owned) == ({"t": (0, 1, 2, 3)}, {"u": (0, 1, 2, 3, 4, 5)})


def test_a_member_with_an_unreadable_subscription_gets_an_empty_assignment():
    broker = ToyCoordinator(2)
    one = client(HEAVY, broker)
    broken = Client(Line(Gateway(), broker))
    kind = JoinGroupRequest.JoinGroupRequestProtocol
    offered = [kind(version=9, name="weighted-sticky", metadata=b"\0\3\xff")]

    async def go():
        await asyncio.gather(one.join(), broken.join(protocols=offered))
        await asyncio.gather(one.sync(), broken.sync())

    asyncio.run(go())
    assert counts(one, broken) == [16, 0]
    assert one.gateway.outcomes[-1] is FrameOutcome.ASSIGNED
    assert broker.assignments[broken.member_id]
    seen = {each.member_id: decode_subscription(bytes(each.metadata)).topics for each in one.joined.members}
    assert seen[broken.member_id] == ()


def test_unknown_newer_versions_pass_unchanged():
    talk = Gateway(HEAVY).groups.for_connection()
    assert [talk.wants(RequestHead(key, version, 1)) for key, version in ((11, 9), (11, 10), (14, 6), (0, 3))] == [
        True,
        False,
        False,
        False,
    ]


def test_frames_that_may_need_changes_are_always_read():
    talk = Gateway(HEAVY).groups.for_connection()
    read = {11: False, 14: False, 12: True, 13: True, 8: True, 28: True, 1: True, 68: True}
    assert {key: talk.observes(RequestHead(key, 1, 1)) for key in read} == read


def test_a_frame_that_breaks_its_schema_is_refused():
    one = client(HEAVY, ToyCoordinator(1))
    frame = one.line.framed(one.join_request())
    with pytest.raises(DecodeError):
        asyncio.run(one.line.talk.request(RequestHead(11, 9, 1), frame[:-3], one.line.ask))


def test_responses_without_a_known_request_pass_unchanged():
    talk = Gateway(HEAVY).groups.for_connection()
    assert talk.response(RequestHead(11, 9, 7), b"anything") == b"anything"


def test_an_exception_in_the_gateway_leaves_the_clients_frames_unchanged(monkeypatch, caplog):
    one = client(HEAVY, ToyCoordinator(1))
    monkeypatch.setattr("rebalance_agent.gateway.groups.join_group.offer", lambda *_: 1 / 0)
    asyncio.run(rebalance(one))
    assert (counts(one), one.line.broker.protocol) == ([16], "range")
    assert FrameOutcome.FAILED in one.gateway.outcomes
    assert "an error of the gateway" in caplog.text


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_result_does_not_depend_on_the_leader(order):
    broker = ToyCoordinator(3)
    rules = [f"orders=weighted-sticky,assignment.consumer.weight={weight}" for weight in (200, 100, 100)]
    clients = [client(each, broker) for each in rules]
    asyncio.run(rebalance(*(clients[index] for index in order)))
    assert counts(*clients) == [8, 4, 4]
