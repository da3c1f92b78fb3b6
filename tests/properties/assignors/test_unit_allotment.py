"""Units and copies compared with a brute-force search, for small groups."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from fractions import Fraction
from math import ceil, floor

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.assignors.units.standby_spread import Demand, spread_copies
from rebalance_agent.assignors.units.unit_assignment import Unit, assign_units
from support.examples import examples

seeds = st.integers(0, 2**32)


def problem(seed):
    """Up to three kinds of units over up to four places of different sizes, some owned, some copied."""
    rnd = random.Random(seed)
    sizes = [rnd.choice([1, 1, 1, 2, 3]) for _ in range(rnd.randint(1, 4))]
    kinds, units = [], []
    for kind in range(rnd.randint(1, 3)):
        able = rnd.sample(range(len(sizes)), rnd.choice([len(sizes), rnd.randint(1, len(sizes))]))
        kinds.append({place: rnd.randint(1, sizes[place]) for place in sorted(able)})
        for _ in range(rnd.randint(0, 4 if len(units) < 3 else 2)):
            owners = rnd.sample(able, min(len(able), rnd.choice([0, 1, 1, 1, 2])))
            heirs = rnd.sample(able, min(len(able), rnd.choice([0, 1, 1, 2])))
            units.append(Unit(kind, tuple(owners), tuple(heirs)))
    return kinds, sizes, units


def fair_by_kind(kinds, units, choice):
    for kind, places in enumerate(kinds):
        total = sum(unit.kind == kind for unit in units)
        got = Counter(place for unit, place in zip(units, choice, strict=True) if unit.kind == kind)
        for place, size in places.items():
            share = Fraction(total * size, sum(places.values()))
            if not floor(share) <= got[place] <= ceil(share):
                return False
    return True


def cost(sizes, units, choice):
    loads = Counter(choice)
    moved = sum(place not in unit.owners for unit, place in zip(units, choice, strict=True))
    missed = sum(place not in unit.owners + unit.standby_hosts for unit, place in zip(units, choice, strict=True))
    return sum(Fraction(load**2, sizes[place]) for place, load in loads.items()), moved, missed


@given(seed=seeds)
@settings(max_examples=examples())
def test_balance_then_moves_then_standby_takeovers_are_optimal(seed):
    kinds, sizes, units = problem(seed)
    choice = assign_units(kinds, sizes, units)
    assert all(place in kinds[unit.kind] for unit, place in zip(units, choice, strict=True))
    assert fair_by_kind(kinds, units, choice)
    every = itertools.product(*(kinds[unit.kind] for unit in units))
    best = min(cost(sizes, units, other) for other in every if fair_by_kind(kinds, units, other))
    assert cost(sizes, units, choice) == best


@given(seed=seeds)
@settings(max_examples=examples())
def test_members_keep_their_assigned_units(seed):
    kinds, sizes, units = problem(seed)
    choice = assign_units(kinds, sizes, units)
    settled = [unit._replace(owners=(place,)) for unit, place in zip(units, choice, strict=True)]
    assert assign_units(kinds, sizes, settled) == choice


@given(threads=st.lists(st.integers(1, 4), min_size=1, max_size=5), counts=st.lists(st.integers(0, 12), max_size=6))
@settings(max_examples=examples())
def test_equal_subscribers_threads_differ_by_one_unit_at_most(threads, counts):
    kinds = [dict(enumerate(threads)) for _ in counts]
    units = [Unit(kind, (), ()) for kind, count in enumerate(counts) for _ in range(count)]
    loads = Counter(assign_units(kinds, threads, units))
    most, least = divmod(sum(counts), sum(threads))
    assert all(most * size <= loads[place] <= (most + (least > 0)) * size for place, size in enumerate(threads))


def demands(seed):
    rnd = random.Random(seed)
    sizes = [rnd.choice([1, 1, 1, 2]) for _ in range(rnd.randint(2, 4))]
    result = []
    for _ in range(rnd.randint(0, 6)):
        places = sorted(rnd.sample(range(len(sizes)), rnd.choice([len(sizes), rnd.randint(1, len(sizes))])))
        active = rnd.choice(places)
        holders = rnd.sample(range(len(sizes)), rnd.randint(0, 2))
        result.append(Demand(min(rnd.choice([1, 1, 2]), len(places) - 1), active, frozenset(places), tuple(holders)))
    return result, sizes


def unevenness(sizes, copies):
    loads = Counter(place for places in copies for place in places)
    return sum(Fraction(load**2, sizes[place]) for place, load in loads.items())


@given(seed=seeds)
@settings(max_examples=examples())
def test_copies_are_balanced_and_never_with_their_active_unit(seed):
    wanted, sizes = demands(seed)
    copies = spread_copies(wanted, sizes)
    for demand, places in zip(wanted, copies, strict=True):
        assert demand.active not in places
        assert len(set(places)) == demand.wanted
        assert set(places) <= demand.hosts
    every = itertools.product(
        *(itertools.combinations(sorted(demand.hosts - {demand.active}), demand.wanted) for demand in wanted)
    )
    assert unevenness(sizes, copies) == min(unevenness(sizes, other) for other in every)


@given(seed=seeds)
@settings(max_examples=examples())
def test_copies_stay_without_changes(seed):
    wanted, sizes = demands(seed)
    copies = spread_copies(wanted, sizes)
    settled = [demand._replace(holders=places) for demand, places in zip(wanted, copies, strict=True)]
    assert spread_copies(settled, sizes) == copies


@given(seed=seeds)
@settings(max_examples=examples())
def test_balanced_copies_all_stay(seed):
    wanted, sizes = demands(seed)
    every = itertools.product(
        *(itertools.combinations(sorted(demand.hosts - {demand.active}), demand.wanted) for demand in wanted)
    )
    ways = list(itertools.islice(every, 5000))
    least = min(unevenness(sizes, way) for way in ways)
    if least > unevenness(sizes, spread_copies(wanted, sizes)):
        return  # the balanced ones are not among the tried ones
    way = random.Random(seed).choice([way for way in ways if unevenness(sizes, way) == least])
    held = [demand._replace(holders=places) for demand, places in zip(wanted, way, strict=True)]
    assert spread_copies(held, sizes) == list(way)
