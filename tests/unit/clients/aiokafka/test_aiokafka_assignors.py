"""aiokafka's adapters without a broker: the calls between their parts."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from aiokafka.cluster import ClusterMetadata
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocol
from aiokafka.structs import BrokerMetadata, PartitionMetadata

from rebalance_agent.assignors import strategy
from rebalance_agent.clients.aiokafka import AIOKafkaConsumer
from rebalance_agent.clients.aiokafka.assignors import Assignor, JoinedMember, PlainAssignor, StrategyAssignor
from rebalance_agent.clients.aiokafka.async_listener import AiokafkaListener
from rebalance_agent.clients.aiokafka.cluster_metadata import topic_metadata
from rebalance_agent.clients.aiokafka.joining import JOIN_GROUP, SYNC_GROUP, Joining
from rebalance_agent.clients.participant import Participant
from rebalance_agent.errors import AssignmentError, InvalidInputError
from rebalance_agent.groupprotocol.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_agent.groupprotocol.standby_user_data import decode_standby_subscription
from rebalance_agent.instrumentation.led_members import LedMembers
from rebalance_agent.model.events import Callback
from rebalance_agent.model.reported.led_generation import LedMember
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription, MemberSubscription
from support.observer.recorded_instrumentation import RecordedInstrumentation

WEIGHTED = strategy("weighted-sticky")
SUBSCRIPTION = encode_subscription(ConsumerSubscription(3, ("t",), b"data", {"t": (1,)}, 7, "r1"))
SHORT_V1 = b"\0\1" + b"\0\0\0\1" + b"\0\1t" + b"\0\0\0\0"


def _stay():
    """Replaces the rejoin of aiokafka's coordinator."""


class TP(NamedTuple):
    topic: str
    partition: int


class Client:
    """Responds to every request with ``answer``."""

    def __init__(self, **answer):
        self.answer = SimpleNamespace(**{"error_code": 0, **answer})
        self.requests = []

    async def send(self, node_id, request, *, group=None):
        self.requests.append((node_id, request.API_KEY, group))
        return self.answer


def ask(client, key, **options):
    return asyncio.run(client.send(1, SimpleNamespace(API_KEY=key), **options))


def cluster(racks=(None, None), **topics):
    metadata = ClusterMetadata()
    metadata._brokers = {node: BrokerMetadata(node, "host", 9092, rack) for node, rack in enumerate(racks)}
    metadata._partitions = {
        topic: {number: PartitionMetadata(topic, number, 0, [number % 2], [], 0) for number in range(count)}
        for topic, count in topics.items()
    }
    return metadata


def participant(config=None):
    return Participant([WEIGHTED], config or {}, group="group")


def assignment(**partitions):
    return ConsumerProtocol.ASSIGNMENT.decode(encode_assignment(ConsumerAssignment(3, partitions, b"copies")))


def test_the_leader_gets_whole_subscriptions_and_aiokafka_the_fields_that_it_supports():
    client = Client(members=[("m", "i", SUBSCRIPTION), ("short", None, SHORT_V1), ("broken", None, b"\0\1\x7f")])
    joining = Joining(client)
    answer = ask(client, JOIN_GROUP, group="coordination")
    assert client.requests == [(1, JOIN_GROUP, "coordination")]
    assert joining.members == {
        "m": MemberSubscription("m", ("t",), "i", {"t": (1,)}, 7, "r1", b"data"),
        "short": MemberSubscription("short", ("t",)),
        "broken": MemberSubscription("broken", ()),
    }
    read = [(row[:2], ConsumerProtocol.METADATA.decode(row[2]).subscription) for row in answer.members]
    assert read == [(("m", "i"), ["t"]), (("short", None), ["t"]), (("broken", None), [])]


def test_members_of_older_responses_have_no_instance_id():
    client = Client(members=[("m", SUBSCRIPTION)])
    joining = Joining(client)
    assert ask(client, JOIN_GROUP).members == [("m", SUBSCRIPTION)]
    assert joining.members["m"].instance_id is None


@pytest.mark.parametrize("data", [b"", None, b"\0\1\x7f"])
def test_an_unreadable_assignment_is_empty(data):
    client = Client(member_assignment=data)
    Joining(client)
    assert decode_assignment(ask(client, SYNC_GROUP).member_assignment).partitions == {}


def test_a_received_assignment_and_a_rejection_are_unchanged():
    data = encode_assignment(ConsumerAssignment(1, {"t": (1,)}))
    client = Client(member_assignment=data)
    Joining(client)
    assert ask(client, SYNC_GROUP).member_assignment is data
    client = Client(member_assignment=b"", error_code=27)
    Joining(client)
    assert ask(client, SYNC_GROUP).member_assignment == b""


