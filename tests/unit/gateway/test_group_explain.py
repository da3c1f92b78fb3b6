from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.gateway.explain_rules import explain, hidden_assignor, rewrite_obstacle
from rebalance_agent.gateway.groups import parse_rules
from rebalance_agent.gateway.seat_rules import parse_seat_rules
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.tracking.observations import DescribedGroup
from rebalance_agent.tracking.views import MemberLoad

RULES = parse_rules("orders=weighted-sticky,assignment.consumer.weight=300; slow-.*=cooperative-sticky")


def group(name="orders", assignor="range", members=1, kind=GroupType.CLASSIC, state=GroupState.STABLE):
    each = tuple(MemberLoad(f"m-{n}", None, f"client-{n}", "/10.0.0.7", {"t": (0, 1)}) for n in range(members))
    return DescribedGroup(name, state, kind, assignor, each)


def flat(text):
    return " ".join(text.split())


def test_a_group_with_a_rule_gets_a_line_with_its_changes():
    lines = explain(RULES, "orders", group())
    assert all(len(line) <= 100 for line in lines.split("\n"))
    text = flat(lines)
    assert "Rule orders=weighted-sticky,assignment.consumer.weight=300 Strategy" in text
    assert "assignment.consumer.weight: 300" in text
    assert "JoinGroup The gateway adds weighted-sticky before the client's own assignors" in text
    assert "client-0 on /10.0.0.7: 2 partitions" in text
    assert "from the first rebalance in which all members are behind gateways with this rule" in text


def test_a_group_without_a_rule_gets_a_line_with_all_rules():
    text = flat(explain(RULES, "order", None))
    assert "No rule of gateway_groups matches the group's name" in text
    assert "There are rules for orders, slow-.*;" in text
    assert "The group does not exist." in text
    assert "There are rules for" not in explain(parse_rules(""), "order", None)


@pytest.mark.parametrize(
    ("now", "verdict"),
    [
        (group(), "the group uses weighted-sticky from the first rebalance in which all members are behind gateways"),
        (group(assignor="weighted-sticky"), "the group uses the strategy"),
        (group(assignor="lag-aware"), "it is unknown whether the rule applies: a gateway may have added lag-aware"),
        (group(members=0, assignor=None, state=GroupState.EMPTY), "the group has no members"),
        (
            group(assignor=None, state=GroupState.PREPARING_REBALANCE),
            "the group is PreparingRebalance: its assignor is known when it is Stable",
        ),
    ],
)
def test_the_explanation_begins_with_the_result_of_the_rule(now, verdict):
    text = flat(explain(RULES, "orders", now))
    assert text.startswith(f"Group orders Result {verdict}")
    assert "JoinGroup The gateway adds" in text


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (
            group(assignor="cooperative-sticky"),
            " if its clients offer only cooperative-sticky, because weighted-sticky is eager, but a client with",
        ),
        (group(assignor="stream"), ", because its members offer stream, which is not one of Kafka's own"),
        (group(assignor="sticky-x"), ", because its members offer sticky-x, which is not one of Kafka's own"),
        (group(kind=GroupType.CONSUMER, assignor="uniform"), ", because in a consumer group the coordinator assigns"),
    ],
)
def test_the_explanation_of_a_rule_without_effect_has_the_reason_first_and_no_effect(now, reason):
    text = flat(explain(RULES, "orders", now))
    assert text.startswith(f"Group orders Result nothing is rewritten{reason}")
    assert "JoinGroup" not in text
    assert "SyncGroup" not in text
    assert "Strategy weighted-sticky: " in text
    with_seats = flat(explain(RULES, "orders", now, seats=parse_seat_rules("orders=on")))
    assert with_seats.startswith(f"Group orders Result the group keeps its own assignor{reason}")


def test_a_cooperative_strategy_never_matches_a_group_that_uses_an_eager_assignor():
    text = flat(explain(RULES, "slow-1", group("slow-1")))
    assert text.startswith("Group slow-1 Result nothing is rewritten, because cooperative-sticky is cooperative, but a")


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (group(), ""),
        (group(assignor="weighted-sticky"), ""),
        (group(members=0, assignor=None, state=GroupState.EMPTY), ""),
        (group(assignor="cooperative-sticky"), "weighted-sticky is eager"),
        (group(assignor="stream"), "not one of Kafka's own"),
        (group(kind=GroupType.SHARE, assignor=None), "in a share group the coordinator assigns"),
    ],
)
def test_the_obstacles_of_a_rule_can_be_queried(now, reason):
    found = rewrite_obstacle(RULES.of("orders"), now)
    assert bool(found) == bool(reason)
    assert reason in found


