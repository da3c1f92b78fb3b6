"""Mode observe counts the acts, with their minimum savings and maximum losses."""

from __future__ import annotations

from rebalance_agent.gateway.seats.predicted_seats import PredictedSeats
from support.gateway.seats import CHEAP, DEAR, newcomer, profile, seats


def predicted(members=2, **settings):
    one = PredictedSeats(seats(**settings))
    for number in range(members):
        one.joined(newcomer(number), f"m{number}", 0.0, 0.0)
    return one


def test_a_surge_deploy_behind_one_gateway_saves_a_rebalance_per_member_and_loses_nothing():
    one = predicted()
    for number in (0, 1):
        at = 10.0 * (number + 1)
        one.joined(newcomer(10 + number), f"n{number}", at, at)
        one.due(at + 3.0)
        one.left(f"m{number}", None, DEAR, at + 4.0, at + 4.0, partitions=6, stable=True)
    assert one.tally.rebalances_saved_min == 2
    assert one.tally.partition_seconds_lost_max == 0.0


def test_a_restart_without_surge_counts_the_stall_of_all_its_partitions():
    one = predicted()
    one.left("m0", None, CHEAP, 10.0, 10.0, partitions=6, stable=True)
    one.due(12.0)
    one.joined(newcomer(10), "n0", 13.0, 13.0)
    assert one.tally.rebalances_saved_min == 1
    assert one.tally.partition_seconds_lost_max == 18.0


def test_a_seat_without_a_successor_only_loses_time():
    one = predicted(vacant_seconds=30.0)
    one.left("m0", None, CHEAP, 10.0, 10.0, partitions=6, stable=True)
    one.due(40.0)
    assert one.tally.rebalances_saved_min == 0
    assert one.tally.partition_seconds_lost_max == 180.0
    assert one.next_due() is None


def test_a_leave_during_a_rebalance_saves_nothing():
    one = predicted()
    one.joined(newcomer(10), "n0", 10.0, 10.0)
    one.left("m0", None, DEAR, 14.0, 14.0, partitions=6, stable=False)
    assert one.tally.rebalances_saved_min == 0


def test_a_successor_with_another_subscription_saves_nothing():
    one = predicted()
    one.joined(newcomer(10, of=profile(topics=("u",))), "n0", 10.0, 10.0)
    one.left("m0", None, DEAR, 14.0, 14.0, partitions=6, stable=True)
    assert one.tally.rebalances_saved_min == 0


def test_a_newcomer_that_leaves_while_it_would_be_held_takes_no_seat():
    one = predicted()
    one.joined(newcomer(10), "n0", 10.0, 10.0)
    one.left("n0", None, DEAR, 11.0, 11.0, partitions=0, stable=True)
    one.left("m0", None, DEAR, 14.0, 14.0, partitions=6, stable=True)
    assert one.tally.rebalances_saved_min == 0


def test_the_decisions_are_counted():
    one = predicted()
    assert one.tally.acts["ForwardSeated"] == 2
    one.left("m0", None, CHEAP, 10.0, 10.0, partitions=6, stable=True)
    assert one.tally.acts["AnswerLeave"] == 1
