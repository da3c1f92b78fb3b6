from __future__ import annotations

import threading

import pytest

from rebalance_agent.clock import SystemClock
from rebalance_agent.demo.processes.member_commands import MemberCommands


def seconds_taken(commands):
    clock = SystemClock()
    began = clock.monotonic()
    commands.finish_current_work()
    return clock.monotonic() - began


def test_the_command_slow_delays_the_next_revocation_and_no_other():
    commands = MemberCommands()
    commands.receive("slow 0.3")
    assert seconds_taken(commands) >= 0.3
    assert seconds_taken(commands) < 0.2


def test_the_command_leave_does_not_shorten_the_delay():
    commands = MemberCommands()
    commands.receive("slow 0.3")
    threading.Timer(0.05, commands.receive, ["leave"]).start()
    assert seconds_taken(commands) >= 0.3
    assert commands.leave.is_set()


@pytest.mark.parametrize("line", ["", "slow", "slow x", "slow -1", "slow 1.2.3", "leave now", "\0"])
def test_an_unknown_command_is_ignored(line):
    commands = MemberCommands()
    commands.receive(line)
    assert not commands.leave.is_set()
    assert seconds_taken(commands) < 0.2
