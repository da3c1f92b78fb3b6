from __future__ import annotations

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.gateway.groups import parse_rules


def test_the_first_rule_whose_pattern_matches_the_whole_name_counts():
    rules = parse_rules("orders-.*=weighted-sticky; orders-eu=range; .*=sticky")
    assert rules.of("orders-eu").strategy.name == "weighted-sticky"
    assert rules.of("my-orders-eu").strategy.name == "sticky"
    assert parse_rules("orders=range").of("orders-2") is None


@pytest.mark.parametrize("text", ["", "  ", ";"])
def test_without_rules_no_group_matches(text):
    assert list(parse_rules(text)) == []
    assert parse_rules(text).of("orders") is None


def test_settings_of_a_rule_are_passed_to_the_strategy():
    (rule,) = parse_rules("a=weighted-sticky,assignment.consumer.weight=300")
    assert rule.config == {"assignment.consumer.weight": "300"}
    assert str(rule) == "a=weighted-sticky,assignment.consumer.weight=300"


def test_values_may_contain_commas_semicolons_and_equals_signs():
    affinity = "orders:zone=eu;tier=gold,clicks:zone=us"
    text = f"a=rack-aware-sticky,assignment.consumer.labels=zone=eu,tier=gold,assignment.topic.affinity={affinity}"
    first, second = parse_rules(f"{text}; b=range")
    assert first.config == {"assignment.consumer.labels": "zone=eu,tier=gold", "assignment.topic.affinity": affinity}
    assert second.strategy.name == "range"


def test_rules_may_be_on_separate_lines():
    assert [rule.strategy.name for rule in parse_rules("a=range\n  b=sticky;\n\nc=failover\n")] == [
        "range",
        "sticky",
        "failover",
    ]


def test_a_pattern_matches_names_with_line_feeds_and_equals_signs():
    assert parse_rules(r"a.b=range").of("a\nb")
    assert parse_rules(r"a\x3db=range").of("a=b")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("orders", "must be PATTERN=STRATEGY"),
        ("=range", "must be PATTERN=STRATEGY"),
        ("orders=", "must be PATTERN=STRATEGY"),
        ("orders=rnge", "there is no strategy 'rnge'; did you mean range"),
        ("orders=best", "there is no strategy 'best'; the strategies are cooperative-copartitioned-sticky"),
        ("a(=range", "missing \\)"),
        ("a=range,assignment.consumer.weight=3", "is not a setting of range; its settings are: none"),
        ("a=weighted-sticky,assignment.consumer.weight=0", "must be a whole number from 1"),
        ("a=weighted-sticky,assignment.consumer.weight", "must be KEY=VALUE"),
        ("a=lag-aware", "run the assignor"),
        ("a=copartitioned-sticky,assignment.num.standbys=1", "do not receive standby copies"),
        ("a=range; " * 200, "at most 100 rules"),
        ("a=range; b=sticky; a=weighted-sticky", "rule 'a=weighted-sticky': never applies"),
        ("a" * 70_000, "at most 65536 characters"),
    ],
)
def test_a_wrong_rule_is_refused_with_the_reason(text, problem):
    with pytest.raises(InvalidInputError, match=problem) as refused:
        parse_rules(text)
    assert refused.value.field == "gateway_groups"
