"""Ready once, ready for ever: the readiness of the clients beside a process."""

from __future__ import annotations

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.http.latched_readiness import CLIENTS_MAX, LatchedReadiness


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def readiness(clock):
    return LatchedReadiness(clock, "nobody is there")


def test_without_clients_it_says_so(readiness):
    assert (readiness.reason(), readiness.latched) == ("nobody is there", False)
    readiness.waits("a", "a waits")
    readiness.gone("a")
    assert (readiness.reason(), readiness.latched) == ("nobody is there", False)


def test_it_is_ready_when_none_waits_any_more(readiness):
    readiness.waits("a", "a waits")
    readiness.waits("b", "b waits")
    readiness.works("a")
    assert readiness.reason() == "b waits"
    readiness.works("b")
    assert (readiness.reason(), readiness.latched) == ("", True)


def test_a_client_that_is_gone_keeps_nobody_waiting(readiness):
    readiness.waits("a", "a waits")
    readiness.waits("b", "b waits")
    readiness.works("a")
    readiness.gone("b")
    assert readiness.latched


def test_it_stays_ready_whatever_happens(readiness):
    readiness.works("a")
    readiness.waits("a", "a waits")
    readiness.waits("b", "b waits")
    readiness.gone("a")
    assert readiness.reason() == ""


def test_who_is_held_for_long_enough_is_ready(readiness, clock):
    readiness.waits("a", "a waits")
    with readiness.held("a", 2.0):
        clock.advance(1_999)
        assert readiness.reason() == "a waits"
        clock.advance(1)
        assert readiness.reason() == ""


def test_a_hold_counts_also_if_nobody_asked_meanwhile_and_a_short_one_does_not(readiness, clock):
    readiness.waits("a", "a waits")
    with readiness.held("a", 2.0):
        clock.advance(1_000)
    clock.advance(10_000)
    assert readiness.reason() == "a waits"
    with readiness.held("a", 2.0):
        clock.advance(2_000)
    assert readiness.latched


def test_who_is_unknown_is_not_held(readiness, clock):
    with readiness.held("a", 2.0):
        clock.advance(2_000)
    assert not readiness.latched


def test_the_number_of_clients_is_bounded(readiness):
    for number in range(CLIENTS_MAX + 1):
        readiness.waits(number, f"{number} waits")
    for number in range(CLIENTS_MAX):
        readiness.gone(number)
    assert readiness.reason() == "nobody is there"
