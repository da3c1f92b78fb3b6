from __future__ import annotations

from itertools import pairwise

import pytest

from rebalance_agent.demo.demo_processes import choose_ports
from rebalance_agent.demo.errors import DemoError
from rebalance_agent.demo.processes.gateways import GatewayPorts, behind_gateways, flags
from rebalance_agent.demo.scenario import GROUPS
from rebalance_agent.demo.scenario_types import ClientLibrary, DemoGroup, DemoMember
from rebalance_agent.gateway.groups import parse_rules

WEIGHT = "assignment.consumer.weight"
PLAIN = DemoGroup("plain", "", ClientLibrary.CONFLUENT, "range", "t", (DemoMember("a"),))
BEHIND = DemoGroup(
    "g.1",
    "",
    ClientLibrary.CONFLUENT,
    "weighted-sticky",
    "t",
    (DemoMember("b", {WEIGHT: "3"}), DemoMember("c")),
    configured="range",
)


def test_each_member_of_a_group_with_gateways_has_its_own_gateway_with_ports_of_its_own():
    assert behind_gateways((PLAIN, BEHIND)) == [(BEHIND, member) for member in BEHIND.members]
    ports = choose_ports((PLAIN, BEHIND))
    assert ports.gateways.keys() == {"b", "c"}
    used = [ports.observer, ports.sidecar, ports.sidecar_events]
    used += [port for each in ports.gateways.values() for port in (each.metrics, each.events, each.clients)]
    assert len(set(used)) == 9
    assert list(ports.addresses) == ["observer", "sidecar", "gateway-b", "gateway-c"]


def test_without_free_ports_the_demo_ends_with_an_error(monkeypatch):
    def none(count):
        raise OSError(f"fewer than {count} ports are free")

    monkeypatch.setattr("rebalance_agent.demo.demo_processes.free_ports", none)
    with pytest.raises(DemoError, match="fewer than 6 ports are free"):
        choose_ports(
            (DemoGroup("g", "", ClientLibrary.CONFLUENT, "sticky", "t", (DemoMember("a"),), configured="range"),)
        )


@pytest.mark.parametrize(("group", "member"), [(BEHIND, BEHIND.members[0]), *behind_gateways(GROUPS)])
def test_a_gateways_rule_is_only_for_its_group_with_its_members_settings(group, member):
    reported = dict(pairwise(flags(group, member, GatewayPorts(1, 2, 3))))
    rules = parse_rules(reported["--gateway-groups"])
    rule = rules.of(group.name)
    assert (rule.strategy.name, rule.config) == (group.assignor, member.config)
    assert rules.of(group.name.replace(".", "x") + "y") is None
    assert reported["--gateway-listen"] == "127.0.0.1:3"
