from __future__ import annotations

from types import SimpleNamespace

import kafka
import pytest
from kafka.cluster import ClusterMetadata
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka.protocol.metadata import MetadataResponse

from rebalance_agent.assignors import STRATEGIES, strategy
from rebalance_agent.clients.kafka_python import KafkaConsumer, StrategyAssignor
from rebalance_agent.clients.kafka_python import consumer as consumer_module
from rebalance_agent.clients.kafka_python.joining import finish_joins
from rebalance_agent.clients.kafka_python.subscriptions import complete, read_tolerantly
from rebalance_agent.clients.participant import Participant
from rebalance_agent.errors import AssignmentError
from rebalance_agent.groupprotocol.consumer_protocol import decode_subscription, encode_subscription
from rebalance_agent.groupprotocol.standby_user_data import decode_standby_subscription
from rebalance_agent.model.subscription import ConsumerSubscription

SHORT_V1 = b"\0\1" + b"\0\0\0\1" + b"\0\1t" + b"\0\0\0\0"
"""Version 1 with only the fields of version 0: topics ``t`` and empty user data."""


def assignor(name="weighted-sticky", config=None, owned=None, generation=-1, rack=None):
    """An assignor of a consumer that was assigned ``owned`` in ``generation`` and, if cooperative, still owns it."""
    participant = Participant([strategy(name)], config or {}, group="group", rack=rack)
    participant.received(owned or {}, generation)
    return StrategyAssignor(strategy(name), participant, lambda: owned or {})


def member(name, data, instance=None):
    return SimpleNamespace(
        member_id=name, group_instance_id=instance, metadata=ConsumerProtocolSubscription.decode(complete(name, data))
    )


def cluster(racks=(), **topics):
    """kafka-python's own metadata: replicas of every partition on brokers 0 and 1."""
    answer = MetadataResponse(
        version=9,
        throttle_time_ms=0,
        brokers=[
            MetadataResponse.MetadataResponseBroker(node, "host", 9092, rack)
            for node, rack in enumerate(racks or (None, None))
        ],
        cluster_id="c",
        controller_id=0,
        topics=[
            MetadataResponse.MetadataResponseTopic(
                error_code=0,
                name=topic,
                is_internal=False,
                partitions=[
                    MetadataResponse.MetadataResponseTopic.MetadataResponsePartition(
                        error_code=0, partition_index=index, leader_id=0, leader_epoch=0,
                        replica_nodes=[index % 2], isr_nodes=[index % 2], offline_replicas=[],
                    )
                    for index in range(count)
                ],
            )
            for topic, count in topics.items()
        ],
    )  # fmt: skip
    metadata = ClusterMetadata()
    metadata.update_metadata(MetadataResponse.decode(answer.encode(version=9), version=9))
    return metadata


def given(answer):
    return {name: dict(each.assigned_partitions) for name, each in answer.items()}


def test_a_subscription_is_version_3_with_generation_rack_ownership_and_user_data():
    one = assignor(config={"assignment.consumer.weight": "900"}, owned={"t": (0, 2)}, generation=5, rack="r1")
    subscription = decode_subscription(one.metadata({"u", "t"}))
    assert subscription == ConsumerSubscription(
        version=3,
        topics=("t", "u"),
        user_data=strategy("weighted-sticky").user_data({"assignment.consumer.weight": "900"}, {"t": (0, 2)}),
        owned_partitions={"t": (0, 2)},
        generation_id=5,
        rack_id="r1",
    )
    kafkas = ConsumerProtocolSubscription.decode(one.metadata({"u", "t"}))
    assert (kafkas.version, kafkas.generation_id, kafkas.rack_id) == (3, 5, "r1")


def test_copies_that_are_on_disk_are_reported_in_the_first_join(monkeypatch):
    offered = {}
    monkeypatch.setattr(kafka.KafkaConsumer, "__init__", lambda consumer, **configs: offered.update(configs))
    for patch in ("read_tolerantly", "finish_joins"):
        monkeypatch.setattr(consumer_module, patch, lambda _coordinator: None)
    monkeypatch.setattr(KafkaConsumer, "_coordinator", None, raising=False)
    monkeypatch.setattr(KafkaConsumer, "__del__", lambda _consumer: None, raising=False)
    KafkaConsumer(partition_assignment_strategy="task-sticky", held_standbys=lambda: {"t": [2, 1]})
    (one,) = offered["partition_assignment_strategy"]
    said = decode_subscription(one.metadata({"t"}))
    assert decode_standby_subscription(said.user_data).standbys == {"t": (1, 2)}


