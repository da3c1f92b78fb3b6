"""Every strategy that a gateway supports, with unmodified consumers: the result is that of our assignor."""

from __future__ import annotations

import contextlib
import uuid

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer
from kafka.coordinator.assignors.abstract import RebalanceProtocol as RebalanceProtocolOfClient
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaConfigurationError

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.model.group import RebalanceProtocol
from support.gateway.agreed import held
from support.gateway.running import KafkaPython, Plain, gateway
from support.observer.observing import create_topic, eventually

pytestmark = pytest.mark.integration

OWN = {RebalanceProtocol.EAGER: "range", RebalanceProtocol.COOPERATIVE: "cooperative-sticky"}
PARTITIONS = 6
SETTINGS = {
    "weighted-sticky": "assignment.consumer.weight={}",
    "failover": "assignment.consumer.priority={}",
    "rack-aware-sticky": "assignment.consumer.labels=rack=r{}",
}
"""Settings of the two gateways, which differ between members."""


def rules(names, suffix, number):
    """One group per strategy, with the settings of the gateway ``number``."""
    said = {name: SETTINGS.get(name.removeprefix("cooperative-"), "").format(number) for name in names}
    return "; ".join(f"{name}-{suffix}={name}{text and ','}{text}" for name, text in said.items())


@pytest.mark.parametrize("protocol", OWN)
def test_every_strategy_assigns_like_our_own_assignor_for_the_same_members(kafka, protocol):
    names = [name for name, each in STRATEGIES.items() if each.protocol is protocol and not each.by_load]
    suffix = uuid.uuid4().hex[:8]
    topics = {f"one-{suffix}": PARTITIONS, f"two-{suffix}": PARTITIONS}
    for topic, partitions in topics.items():
        create_topic(kafka.bootstrap_servers, topic, partitions)
    with (
        gateway(kafka.bootstrap_servers, rules(names, suffix, 1)) as first,
        gateway(kafka.bootstrap_servers, rules(names, suffix, 3)) as second,
        contextlib.ExitStack() as stack,
    ):
        members, seen = {name: {} for name in names}, {}

        def join(name, through, client):
            one = Plain(
                through.bootstrap,
                f"{name}-{suffix}",
                *topics,
                **{"client.id": client, "client.rack": client, "partition.assignment.strategy": OWN[protocol]},
            )
            stack.callback(one.close)
            members[name][client] = one

        def agreed(name):
            now = seen[name] = held(kafka.bootstrap_servers, f"{name}-{suffix}", topics)
            return (
                now is not None
                and now.assignor == name
                and now.assigned.keys() == members[name].keys()
                and now.assigned == now.expected == {client: one.owned for client, one in members[name].items()}
                and frozenset().union(*now.assigned.values()) == {(t, n) for t in topics for n in range(PARTITIONS)}
            )

        def all_agree():
            return [name for name in names if not agreed(name)] == []

        for name in names:
            join(name, first, "a")
            join(name, second, "b")
        eventually(all_agree, waiting_for=seen)
        for name in names:
            join(name, second, "c")
        eventually(all_agree, waiting_for=seen)
        for those in members.values():
            # The member with the most partitions: librdkafka's cooperative consumers without partitions send no
            # LeaveGroup.
            those.pop(max(those, key=lambda client: len(those[client].owned))).close()
        eventually(all_agree, waiting_for=seen)


class BothProtocols(CooperativeStickyAssignor):
    """As in Java, a consumer that also lists an eager assignor is eager. kafka-python itself refuses such a list."""

    def supported_protocols(self):
        return [RebalanceProtocolOfClient.COOPERATIVE, RebalanceProtocolOfClient.EAGER]


def test_two_rolling_restarts_lead_from_an_eager_to_a_cooperative_strategy(kafka):
    """The steps that `change_steps` describes: no member is refused, and the strategies follow."""
    group, admin = f"rolling-{uuid.uuid4().hex[:8]}", AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    create_topic(kafka.bootstrap_servers, group, PARTITIONS)
    members, seen = {}, {}

    def stable(*assignors):
        now = admin.describe_consumer_groups([group])[group].result()
        shares = {each.client_id: len(each.assignment.topic_partitions) for each in now.members}
        seen["now"] = now.state.name, now.partition_assignor, shares
        even = shares == dict.fromkeys(members, PARTITIONS // len(members))
        return now.state.name == "STABLE" and now.partition_assignor in assignors and even

    with (
        gateway(kafka.bootstrap_servers, f"{group}=weighted-sticky") as eager,
        gateway(kafka.bootstrap_servers, f"{group}=cooperative-weighted-sticky") as cooperative,
        contextlib.ExitStack() as stack,
    ):

        def replace(client, name, through, *own):
            if old := members.pop(client, None):
                old.close()
            settings = {"partition_assignment_strategy": list(own)}
            members[name] = KafkaPython(through.bootstrap, group, group, name, **settings)
            stack.callback(members[name].close)

        range_, sticky = RangePartitionAssignor, BothProtocols
        for client in ("a", "b"):
            replace(None, client, eager, range_)
        eventually(lambda: stable("weighted-sticky"), waiting_for=seen)
        for client in ("a", "b"):
            replace(client, f"{client}1", eager, range_, sticky)
            eventually(lambda: stable("weighted-sticky"), waiting_for=seen)
        replace("a1", "a2", cooperative, sticky)
        eventually(lambda: stable("cooperative-sticky"), waiting_for=seen)
        replace("b1", "b2", cooperative, sticky)
        eventually(lambda: stable("cooperative-weighted-sticky"), waiting_for=seen)


def test_librdkafka_and_kafka_python_refuse_the_list_that_rolling_restarts_need(kafka):
    both = [RangePartitionAssignor, CooperativeStickyAssignor]
    with pytest.raises(KafkaConfigurationError, match="COOPERATIVE"):
        KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, group_id="both", partition_assignment_strategy=both)
    with pytest.raises(KafkaException, match="cooperative"):
        Plain(kafka.bootstrap_servers, "both", "t", **{"partition.assignment.strategy": "range,cooperative-sticky"})
