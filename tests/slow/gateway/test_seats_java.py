"""Seats of Java's consumers, whose leaders go on as leaders when they return (JoinGroup v9)."""

from __future__ import annotations

import itertools

import pytest

from support.gateway.gateway_members import joining
from support.gateway.seat_groups import PARTITIONS, check_restarts, check_surge
from support.members.member_lines import java_member
from support.observer.observing import create_topic

pytestmark = [pytest.mark.integration, pytest.mark.slow]

NUMBER = itertools.count(1)


@pytest.fixture
def topic(kafka):
    name = f"seats-java-{next(NUMBER)}"
    create_topic(kafka.bootstrap_servers, name, PARTITIONS)
    return name


@pytest.mark.parametrize("own", ["RangeAssignor", "CooperativeStickyAssignor"])
@pytest.mark.parametrize("check", [check_surge, check_restarts])
def test_restarts_cause_no_rebalance(kafka, topic, own, check):
    with joining() as joined:
        check(kafka, topic, joined, java_member, own)