class Leading:
    """Keeps the calls of `instrumentation.leading.Leading`."""

    def __init__(self):
        self.calls = []

    def joined(self, members):
        self.calls.append(members(9))

    def assigns(self, given):
        self.calls.append(given)

    def accepted(self, *timeouts):
        self.calls.append(timeouts)


@pytest.mark.parametrize("private", [True, False])
def test_the_leaders_generation_is_passed_on_as_the_coordinator_has_it(private):
    members = [("m", "i", b"\0\1\x7f"), ("n", None, SUBSCRIPTION)]
    answer = {"members": members, "leader_id": "m", "member_id": "m", "generation_id": 3, "group_protocol": "range"}
    client, leading = Client(member_assignment=b"", **answer), Leading()
    joining = Joining(client, leading=leading)

    def send(key, **fields):
        fields = {f"_{name}" if private else name: value for name, value in fields.items()}
        asyncio.run(joining.send(1, SimpleNamespace(API_KEY=key, **fields)))

    send(JOIN_GROUP, session_timeout=10, rebalance_timeout=20)
    send(SYNC_GROUP, group_assignment=[("m", b"all")])
    rows = (LedMember("m", b"\0\1\x7f", b"", "i"), LedMember("n", SUBSCRIPTION, b""))
    assert leading.calls == [LedMembers(3, "range", "m", 9, rows), {"m": b"all"}, (10, 20)]
    client.answer.error_code = 27
    send(SYNC_GROUP, group_assignment=[])
    assert leading.calls[3:] == [{}], "an assignment that was refused"
    client.answer = SimpleNamespace(**{**vars(client.answer), "error_code": 0, "leader_id": "n", "members": []})
    send(JOIN_GROUP, session_timeout=10, rebalance_timeout=20)
    assert leading.calls[4:] == [None], "a follower"


def test_a_join_request_contains_all_strategies_or_is_not_sent():
    client = Client(members=[])
    joining = Joining(client)
    first, last = (
        Assignor(StrategyAssignor(WEIGHTED, participant(), _stay), joining, lambda: 1, last=last)
        for last in (False, True)
    )
    first.metadata(["t"])
    assert ask(client, JOIN_GROUP).error_code == 0
    ask(client, 12)
    assert client.requests == [(1, 12, None)]
    last.metadata(["t"])
    assert ask(client, JOIN_GROUP) is client.answer


def test_a_strategy_assigns_by_the_members_subscriptions():
    one = StrategyAssignor(WEIGHTED, participant(), _stay)
    members = [
        JoinedMember(
            MemberSubscription("a", ("t",), user_data=WEIGHTED.user_data({"assignment.consumer.weight": "3"}, {})), None
        ),
        JoinedMember(MemberSubscription("b", ("t", "unknown")), None),
    ]
    answer = {name: decode_assignment(data) for name, data in one.assign(cluster(t=4), members).items()}
    assert {name: len(each.partitions["t"]) for name, each in answer.items()} == {"a": 3, "b": 1}
    assert one.decision.assignment.unknown_topics == ("unknown",)


def test_the_next_subscription_contains_the_assignment():
    one = Assignor(StrategyAssignor(WEIGHTED, participant(), _stay), Joining(Client()), lambda: 9, last=True)
    one.on_assignment(assignment(t=(0, 2)))
    said = decode_subscription(one.metadata(["t"]))
    assert (said.version, said.owned_partitions, said.generation_id) == (3, {"t": (0, 2)}, 9)


def test_two_consumers_share_no_state():
    heavy, light = (
        StrategyAssignor(WEIGHTED, participant({"assignment.consumer.weight": weight}), _stay) for weight in "91"
    )
    heavy.on_assignment(assignment(t=(0, 2)), 1)
    assert decode_subscription(light.metadata(["t"])) == ConsumerSubscription(
        3, ("t",), WEIGHTED.user_data({"assignment.consumer.weight": "1"}, {})
    )
    assert decode_subscription(heavy.metadata(["t"])).owned_partitions == {"t": (0, 2)}


def test_aiokafkas_own_assignor_has_unchanged_input_and_output():
    keeps = participant()
    one = PlainAssignor(RangePartitionAssignor, keeps, "group")
    metadata = {name: RangePartitionAssignor.metadata(["t"]) for name in "ab"}
    members = [JoinedMember(MemberSubscription(name, ("t",)), each) for name, each in metadata.items()]
    answer = one.assign(cluster(t=3), members)
    assert {name: each.encode() for name, each in answer.items()} == {
        name: each.encode() for name, each in RangePartitionAssignor.assign(cluster(t=3), metadata).items()
    }
    assert one.decision.assignment.members == {"a": {"t": (0, 1)}, "b": {"t": (2,)}}
    one.on_assignment(answer["a"], 3)
    assert (keeps.owned, keeps.generation) == ({"t": (0, 1)}, 3)