def test_two_assignors_of_one_process_are_independent():
    heavy, light = (assignor(config={"assignment.consumer.weight": weight}) for weight in ("900", "1"))
    assert heavy.metadata({"t"}) != light.metadata({"t"})


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_has_its_name_and_cooperative_ones_also_serve_eager_consumers(name):
    one = assignor(name)
    assert one.name == name
    both = [RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER]
    assert one.supported_protocols() == (both if name.startswith("cooperative-") else [RebalanceProtocol.EAGER])


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_assigns_every_partition_and_every_member_an_entry(name):
    members = [member(each, assignor(name).metadata({"t"})) for each in ("a", "b")]
    answer = assignor(name).assign(cluster(t=7), members)
    assert sorted(answer) == ["a", "b"]
    copies = 1 if STRATEGIES[name].redundancy is None else 2
    owned = sorted(number for topics in given(answer).values() for number in topics.get("t", ()))
    assert owned == sorted(copies * list(range(7)))
    assert all(each.encode() for each in answer.values())


def test_subscriptions_contain_weights():
    members = [
        member(weight, assignor(config={"assignment.consumer.weight": weight}).metadata({"t"}))
        for weight in ("900", "90", "10")
    ]
    answer = given(assignor().assign(cluster(t=100), members))
    assert {name: len(topics["t"]) for name, topics in answer.items()} == {"900": 90, "90": 9, "10": 1}


def test_topics_without_metadata_are_not_assigned_and_no_error():
    one = assignor("range")
    assert given(one.assign(cluster(t=2), [member("a", one.metadata({"t", "unknown"}))])) == {"a": {"t": [0, 1]}}
    assert one.decision.assignment.unknown_topics == ("unknown",)


def test_mixed_subscriptions_are_no_error():
    one = assignor("roundrobin")
    members = [
        member("a", one.metadata({"t"})),
        member("b", one.metadata({"u"})),
        member("c", one.metadata({"t", "u"})),
    ]
    answer = given(one.assign(cluster(t=2, u=2), members))
    assert "u" not in answer["a"]
    assert "t" not in answer["b"]
    assert sum(len(numbers) for topics in answer.values() for numbers in topics.values()) == 4


def test_static_members_are_first_in_any_order_of_the_response():
    one = assignor("range")
    members = [
        member("a", one.metadata({"t"})),
        member("z", one.metadata({"t"}), "i"),
        member("b", one.metadata({"t"})),
    ]
    assert given(one.assign(cluster(t=3), members)) == {"z": {"t": [0]}, "a": {"t": [1]}, "b": {"t": [2]}}


def test_broken_user_data_affects_only_that_member_and_is_logged_with_its_id(caplog):
    one = assignor()
    broken = encode_subscription(ConsumerSubscription(3, ("t",), b"\xff"))
    answer = given(one.assign(cluster(t=2), [member("good", one.metadata({"t"})), member("bad", broken)]))
    assert {name: len(topics["t"]) for name, topics in answer.items()} == {"good": 1, "bad": 1}
    assert "member bad" in caplog.text


def test_racks_reach_the_strategy_if_any_member_names_one():
    plain, racked = assignor("range"), assignor("range", rack="r0")
    metadata = cluster(("r0", "r1"), t=2)
    racked.assign(metadata, [member("a", racked.metadata({"t"}))])
    assert racked.decision.group.topics["t"].racks == (("r0",), ("r1",))
    plain.assign(metadata, [member("a", plain.metadata({"t"}))])
    assert plain.decision.group.topics["t"].racks is None


def test_a_setting_out_of_bounds_is_refused_when_the_consumer_is_made():
    with pytest.raises(AssignmentError, match=r"assignment\.consumer\.weight"):
        assignor(config={"assignment.consumer.weight": "0"})


def test_a_truncated_subscription_owns_nothing_and_keeps_its_topics():
    with pytest.raises(Exception, match="buffer"):
        ConsumerProtocolSubscription.decode(SHORT_V1)  # the subject of this test
    kafkas = ConsumerProtocolSubscription.decode(complete("m", SHORT_V1))
    assert (kafkas.topics, kafkas.owned_partitions, kafkas.generation_id) == (["t"], [], -1)


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\x7f\xff\xff\xff", b"\xff" * 40])
def test_an_unreadable_subscription_is_empty_and_logged(data, caplog):
    assert ConsumerProtocolSubscription.decode(complete("the-member", data)).topics == []
    assert "the-member" in caplog.text


