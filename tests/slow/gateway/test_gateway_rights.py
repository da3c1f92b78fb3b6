"""A gateway sends its requests with its clients' rights, and the usual rights of a consumer are enough."""

from __future__ import annotations

import contextlib
import uuid

import pytest

from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome
from rebalance_agent.gateway.seats.locks.lock_frames import helper_group
from rebalance_agent.model.events import Callback
from rebalance_agent.testing import EmbeddedKafka, Listener
from support.gateway.gateway_members import described, joining, read_everything, shares
from support.gateway.running import gateway
from support.members.member_lines import LibrdkafkaMember
from support.members.threads import Load
from support.observer.observing import create_topic, eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PASSWORD = "not-a-secret"
LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "app",
    "sasl.password": PASSWORD,
}


@pytest.fixture(scope="module")
def guarded():
    users = Listener.sasl("PLAIN", {"app": PASSWORD})
    with EmbeddedKafka(listeners={"USERS": users}, authorizer=True) as kafka:
        yield kafka


def allow(kafka, group, topic):
    """Grant the rights that Kafka's own tool grants consumers: Read and Describe on the topic, Read on the group."""
    grant(kafka, "--consumer", "--topic", topic, "--group", group)


def grant(kafka, *rights):
    words = ["--add", "--allow-principal", "User:app", *rights]
    done = kafka.run_tool("org.apache.kafka.tools.AclCommand", "--bootstrap-server", kafka.bootstrap_servers, *words)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_consumers_usual_rights_are_enough_for_a_strategy_and_after_a_restart(guarded):
    topic = f"guarded-{uuid.uuid4().hex[:8]}"
    group, brokers = f"group-of-{topic}", guarded.address("USERS")
    create_topic(guarded.bootstrap_servers, topic, 16)
    allow(guarded, group, topic)
    rule = f"{group}=weighted-sticky,assignment.consumer.weight="
    with (
        gateway(brokers, f"{rule}100") as light,
        Load(guarded, topic, 16) as load,
        contextlib.ExitStack() as stack,
        joining() as join,
    ):
        first = stack.enter_context(gateway(brokers, f"{rule}300"))
        listen = ("127.0.0.1", int(first.bootstrap.rpartition(":")[2]))
        one = join(LibrdkafkaMember, first.bootstrap, group, topic, "one", **LOGIN)
        other = join(LibrdkafkaMember, light.bootstrap, group, topic, "other", **LOGIN)
        eventually(lambda: shares(one, other) == [12, 4], waiting_for=(first.outcomes, light.outcomes))
        assert described(guarded, group).partition_assignor == "weighted-sticky"
        had = one.owned
        stack.close()
        with gateway(brokers, f"{rule}300", listen=listen) as second:
            eventually(lambda: len(second.groups.entries) == 1)
            third = join(LibrdkafkaMember, light.bootstrap, group, topic, "third", **LOGIN)
            eventually(lambda: sorted(shares(one, other, third)) == [3, 3, 10], waiting_for=second.outcomes)
            (revoked,) = second.reported(Callback.REVOKED, client_id="one")
            assert set(revoked.partitions[topic]) == had, "what it had was learnt from the coordinator"
            assert len(one.owned & had) == 10
            read_everything(load, one, other, third)
            for each in (third, other, one):
                each.close()
    assert set(first.outcomes + light.outcomes + second.outcomes) == {
        FrameOutcome.OFFERED,
        FrameOutcome.CHOSEN,
        FrameOutcome.ASSIGNED,
    }


@pytest.mark.parametrize("allowed", [True, False])
def test_read_on_the_helper_group_suffices_to_hand_a_seat_to_another_gateway(guarded, allowed):
    topic = f"shared-{uuid.uuid4().hex[:8]}"
    group, brokers = f"group-of-{topic}", guarded.address("USERS")
    create_topic(guarded.bootstrap_servers, topic, 4)
    allow(guarded, group, topic)
    if allowed:
        grant(guarded, "--operation", "Read", "--group", helper_group(group))
    seats = f"{group}=on,seats.hold.seconds=1,seats.keep.seconds=5,seats.between.gateways=true"
    with gateway(brokers, seats=seats) as first, gateway(brokers, seats=seats) as second, joining() as join:
        one = join(LibrdkafkaMember, first.bootstrap, group, topic, "one", **LOGIN)
        eventually(lambda: shares(one) == [4], waiting_for=first.acts.counted)
        one.close()
        eventually(lambda: first.acts.done("keep") == 1, waiting_for=first.acts.counted)
        other = join(LibrdkafkaMember, second.bootstrap, group, topic, "other", **LOGIN)
        eventually(lambda: shares(other) == [4], waiting_for=second.acts.counted)
        assert second.acts.done("handover") == (1 if allowed else 0)
        assert first.acts.counted["claim", "failed"] == (0 if allowed else 1)
        other.close()