def test_racks_of_replicas_are_requested_if_a_member_has_a_rack():
    known = cluster(racks=("r0", "r1"), t=3)
    assert topic_metadata(known, [MemberSubscription("a", ("t",))])["t"].racks is None
    racks = topic_metadata(known, [MemberSubscription("a", ("t",), rack="r1")])["t"].racks
    assert racks == (("r0",), ("r1",), ("r0",))


class Users:
    def __init__(self):
        self.calls = []

    def on_partitions_revoked(self, revoked):
        self.calls.append(("revoked", revoked))
        return "revoked"

    def on_partitions_assigned(self, assigned):
        self.calls.append(("assigned", assigned))
        return "assigned"


class Knowing(Users):
    def on_partitions_lost(self, lost):
        self.calls.append(("lost", lost))


@pytest.mark.parametrize(
    ("users", "joined", "reported", "called"),
    [
        (Users(), True, Callback.REVOKED, "revoked"),
        (Users(), False, Callback.LOST, "revoked"),
        (Knowing(), True, Callback.REVOKED, "revoked"),
        (Knowing(), False, Callback.LOST, "lost"),
    ],
)
def test_partitions_revoked_outside_a_generation_are_reported_as_lost(users, joined, reported, called):
    seen = RecordedInstrumentation()
    listener = AiokafkaListener(seen.hooks.listener(users), lambda: joined)
    listener.on_partitions_revoked({TP("t", 1)})
    assert [event.callback for event in seen.events] == [reported]
    assert users.calls == [(called, {TP("t", 1)})]


def test_before_the_first_join_nothing_is_lost():
    users, seen = Knowing(), RecordedInstrumentation()
    AiokafkaListener(seen.hooks.listener(users), lambda: False).on_partitions_revoked(set())
    assert users.calls == [("revoked", set())]
    assert seen.events == []


def test_users_coroutines_are_passed_to_aiokafka():
    class Async(Users):
        async def on_partitions_assigned(self, assigned):
            return assigned

    seen = RecordedInstrumentation()
    result = AiokafkaListener(seen.hooks.listener(Async()), lambda: True).on_partitions_assigned({TP("t", 1)})
    assert asyncio.iscoroutine(result)
    assert asyncio.run(result) == {TP("t", 1)}


def make(*topics, **configs):
    """A consumer that never starts."""

    async def inside():
        consumer = AIOKafkaConsumer(*topics, **configs)
        await consumer.stop()
        return consumer

    return asyncio.run(inside())


@pytest.mark.parametrize("name", ["cooperative-failover", ["range", "cooperative-weighted-sticky"]])
def test_a_cooperative_strategy_is_refused_with_the_reason(name):
    with pytest.raises(AssignmentError, match="is cooperative, and aiokafka supports only the eager protocol"):
        make(partition_assignment_strategy=name)


@pytest.mark.parametrize(
    ("configs", "problem"),
    [
        ({"partition_assignment_strategy": "nosuch"}, "there is no strategy 'nosuch'"),
        ({"partition_assignment_strategy": []}, "must contain at least one strategy"),
        ({"partition_assignment_strategy": ["range", RangePartitionAssignor]}, "two entries are named 'range'"),
        ({"assignor_config": {"weight": 1}}, "'weight' is not a setting of roundrobin"),
        (
            {"partition_assignment_strategy": "weighted-sticky", "assignor_config": {"assignment.consumer.weight": 0}},
            "assignment.consumer.weight",
        ),
    ],
)
def test_a_mistake_in_the_configuration_is_named(configs, problem):
    with pytest.raises(AssignmentError, match=problem):
        make(**configs)


def test_a_listener_needs_topics():
    with pytest.raises(InvalidInputError, match="requires topics"):
        make(listener=Users())


def test_an_invalid_listener_is_refused_before_anything_is_opened():
    with pytest.raises(InvalidInputError, match="ConsumerRebalanceListener"):
        make("t", listener=object())


def test_copies_that_are_on_disk_are_reported_in_the_first_join():
    consumer = make(
        "t",
        group_id="g",
        events_url="",
        partition_assignment_strategy="copartitioned-sticky",
        held_standbys=lambda: {"t": [2, 1]},
    )
    (assignor,) = consumer._partition_assignment_strategy
    said = decode_subscription(assignor.metadata({"t"}))
    assert decode_standby_subscription(said.user_data).standbys == {"t": (1, 2)}


def test_before_it_starts_a_consumer_has_no_copies_and_is_in_no_generation():
    consumer = make("t", group_id="g", events_url="")
    assert consumer.standbys() == set()
    assert not consumer._membership().joined
