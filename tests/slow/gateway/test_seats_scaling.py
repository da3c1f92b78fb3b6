"""Groups with seats that are scaled up and down: consumers that come, or go, within a period cause one rebalance."""

from __future__ import annotations

import pytest

from support.gateway.gateway_members import read_everything
from support.gateway.running import gateway
from support.gateway.seat_groups import PARTITIONS, Group, begin_period, check_scale_up
from support.members.member_lines import LibrdkafkaMember
from support.members.threads import Load
from support.observer.observing import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]

MEMBERS, PERIOD_S = 6, 20


@pytest.mark.parametrize("own", ["range", "cooperative-sticky"])
def test_six_that_start_beside_six_cause_one_rebalance(kafka, topic, joined, own):
    check_scale_up(kafka, topic, joined, LibrdkafkaMember, own, number=MEMBERS, period_s=PERIOD_S)


@pytest.mark.parametrize(("period_s", "most"), [(0, None), (PERIOD_S, 1)])
def test_members_that_leave_one_after_the_other_cause_one_rebalance_within_a_period(
    kafka, topic, joined, period_s, most
):
    rule = f".*=on,seats.hold.seconds=0,seats.keep.seconds={PERIOD_S if period_s else 0}"
    with (
        gateway(kafka.bootstrap_servers, seats=rule, seat_options={"admission_seconds": period_s}) as through,
        Load(kafka, topic, PARTITIONS) as load,
    ):
        group = Group(joined, through, topic, LibrdkafkaMember, "range")
        group.fill_at_once(MEMBERS)
        if period_s:
            begin_period(period_s)
        before = group.generation()
        for _ in range(MEMBERS // 2):
            group.members.pop().close()
            if not period_s:
                eventually(group.whole, waiting_for=group.state)
        eventually(group.whole, waiting_for=group.state)
        caused = group.generation() - before
        assert caused == most if most else caused >= MEMBERS // 2, group.state()
        read_everything(load, *group.everybody)
        for each in group.members:
            each.close()
