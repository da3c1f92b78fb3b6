"""A group that rebalances after each handover, before a real broker."""

from __future__ import annotations

import uuid

import pytest

from rebalance_agent.gateway.seats.outcomes import handover_checks
from rebalance_agent.gateway.seats.outcomes.act_trust import WRONG_MAX
from support.gateway.gateway_members import joining
from support.gateway.running import gateway
from support.gateway.seat_groups import PARTITIONS, Group
from support.members.member_lines import LibrdkafkaMember
from support.observer.observing import create_topic, eventually

pytestmark = pytest.mark.slow


def test_a_gateway_stops_acting_for_a_group_that_rebalances_after_each_handover(kafka, monkeypatch):
    monkeypatch.setattr(handover_checks, "SETTLED_SECONDS", 600.0)  # the machine may be slow
    monkeypatch.setattr(handover_checks, "HEARTBEAT_SECONDS", 600.0)
    topic = f"wrong-{uuid.uuid4().hex[:8]}"
    create_topic(kafka.bootstrap_servers, topic, PARTITIONS)
    rule = ".*=on,seats.hold.seconds=1,seats.keep.seconds=60"
    with joining() as joined, gateway(kafka.bootstrap_servers, seats=rule) as through:
        group, acts = Group(joined, through, topic, LibrdkafkaMember, "range"), through.acts
        group.members.append(group.start())
        eventually(group.whole, waiting_for=group.state())
        for number in range(1, WRONG_MAX + 1):
            assert acts.wrong == 0
            group.members.pop().close()
            group.members.append(group.start())
            eventually(lambda n=number: acts.done("handover") == n, waiting_for=group.state())
            outside = joined(LibrdkafkaMember, kafka.bootstrap_servers, group.name, topic, f"outside-{number}", "range")
            eventually(lambda n=number: acts.counted["handover", "wrong"] == n, waiting_for=group.state())
            outside.close()
            eventually(group.whole, waiting_for=group.state())
        eventually(lambda: acts.wrong == 1, waiting_for=group.state())
        before = group.generation()
        group.members.pop().close()
        group.members.append(group.start())
        eventually(group.whole, waiting_for=group.state())
        assert group.generation() > before, group.state()
        assert acts.done("handover") == WRONG_MAX
        group.members[0].close()