def test_kafka_pythons_leader_gets_complete_members():
    coordinator = Coordinator()
    read_tolerantly(coordinator)
    members = [SimpleNamespace(member_id="a", metadata=SHORT_V1), SimpleNamespace(member_id="b", metadata=b"")]
    assert coordinator._perform_assignment("a", "range", members) == {"a": ["t"], "b": []}


@pytest.mark.parametrize("data", [b"", b"\0\0\x7f\xff\xff\xff"])
def test_an_unreadable_assignment_is_empty_and_logged(data, caplog):
    coordinator = Coordinator()
    read_tolerantly(coordinator)
    run(coordinator._on_join_complete_async(1, "m", "range", data))
    assert coordinator.assigned == [[]]
    assert "assignment cannot be read" in caplog.text


def test_topics_with_invalid_names_are_omitted_and_logged(caplog):
    data = encode_subscription(ConsumerSubscription(3, ("t", "", ".", "..", "a b", "x" * 250, "\u00e4", "t.u-v_w")))
    assert decode_subscription(complete("the-member", data)).topics == ("t", "t.u-v_w")
    assert "the-member" in caplog.text


def run(coroutine):
    """Return the result of a coroutine that never suspends."""
    with pytest.raises(StopIteration) as end:
        coroutine.send(None)
    return end.value.value


class Coordinator:
    """The parts of kafka-python's coordinator that joins use. Every join is answered with a new generation."""

    def __init__(self):
        self.rejoin_needed = False
        self.attempts = 0
        self.assigned = []
        self.session_expired = False
        self.heartbeat = SimpleNamespace(
            received_heartbeat=lambda: None, session_timeout_expired=lambda: self.session_expired
        )
        self._generation = None
        self._subscription = SimpleNamespace(subscription=None)
        self._cluster = ClusterMetadata()

    def request_rejoin(self):
        self.rejoin_needed = True

    def group_protocols(self):
        return [("range", b"")]

    def _perform_assignment(self, leader_id, protocol, members):
        return {each.member_id: ConsumerProtocolSubscription.decode(each.metadata).topics for each in members}

    async def _do_join_and_sync_async(self):
        self.attempts += 1
        self._generation = object()
        return b"assignment %d" % self.attempts

    async def _on_join_prepare_async(self, generation, member_id, timeout_ms=None):
        self.prepared_within_ms = timeout_ms

    async def _on_join_complete_async(self, generation, member_id, protocol, data):
        self.assigned.append(ConsumerProtocolAssignment.decode(data).assigned_partitions)


def test_a_consumer_needs_to_rejoin_until_its_join_has_succeeded():
    coordinator = Coordinator()
    finish_joins(coordinator)
    assert coordinator.group_protocols() == [("range", b"")]
    assert coordinator.rejoin_needed


def test_a_join_response_between_two_polls_is_used_once_by_the_next_poll():
    coordinator = Coordinator()
    finish_joins(coordinator)
    join = coordinator._do_join_and_sync_async
    assert run(join()) == b"assignment 1"  # after the timeout of the poll that requested it
    assert run(join()) == b"assignment 1"
    run(coordinator._on_join_complete_async(1, "m", "range", b"\0\3\0\0\0\0\xff\xff\xff\xff"))
    assert run(join()) == b"assignment 2"


@pytest.mark.parametrize("change", [{"_generation": None}, {"session_expired": True}])
def test_a_join_response_for_a_removed_member_is_ignored(change):
    coordinator = Coordinator()
    finish_joins(coordinator)
    run(coordinator._do_join_and_sync_async())
    vars(coordinator).update(change)
    assert run(coordinator._do_join_and_sync_async()) == b"assignment 2"


@pytest.mark.parametrize(("polls", "within"), [(10, 1_000), (5_000, 5_000), (None, None)])
def test_the_commit_before_a_join_has_its_own_timeout(polls, within):
    coordinator = Coordinator()
    finish_joins(coordinator)
    run(coordinator._on_join_prepare_async(1, "m", timeout_ms=polls))
    assert coordinator.prepared_within_ms == within
