from __future__ import annotations

import threading

import pytest

from rebalance_agent.clock import SystemClock
from rebalance_agent.demo.processes.member_commands import Orders


def seconds_taken(orders):
    clock = SystemClock()
    began = clock.monotonic()
    orders.finish_work_in_hand()
    return clock.monotonic() - began


def test_a_member_is_slow_once_for_as_long_as_it_was_reported():
    orders = Orders()
    orders.take("slow 0.3")
    assert seconds_taken(orders) >= 0.3
    assert seconds_taken(orders) < 0.2


def test_an_order_to_leave_does_not_cut_work_in_hand_short():
    orders = Orders()
    orders.take("slow 0.3")
    threading.Timer(0.05, orders.take, ["leave"]).start()
    assert seconds_taken(orders) >= 0.3
    assert orders.leave.is_set()


@pytest.mark.parametrize("line", ["", "slow", "slow x", "slow -1", "slow 1.2.3", "leave now", "\0"])
def test_what_is_no_order_changes_nothing(line):
    orders = Orders()
    orders.take(line)
    assert not orders.leave.is_set()
    assert seconds_taken(orders) < 0.2
