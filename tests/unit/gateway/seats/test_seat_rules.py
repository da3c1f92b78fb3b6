from __future__ import annotations

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.gateway.rule_texts import RULES_MAX
from rebalance_agent.gateway.seat_rules import parse_seat_rules
from rebalance_agent.gateway.seats.rules.seat_settings import SeatMode


def test_the_first_rule_whose_pattern_matches_the_whole_name_counts():
    rules = parse_seat_rules("orders-dev=off; orders.*=on; .*=observe")
    assert rules.of("orders-eu").mode is SeatMode.ON
    assert rules.of("my-orders").mode is SeatMode.OBSERVE
    assert rules.of("orders-dev") is None, "a rule with off has no effect"
    assert parse_seat_rules("orders=on").of("orders-2") is None


@pytest.mark.parametrize("text", ["", "  ", ";"])
def test_without_rules_no_group_has_seats(text):
    assert list(parse_seat_rules(text)) == []
    assert parse_seat_rules(text).of("orders") is None


def test_a_rule_has_the_times_for_holds_and_kept_seats():
    text = "a=on,seats.hold.seconds=20,seats.keep.seconds=7.5"
    (rule,) = parse_seat_rules(text)
    assert (rule.settings.hold_seconds, rule.settings.vacant_seconds) == (20, 7.5)
    assert rule.forecast.worth_keeping
    assert str(rule) == text


def test_without_a_time_in_its_rule_a_seat_is_kept_only_for_waiting_newcomers():
    (rule,) = parse_seat_rules("a=on")
    assert not rule.forecast.worth_keeping
    assert (rule.settings.hold_seconds, str(rule)) == (60, "a=on")


def test_seats_are_shared_between_gateways_only_if_the_rule_enables_it():
    key = "seats.between.gateways"
    usual, between, not_between = parse_seat_rules(f"a=on; b=on,{key}=true; c=on,{key}=false")
    assert [rule.between_gateways for rule in (usual, between, not_between)] == [False, True, False]
    assert between.settings.roster_seconds < usual.settings.roster_seconds
    assert (str(between), str(not_between)) == (f"b=on,{key}=true", "c=on")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("orders", "must be PATTERN=MODE"),
        ("=on", "must be PATTERN=MODE"),
        ("orders=maybe", "MODE is one of off, observe, on"),
        ("a(=on", "missing \\)"),
        ("a=on,seats.wait=3", "'seats.wait' is not a setting of seats; the settings are: seats.hold.seconds"),
        ("a=on,seats.keep.seconds=soon", "'soon' is not a number of seconds"),
        ("a=on,seats.keep.seconds=-1", "must be 0 to 300 seconds"),
        ("a=on,seats.hold.seconds=nan", "must be 0 to 600 seconds"),
        ("a=on,seats.between.gateways=yes", "must be true, false or lease, not 'yes'"),
        ("a=on,seats.keep.stopped=true", "seats.keep.stopped needs seats.keep.seconds"),
        ("a=on,seats.keep.seconds=9,seats.keep.stopped=1", "must be true or false, not '1'"),
        ("a=on; b=on; a=off", "rule 'a=off': never applies"),
        ("; ".join(f"g{number}=on" for number in range(RULES_MAX + 1)), "at most 100 rules"),
        ("x" * 70_000, "at most 65536 characters"),
    ],
)
def test_a_wrong_rule_is_refused_with_the_reason(text, problem):
    with pytest.raises(InvalidInputError, match=problem) as refused:
        parse_seat_rules(text)
    assert refused.value.field == "gateway_seats"


def test_a_rule_that_keeps_seats_over_stops_is_written_as_it_was_read():
    text = "a=on,seats.keep.seconds=9,seats.keep.stopped=true,seats.between.gateways=lease"
    rule = parse_seat_rules(text).of("a")
    assert (rule.keep_stopped, str(rule)) == (True, text)
