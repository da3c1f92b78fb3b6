"""Copies on many hosts are spread as evenly as by a minimum-cost flow, with a limited number of steps."""

from __future__ import annotations

import random
import sys
from collections import Counter
from math import lcm

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.assignors.balance.flow import Network
from rebalance_agent.assignors.units.standby_spread import NOWHERE, Demand, spread_copies
from support.examples import examples

seeds = st.integers(0, 2**32)


def spread_in_few_steps(wanted, sizes, loads=()):
    """The copies; fails on the first search or chain beyond the documented limits."""
    calls = Counter()
    pairs = sum(len(demand.hosts) for demand in wanted)

    def count(frame, event, _argument):
        if event == "call":
            calls[frame.f_code.co_name] += 1
            assert calls["_shift"] <= pairs
            assert calls["_relieve"] <= calls["_shift"] + len(sizes) + 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return spread_copies(wanted, sizes, loads), calls
    finally:
        sys.setprofile(before)


def unevenness(sizes, loads, copies):
    """The growth of the sum of load**2 / size by ``copies``, times the sizes' least common multiple."""
    held = Counter(place for places in copies for place in places)
    whole = lcm(*sizes)
    return sum(((load + held[place]) ** 2 - load**2) * whole // sizes[place] for place, load in enumerate(loads))


def least_unevenness(wanted, sizes, loads):
    """The lowest possible value of `unevenness`: every copy more on a host costs what it adds to the sum."""
    network = Network(2 + len(wanted) + len(sizes))
    whole, first_place = lcm(*sizes), 2 + len(wanted)
    for unit, demand in enumerate(wanted, start=2):
        network.add(0, unit, demand.wanted)
        for place in demand.hosts:
            if place != demand.active:
                network.add(unit, first_place + place, 1)
    steps = []
    for place, size in enumerate(sizes):
        for copy in range(len(wanted)):
            cost = (2 * (loads[place] + copy) + 1) * whole // size
            steps.append((network.add(first_place + place, 1, 1, cost=cost), cost))
    network.send_cheapest(0, 1)
    return sum(cost for arc, cost in steps if network.sent(arc))


def problem(seed):
    """Up to 12 hosts and 40 units with few different sets of hosts; a few hosts hold most copies, or are loaded."""
    rnd = random.Random(seed)
    places = range(rnd.randint(2, 12))
    sizes = [rnd.choice([1, 1, 1, 2, 3]) for _ in places]
    loads = [rnd.choice([0, 0, rnd.randint(0, 9)]) for _ in places]
    sets = [sorted(rnd.sample(places, rnd.randint(1, rnd.choice([2, len(places)])))) for _ in range(rnd.randint(1, 8))]
    full = rnd.sample(places, rnd.randint(0, len(places)))
    wanted = []
    for _ in range(rnd.randint(0, 40)):
        able = rnd.choice(sets)
        active = rnd.choice([*able, NOWHERE])
        possible = len(able) - (active != NOWHERE)
        wanted.append(Demand(min(possible, rnd.choice([1, 1, 2, possible])), active, able, tuple(full)))
    return wanted, sizes, loads


@given(seed=seeds)
@settings(max_examples=examples())
def test_no_spread_is_more_even_and_the_steps_are_limited(seed):
    wanted, sizes, loads = problem(seed)
    copies, _ = spread_in_few_steps(wanted, sizes, loads)
    for demand, places in zip(wanted, copies, strict=True):
        assert len(set(places)) == demand.wanted
        assert set(places) <= set(demand.hosts) - {demand.active}
    assert unevenness(sizes, loads, copies) == least_unevenness(wanted, sizes, loads)


def test_500_members_that_subscribe_to_random_topics_need_few_steps():
    """Units left over by rounding, of 100 topics x 1,000 partitions: most hosts are in levels that no chain leaves."""
    rnd = random.Random(1)
    able = [{} for _ in range(100)]
    for place in range(500):
        for topic in {rnd.randrange(100) for _ in range(50)}:
            able[topic][place] = None
    loads = [sum(1000 // len(places) for places in able if place in places) for place in range(500)]
    wanted = [Demand(1000 % len(places), NOWHERE, places, ()) for places in able]
    _, calls = spread_in_few_steps(wanted, [1] * 500, loads)
    assert calls["_shift"]
    assert sum(calls.values()) < 50 * sum(demand.wanted for demand in wanted)


def test_hosts_along_a_line_pass_all_surplus_copies_on():
    """Each unit fits on two neighbours only, and the first host holds all copies that it can: chains are long."""
    line = [(place, place + 1) for place in range(20) for _ in range(10)]
    wanted = [Demand(1, NOWHERE, pair, (pair[0],)) for pair in line]
    copies, calls = spread_in_few_steps(wanted, [1] * 21, [30, *[0] * 20])
    assert calls["_shift"]
    assert unevenness([1] * 21, [30, *[0] * 20], copies) == least_unevenness(wanted, [1] * 21, [30, *[0] * 20])
