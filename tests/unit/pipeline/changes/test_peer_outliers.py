"""Members slower than their peers: by the median and the median absolute deviation."""

from __future__ import annotations

import math
import random
import statistics
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.pipeline.changes.peer_outliers import (
    DEVIATIONS_MIN,
    PEERS_MIN,
    RATIO_MIN,
    REBALANCES_MIN,
    peer_outliers,
)


def stops(number=10, peers=5, slow=4.0, seed=1):
    rng = random.Random(seed)
    return [
        {f"m{index}": rng.uniform(0.8, 1.2) * (slow if index == 0 else 1) for index in range(peers + 1)}
        for _ in range(number)
    ]


def test_a_member_slower_than_its_peers_is_found():
    (found,), compared = peer_outliers(stops())
    assert (found.member, found.rebalances, found.peers, compared) == ("m0", 10, 5, 6)
    assert found.stop_seconds == pytest.approx(4, rel=0.2)
    assert found.peers_stop_seconds == pytest.approx(1, rel=0.2)
    assert found.deviations > 3.5
    assert found.chance == pytest.approx((2 / 6) ** 10)


@pytest.mark.parametrize(
    "rebalances",
    [stops(peers=2), stops(number=REBALANCES_MIN - 1), stops(slow=1.0), stops(slow=1.4)],
    ids=["too few peers", "too few rebalances", "equal", "a little slower"],
)
def test_others_are_not(rebalances):
    assert peer_outliers(rebalances)[0] == []


def test_a_member_slower_than_unlike_peers_is_not_found():
    rebalances = [{f"m{index}": seconds for index, seconds in enumerate((3.4, 1, 1.4, 2, 2.6, 3))} for _ in range(20)]
    assert peer_outliers(rebalances) == ([], 6)


def test_half_of_the_members_are_not_among_the_slowest():
    rebalances = [{f"m{index}": 1.0 + index % 2 for index in range(6)} for _ in range(20)]
    found, compared = peer_outliers(rebalances)
    assert ({each.chance for each in found}, compared) == ({1.0}, 6)


def test_a_member_that_was_slow_once_is_not_improbable():
    rebalances = stops(slow=1.0)
    rebalances[3]["m0"] = 60.0
    assert peer_outliers(rebalances)[0] == []


TIMES = st.sampled_from([0.0, 0.1, 1.0, 1.0000001, 1.5, 2.0, 7.3]) | st.floats(0, 100)


@given(st.lists(TIMES, min_size=PEERS_MIN + 1, max_size=12))
def test_each_member_is_compared_with_the_median_and_the_deviation_of_the_others(times):
    """The same figures as from a pass over all other members."""
    expected = {}
    for index, own in enumerate(times):
        others = [*times[:index], *times[index + 1 :]]
        middle = statistics.median(others)
        spread = 1.4826 * statistics.median(abs(value - middle) for value in others)
        deviations = (own - middle) / max(spread, 0.1 * middle, 0.05)
        if deviations >= DEVIATIONS_MIN and own >= RATIO_MIN * middle:
            slowest = sum(other >= own for other in times) <= math.ceil(len(times) / 4)
            expected[f"m{index}"] = (own, len(others), middle, deviations, slowest)
    found, compared = peer_outliers([{f"m{index}": own for index, own in enumerate(times)}] * REBALANCES_MIN)
    assert compared == len(times)
    assert {
        each.member: (each.stop_seconds, each.peers, each.peers_stop_seconds, each.deviations, each.chance < 0.5)
        for each in found
    } == expected


def test_the_work_grows_hardly_faster_than_the_members():
    def seconds(members):
        rebalances = [{f"m{index}": 1.0 for index in range(members)}] * REBALANCES_MIN
        began = time.process_time()
        peer_outliers(rebalances)
        return time.process_time() - began

    few, many = (min(seconds(members) for _ in range(3)) for members in (200, 3_200))
    assert many < 60 * few  # a comparison of each member with each other one would take 256 times as long
