"""Every strategy that a gateway supports, in one group with clients of every kind and brokers in three racks."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.testing import EmbeddedKafka
from support.gateway.agreed import held
from support.gateway.gateway_members import (
    LONG_S,
    AiokafkaMember,
    KafkaPythonMember,
    described,
    joining,
    read_everything,
)
from support.gateway.running import gateway
from support.members.go_programs import go_program
from support.members.member_lines import GO_MEMBER, LibrdkafkaMember, go_member, java_member
from support.members.threads import Load
from support.observer.observing import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]

RACKS = ("a", "b", "c")
PLACED = (1, 2, 2, 3, 1, 3, 3, 1, 1, 2, 3, 2)
"""Partition -> its only broker: four in each rack, in an order that no assignor produces."""

NEAR = {rack: frozenset(each for each, node in enumerate(PLACED) if RACKS[node - 1] == rack) for rack in RACKS}
OWN = {RebalanceProtocol.EAGER: "range", RebalanceProtocol.COOPERATIVE: "cooperative-sticky"}
JAVAS = {"range": "RangeAssignor", "cooperative-sticky": "CooperativeStickyAssignor"}
FIT = [name for name, each in STRATEGIES.items() if not each.by_load]


@pytest.fixture(scope="module")
def racked():
    with EmbeddedKafka(brokers=len(RACKS), racks=RACKS) as kafka:
        yield kafka


@pytest.fixture
def topic(racked):
    name = f"placed-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": racked.bootstrap_servers, "log_level": 0})
    placed = NewTopic(name, len(PLACED), replica_assignment=[[node] for node in PLACED])
    admin.create_topics([placed])[name].result()
    return name


def joined_by_all(join, bootstrap, group, topic, own):
    """Client id -> a member of each kind that gives partitions up as ``own`` does; some send their racks."""

    def one(kind, name, assignor=own, **properties):
        return join(kind, bootstrap, group, topic, name, assignor, **properties)

    members = {
        "java": one(java_member, "java", JAVAS[own], **{"client.rack": "a"}),
        "librdkafka": one(LibrdkafkaMember, "librdkafka", **{"client.rack": "b"}),
        "kafka-python": one(KafkaPythonMember, "kafka-python"),
    }
    if own == "range":
        members["aiokafka"] = one(AiokafkaMember, "aiokafka")  # it has no cooperative assignor
    if go_program(GO_MEMBER) is not None:  # `test_gateway_clients` reports it if it is required but missing
        members["go"] = one(go_member, "go")
    return members


@pytest.mark.parametrize("name", FIT)
def test_every_strategy_assigns_to_clients_of_every_kind_like_our_own_assignor(racked, topic, name):
    group, own, seen = f"group-of-{topic}", OWN[STRATEGIES[name].protocol], {}

    def agreed(members):
        seen["group"] = group_now = described(racked, group)
        if group_now is None or group_now.coordinator is None:
            return False
        coordinator = f"{group_now.coordinator.host}:{group_now.coordinator.port}"
        seen["held"] = now = held(coordinator, group, [topic])
        seen["owned"] = owned = {client: {(topic, each) for each in one.owned} for client, one in members.items()}
        # Between two cooperative rebalances, a partition that moves has no owner.
        whole = {number for each in owned.values() for _, number in each} == set(range(len(PLACED)))
        return whole and now and now.assignor == name and now.assigned == now.expected == owned

    with (
        gateway(racked.bootstrap_servers, f"{group}={name}", rack="c") as through,
        joining(alone=name != "redundant") as join,
        Load(racked, topic, len(PLACED)) as load,
    ):
        everybody = joined_by_all(join, through.bootstrap, group, topic, own)
        members = dict(everybody)
        eventually(lambda: agreed(members), LONG_S, waiting_for=(seen, through.outcomes))
        # The member with the most partitions: librdkafka's cooperative consumers without partitions send no LeaveGroup.
        members.pop(max(members, key=lambda client: len(members[client].owned))).close()
        eventually(lambda: agreed(members), LONG_S, waiting_for=(seen, through.outcomes))
        read_everything(load, *everybody.values())
    assert set(through.outcomes) == {FrameOutcome.OFFERED, FrameOutcome.CHOSEN, FrameOutcome.ASSIGNED}


@pytest.mark.parametrize("name", ["rack-aware-sticky", "cooperative-rack-aware-sticky"])
def test_each_member_gets_partitions_in_its_rack(racked, topic, name):
    group, own, seen = f"group-of-{topic}", OWN[STRATEGIES[name].protocol], {}
    with (
        gateway(racked.bootstrap_servers, f"{group}={name}") as through,
        gateway(racked.bootstrap_servers, f"{group}={name}", rack="c") as of_a_pod_in_c,
        joining() as join,
    ):
        members = {
            "a": join(java_member, through.bootstrap, group, topic, "java", JAVAS[own], **{"client.rack": "a"}),
            "b": join(LibrdkafkaMember, through.bootstrap, group, topic, "librdkafka", own, **{"client.rack": "b"}),
            "c": join(KafkaPythonMember, of_a_pod_in_c.bootstrap, group, topic, "kafka-python", own),
        }

        def owned():
            seen.update({rack: one.owned for rack, one in members.items()})
            return seen

        eventually(lambda: owned() == NEAR, LONG_S, waiting_for=(seen, through.outcomes))
        members["c"].close()
        eventually(
            lambda: [len(owned()[rack]) for rack in "ab"] == [6, 6], LONG_S, waiting_for=(seen, through.outcomes)
        )
        assert all(members[rack].owned > NEAR[rack] for rack in "ab"), "each still owns the nearest partitions"
