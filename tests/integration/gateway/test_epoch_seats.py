"""Seats in a group of KIP-848, before a real broker; the other paths are in tests/slow."""

from __future__ import annotations

import pytest

from support.epoch_seats.epoch_groups import EpochGroup
from support.gateway.seat_groups import check_surge
from support.members.member_lines import LibrdkafkaMember

pytestmark = pytest.mark.integration


def test_a_rolling_restart_with_surge_adds_no_group_epoch(kafka, topic, joined):
    check_surge(kafka, topic, joined, LibrdkafkaMember, "", EpochGroup)
