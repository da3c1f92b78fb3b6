"""Unmodified consumers behind a gateway before a real broker."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kafka.protocol.consumer.group import LeaveGroupRequest

from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome
from rebalance_agent.model.events import AssignEvent, Callback
from support.gateway.agreed import held
from support.gateway.running import Aiokafka, KafkaPython, Owners, Plain, gateway
from support.gateway.transport import frame_of
from support.members.foreign_members import JavaMember
from support.members.threads import Crew, Ledger
from support.observer.observing import create_topic, eventually

pytestmark = pytest.mark.integration

PROCESSING_S = 2.0
"""Seconds for which a slow member does not poll; a heartbeat interval and the start of a consumer may pass before it
must rejoin."""

NUMBER = itertools.count(1)
PROTOCOLS = [("range", "weighted-sticky"), ("cooperative-sticky", "cooperative-weighted-sticky")]


@pytest.fixture
def topic(kafka):
    name = f"behind-gateways-{next(NUMBER)}"
    create_topic(kafka.bootstrap_servers, name, 16)
    return name


@pytest.fixture
def started():
    owners = Owners()
    with contextlib.ExitStack() as stack:

        def start(*arguments, **properties):
            one = Plain(*arguments, owners=owners, **properties)
            stack.callback(one.close)
            return one

        yield start
    assert owners.twice == [], "a partition had two owners at a time"


def weighted(kafka, group, strategy, weight):
    return gateway(kafka.bootstrap_servers, f"{group}={strategy},assignment.consumer.weight={weight}")


def shares(*consumers):
    return [len(each.owned) for each in consumers]


def assignor(kafka, group):
    described = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    return described.describe_consumer_groups([group])[group].result().partition_assignor


@pytest.mark.parametrize(("own", "strategy"), PROTOCOLS)
def test_librdkafka_gets_its_share_by_weight(kafka, topic, started, own, strategy):
    group = f"group-of-{topic}"
    with weighted(kafka, group, strategy, 300) as heavy, weighted(kafka, group, strategy, 100) as light:
        properties = {"partition.assignment.strategy": own}
        one = started(heavy.bootstrap, group, topic, **properties)
        other = started(light.bootstrap, group, topic, **properties)
        eventually(lambda: shares(one, other) == [12, 4], waiting_for=(heavy.outcomes, light.outcomes))
        assert assignor(kafka, group) == strategy
        kept = other.owned
        third = started(light.bootstrap, group, topic, **properties)
        eventually(lambda: sorted(shares(one, other, third)) == [3, 3, 10], waiting_for=heavy.outcomes)
        assert len(kept & other.owned) == 3, "a member keeps its share"
        third.close()
        eventually(lambda: shares(one, other) == [12, 4])
    outcomes = heavy.outcomes + light.outcomes
    assert {FrameOutcome.ASSIGNED, FrameOutcome.CHOSEN, FrameOutcome.OFFERED} == set(outcomes)


def test_a_group_moves_to_the_gateway_and_back_member_by_member(kafka, topic, started):
    group = f"group-of-{topic}"
    with (
        weighted(kafka, group, "weighted-sticky", 300) as heavy,
        weighted(kafka, group, "weighted-sticky", 100) as light,
    ):
        plain = started(kafka.bootstrap_servers, group, topic)
        one = started(heavy.bootstrap, group, topic)
        eventually(lambda: shares(plain, one) == [8, 8], waiting_for=heavy.outcomes)
        other = started(light.bootstrap, group, topic)
        plain.close()
        eventually(lambda: shares(one, other) == [12, 4], waiting_for=(heavy.outcomes, light.outcomes))
        back = started(kafka.bootstrap_servers, group, topic)
        other.close()
        eventually(lambda: shares(one, back) == [8, 8], waiting_for=heavy.outcomes)
    assert FrameOutcome.NOT_CHOSEN in heavy.outcomes


def test_members_with_the_library_and_members_behind_a_gateway_share_a_group_with_any_leader(kafka, topic, started):
    group = f"group-of-{topic}"
    with weighted(kafka, group, "weighted-sticky", 300) as heavy, Crew(kafka, group) as crew:
        library = {"partition_assignment_strategy": ["weighted-sticky"], "metadata_max_age_ms": 1_000}
        with_library = crew.join(topic, assignor_config={"assignment.consumer.weight": 100}, **library)
        behind = started(heavy.bootstrap, group, topic)
        eventually(lambda: (len(with_library.owned), len(behind.owned)) == (4, 12), waiting_for=heavy.outcomes)
        assert assignor(kafka, group) == "weighted-sticky"
        crew.leave(with_library)
        eventually(lambda: len(behind.owned) == 16)
        with_library = crew.join(topic, assignor_config={"assignment.consumer.weight": 100}, **library)
        eventually(lambda: (len(with_library.owned), len(behind.owned)) == (4, 12), waiting_for=heavy.outcomes)
        assert crew.ledger.doubled == []
    assert set(heavy.outcomes) == {FrameOutcome.OFFERED, FrameOutcome.CHOSEN, FrameOutcome.ASSIGNED}


def test_a_restarted_gateway_causes_no_rebalance_and_restores_the_owners(kafka, topic, started):
    group = f"group-of-{topic}"
    with weighted(kafka, group, "weighted-sticky", 100) as first:
        port = int(first.bootstrap.rpartition(":")[2])
        rules = f"{group}=weighted-sticky"
        listen = {"listen": ("127.0.0.1", port), "port_base": 0}
        one = started(first.bootstrap, group, topic)
        eventually(lambda: shares(one) == [16])
    assigned = one.assigned
    with gateway(kafka.bootstrap_servers, rules, **listen) as second:
        eventually(lambda: len(second.groups.entries) == 1)
        assert one.assigned == assigned
        other = started(second.bootstrap, group, topic)
        eventually(lambda: shares(one, other) == [8, 8], waiting_for=second.outcomes)
        (revoked,) = second.reported(Callback.REVOKED)
        assert len(revoked.partitions[topic]) == 16, "its partitions were learned from the coordinator"


def test_a_gateway_reports_a_rebalance(kafka, topic, started):
    group = f"group-of-{topic}"
    with gateway(kafka.bootstrap_servers) as seen:
        slow = started(seen.bootstrap, group, topic, **{"client.id": "slow"})
        eventually(lambda: seen.reported(Callback.ASSIGNED, client_id="slow"))
        slow.held.set()
        quick = started(seen.bootstrap, group, topic, **{"client.id": "quick"})
        threading.Event().wait(PROCESSING_S)
        slow.held.clear()
        eventually(lambda: shares(slow, quick) == [8, 8])
        eventually(lambda: seen.reported(Callback.ASSIGNED, client_id="quick"))
        quick.close()
        eventually(lambda: seen.reported(Callback.LEFT, client_id="quick"))
    (revoked,) = seen.reported(Callback.REVOKED, client_id="slow")[:1]
    assert (revoked.generation, len(revoked.partitions[topic])) == (1, 16)
    assert revoked.stop_seconds > PROCESSING_S / 2
    joined = seen.reported(Callback.ASSIGNED, client_id="quick")[0]
    assert joined.join_seconds > PROCESSING_S / 2
    assert joined.timestamp_ms >= joined.started_ms >= revoked.timestamp_ms
    assert seen.outcomes == []


def test_a_leave_counts_if_its_sender_does_not_wait_for_the_response(kafka, topic, started):
    """Java's consumers close their connections at once."""
    group = f"group-of-{topic}"
    with gateway(kafka.bootstrap_servers) as seen:
        started(seen.bootstrap, group, topic, **{"client.id": "one"})
        eventually(lambda: seen.reported(Callback.ASSIGNED, client_id="one"))
        member_id = next(iter(seen.groups.entries)).membership.member_id
        who = LeaveGroupRequest.MemberIdentity(version=4, member_id=member_id)
        leave = LeaveGroupRequest(version=4, group_id=group, members=[who])
        leave.with_header(correlation_id=1, client_id="stranger")
        with socket.create_connection(seen.bootstrap.split(":")) as stranger:
            stranger.sendall(frame_of(bytes(leave.encode(header=True))))
        eventually(lambda: seen.reported(Callback.LEFT, client_id="one", member_id=member_id))


