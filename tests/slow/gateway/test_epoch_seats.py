"""Seats in groups of KIP-848: restarts, killed processes, and Java's consumers."""

from __future__ import annotations

import pytest

from support.epoch_seats.epoch_groups import EpochGroup
from support.gateway.running import gateway
from support.gateway.seat_groups import (
    MEMBERS,
    check_killed,
    check_restarts,
    check_successor_of_killed,
    check_surge,
    roll_with_surge,
)
from support.members.member_lines import LibrdkafkaMember, java_member, librdkafka_member

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_members_that_restart_within_the_time_of_their_rule_add_no_group_epoch(kafka, topic, joined):
    check_restarts(kafka, topic, joined, LibrdkafkaMember, "", EpochGroup)


@pytest.mark.parametrize("check", [check_surge, check_restarts])
def test_javas_members_that_restart_add_no_group_epoch(kafka, topic, joined, check):
    check(kafka, topic, joined, java_member, "", EpochGroup)


def test_the_successor_of_a_killed_process_takes_its_seat(kafka, topic, joined_and_killed):
    check_successor_of_killed(kafka, topic, joined_and_killed, librdkafka_member, "", EpochGroup)


def test_the_seat_of_a_killed_process_without_successor_is_given_up_before_its_session_ends(
    kafka, topic, joined_and_killed
):
    check_killed(kafka, topic, joined_and_killed, librdkafka_member, "", EpochGroup)


def test_observing_counts_the_rebalances_that_seats_would_have_spared(kafka, topic, joined):
    with gateway(kafka.bootstrap_servers, seats=".*=observe,seats.hold.seconds=60") as through:
        group = EpochGroup(joined, through, topic, LibrdkafkaMember, "")
        group.fill()
        before = group.generation()
        roll_with_surge(group)
        assert group.generation() >= before + 2 * MEMBERS
        assert through.acts.rebalances_spared == {"observe": MEMBERS}
        for each in group.members:
            each.close()
