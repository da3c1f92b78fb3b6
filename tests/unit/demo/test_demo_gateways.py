from __future__ import annotations

from itertools import pairwise

import pytest

from rebalance_agent.demo.demo_processes import choose_ports
from rebalance_agent.demo.errors import DemoError
from rebalance_agent.demo.processes.gateways import DemoGateway, GatewayPorts, gateways_of
from rebalance_agent.demo.scenario import GROUPS
from rebalance_agent.demo.scenario_types import ClientLibrary, DemoGroup, DemoMember
from rebalance_agent.gateway.groups import parse_rules
from rebalance_agent.gateway.seat_rules import parse_seat_rules

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
SHARING = [
    DemoGroup(name, "", ClientLibrary.CONFLUENT, "range", "t", (DemoMember(name),), gateway="gateway-x", seats=seats)
    for name, seats in (("s.1", "on"), ("s2", ""))
]


def test_each_member_of_a_group_with_gateways_has_its_own_gateway_with_ports_of_its_own():
    own = [DemoGateway(f"gateway-{member.name}", (BEHIND,), member) for member in BEHIND.members]
    assert gateways_of((PLAIN, BEHIND)) == own
    assert [gateway.serves("g.1", "b") for gateway in own] == [True, False]
    ports = choose_ports((PLAIN, BEHIND))
    assert ports.gateways.keys() == {"gateway-b", "gateway-c"}
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


def test_groups_may_share_a_gateway_which_has_rules_for_seats_of_some():
    (shared,) = gateways_of((PLAIN, *SHARING))
    assert [shared.serves(*names) for names in (("s.1", "s.1"), ("s2", "s2"), ("plain", "a"))] == [True, True, False]
    reported = dict(pairwise(shared.flags(GatewayPorts(1, 2, 3))))
    assert "--gateway-groups" not in reported
    rules = parse_seat_rules(reported["--gateway-seats"])
    assert rules.of("s.1").mode == "on"
    assert [rules.of(name) for name in ("s2", "sx1")] == [None, None]


@pytest.mark.parametrize("gateway", [each for each in gateways_of((BEHIND, *GROUPS)) if each.member])
def test_a_gateways_rule_is_only_for_its_group_with_its_members_settings(gateway):
    (group,) = gateway.groups
    reported = dict(pairwise(gateway.flags(GatewayPorts(1, 2, 3))))
    rules = parse_rules(reported["--gateway-groups"])
    rule = rules.of(group.name)
    assert (rule.strategy.name, rule.config) == (group.assignor, gateway.member.config)
    assert rules.of(group.name.replace(".", "x") + "y") is None
    assert reported["--gateway-listen"] == "127.0.0.1:3"