def test_members_of_groups_whose_coordinator_assigns_are_reported(kafka, topic, started):
    group = f"group-of-{topic}"
    consumer = {"group.protocol": "consumer", "heartbeat.interval.ms": None, "session.timeout.ms": None}
    with gateway(kafka.bootstrap_servers, ".*=weighted-sticky") as seen:
        one = started(seen.bootstrap, group, topic, **consumer, **{"client.id": "one"})
        eventually(lambda: shares(one) == [16])
        other = started(seen.bootstrap, group, topic, **consumer, **{"client.id": "other"})
        eventually(lambda: shares(one, other) == [8, 8])
        eventually(lambda: seen.reported(Callback.REVOKED, client_id="one"))
        eventually(lambda: seen.reported(Callback.ASSIGNED, client_id="other"))
        other.close()
        eventually(lambda: seen.reported(Callback.LEFT, client_id="other"))
    first = seen.reported(Callback.ASSIGNED, client_id="one")[0]
    assert (first.generation > 0, len(first.partitions[topic])) == (True, 16)
    (revoked,) = seen.reported(Callback.REVOKED, client_id="one")
    assert {(topic, number) for number in revoked.partitions[topic]}.isdisjoint(one.owned) or not other.owned
    assert len(revoked.partitions[topic]) == 8
    assert seen.outcomes == []