def test_the_explanation_has_the_reason_for_an_unknown_group():
    assert "is not known: no broker answers" in flat(explain(RULES, "orders", None, "no broker answers"))


def test_control_characters_in_names_are_not_printed():
    text = explain(RULES, "or\x1b[2Jders", group("x", assignor="\x1b]0;", members=30))
    assert "\x1b" not in text
    assert "and 10 more" in text


def test_the_right_that_seats_between_gateways_need_is_explained():
    key = "seats.between.gateways"
    rules = parse_seat_rules(f"orders=on,{key}=true; slow=observe,{key}=true; alone=on")
    needs = "needs Read on the group rebalance-agent.seats.orders.bmydggyl"
    assert needs in flat(explain(RULES, "orders", group(), seats=rules))
    assert "needs Read" not in explain(RULES, "slow", None, seats=rules) + explain(RULES, "alone", None, seats=rules)


def test_a_rule_for_seats_is_explained():
    rules = parse_seat_rules("orders=on,seats.keep.seconds=5; slow=observe; none=off")
    text = flat(explain(RULES, "orders", group(), seats=rules))
    assert "Seats orders=on,seats.keep.seconds=5 The gateway holds a consumer that joins (a newcomer)" in text
    assert (
        "A newcomer waits for at most 60 s. "
        "If a consumer leaves and no newcomer waits, the gateway keeps its seat for 5 s."
    ) in text
    assert "Every frame is forwarded unchanged." in flat(explain(RULES, "slow", None, seats=rules))
    assert "Seats" not in explain(RULES, "none", None, seats=rules) + explain(RULES, "other", None)
    for kind in (GroupType.SHARE, GroupType.STREAMS):
        text = flat(explain(RULES, "orders", group(kind=kind), seats=rules))
        assert f"The gateway does nothing in a {kind} group." in text


def test_a_rule_for_seats_is_explained_for_a_group_whose_coordinator_assigns():
    rules = parse_seat_rules("orders=on,seats.keep.seconds=100; fast=on,seats.hold.seconds=5,seats.keep.seconds=4")
    text = flat(explain(RULES, "orders", group(kind=GroupType.CONSUMER), seats=rules))
    assert (
        "A newcomer waits for at most 24 s. "
        "If a consumer leaves and no newcomer waits, the gateway keeps its seat for 42 s."
    ) in text
    text = flat(explain(RULES, "fast", group(kind=GroupType.CONSUMER), seats=rules))
    assert (
        "A newcomer waits for at most 5 s. "
        "If a consumer leaves and no newcomer waits, the gateway keeps its seat for 4 s."
    ) in text


def test_in_mode_observe_nobody_waits_and_the_text_says_so():
    text = flat(explain(RULES, "slow", None, seats=parse_seat_rules("slow=observe,seats.keep.seconds=5")))
    assert "With mode 'on', a newcomer would wait for at most 60 s." in text
    assert "the gateway would keep its seat for 5 s." in text
    assert "waits for at most" not in text


def test_a_group_without_a_rule_for_seats_gets_the_patterns_of_the_rules():
    text = flat(explain(RULES, "shipping", None, seats=parse_seat_rules("orders=on")))
    assert "Seats No rule of gateway_seats matches the group's name. There are rules for orders;" in text
    assert "Seats" not in explain(RULES, "shipping", None, seats=parse_seat_rules(""))


def test_a_group_that_does_not_exist_gets_a_similar_name():
    text = flat(explain(RULES, "oders", None, similar="; did you mean orders?"))
    assert "The group does not exist; did you mean orders?" in text


def test_one_member_with_one_partition_is_not_plural():
    one = replace(group(), members=(MemberLoad("m", None, "c", "/h", {"t": (0,)}),))
    text = flat(explain(RULES, "orders", one))
    assert "1 member, assignor range" in text
    assert text.endswith("c on /h: 1 partition")


def test_an_assignor_of_a_gateway_hides_those_of_the_clients():
    assert hidden_assignor(RULES.of("orders"), group(assignor="lag-aware"))
    for shown in ("range", "stream", "weighted-sticky", None):
        assert hidden_assignor(RULES.of("orders"), group(assignor=shown)) == ""
    assert hidden_assignor(RULES.of("orders"), group(assignor="lag-aware", kind=GroupType.STREAMS)) == ""