def given(kafka, group):
    """Client id -> number of its partitions, from the coordinator; None while the group is not stable."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    try:
        described = admin.describe_consumer_groups([group])[group].result()
    except KafkaException:
        return None  # a new cluster has no coordinators yet
    if described.state.name != "STABLE" or described.partition_assignor != "weighted-sticky":
        return None
    return {each.client_id: len(each.assignment.topic_partitions) for each in described.members}


def last_led(one):
    return max((each.timestamp_ms for each in one.events if isinstance(each, AssignEvent)), default=0)


def test_clients_of_every_kind_share_a_group_with_any_leader(kafka, topic):
    group = f"group-of-{topic}"
    weights = {"java": 100, "librdkafka": 400, "kafka-python": 200, "aiokafka": 100}
    with contextlib.ExitStack() as stack:
        gateways = {
            name: stack.enter_context(weighted(kafka, group, "weighted-sticky", weight))
            for name, weight in weights.items()
        }
        members = {
            "kafka-python": KafkaPython(gateways["kafka-python"].bootstrap, group, topic, "kafka-python"),
            "aiokafka": Aiokafka(gateways["aiokafka"].bootstrap, group, topic, "aiokafka"),
            "librdkafka": Plain(gateways["librdkafka"].bootstrap, group, topic, **{"client.id": "librdkafka"}),
        }
        through = SimpleNamespace(bootstrap_servers=gateways["java"].bootstrap, tool_command=kafka.tool_command)
        members["java"] = JavaMember(through, group, topic, ["RangeAssignor", "CooperativeStickyAssignor"], Ledger())
        for member in members.values():
            stack.callback(member.close)
        shares = {"java": 2, "librdkafka": 8, "kafka-python": 4, "aiokafka": 2}
        outcomes = {name: each.outcomes for name, each in gateways.items()}
        eventually(lambda: given(kafka, group) == shares, waiting_for=outcomes)
        now = held(kafka.bootstrap_servers, group, {topic: 16})
        assert now.assigned == now.expected, "it equals our assignor's result for these members"
        while len(members) > 1:
            members.pop(max(members, key=lambda name: last_led(gateways[name]))).close()
            eventually(lambda: (given(kafka, group) or {}).keys() == members.keys(), waiting_for=outcomes)
            assert sum(given(kafka, group).values()) == 16
    assert {each for of in outcomes.values() for each in of} == {
        FrameOutcome.OFFERED,
        FrameOutcome.CHOSEN,
        FrameOutcome.ASSIGNED,
    }
