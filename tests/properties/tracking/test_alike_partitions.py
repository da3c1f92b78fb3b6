"""Tracking equal partitions together, and differences by member, gives the same results as tracking each one
separately."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.model.generation_diff import diff_generations
from rebalance_agent.model.member_changes import identity
from rebalance_agent.model.partitions import pairs
from rebalance_agent.tracking.rebalance.moments import StepMoments
from rebalance_agent.tracking.rebalance.open_stall import OpenStall
from support.tracker.random_groups import group_records
from support.tracker.tracking import (
    T0,
    assigned,
    committed,
    in_time,
    listed,
    member,
    record,
    revoked,
    tick,
    topics,
    watch,
)

NUMBERS = st.sets(st.integers(0, 3)).map(sorted)
SHORT_MS = st.integers(0, 2_000)
CALLBACKS = st.lists(st.tuples(st.sampled_from([assigned, revoked]), SHORT_MS, st.integers(-2_000, 2_000)), max_size=2)


@st.composite
def observed_group(draw):
    """A group's records, polls that show the rebalance before each, and some commits and callbacks after it."""
    found = [topics(0, t=4), listed(0)]
    for _, written in draw(group_records("g")):
        at = written.timestamp_ms - T0
        begun = at - draw(SHORT_MS)
        found += [written, *(listed(each, *names) for each, names in ((begun - 100, ()), (begun, ("g",)), (at, ())))]
        if written.value:
            found.append(committed(at + draw(SHORT_MS), *draw(NUMBERS)))
            names, generation = [each.member_id for each in written.value.members], written.value.generation
            for callback, lasted, after in draw(CALLBACKS) if names else ():
                entered = max(0, at + after)
                name, numbers = draw(st.sampled_from(names)), draw(NUMBERS)
                found.append(callback(name, entered, entered + lasted, generation, numbers))
    return [*in_time(*found), *(tick(at) for at in (100_000, 400_000, 1_000_000))]


@settings(max_examples=300)
@given(observations=observed_group())
def test_events_do_not_depend_on_partitions_being_tracked_together(observations):
    _, together = watch(*observations, commits=False)
    with (
        patch.object(StepMoments, "alike", lambda _, partition, *__: partition),
        patch.object(OpenStall, "alike", lambda _, partition: partition),
    ):
        _, one_by_one = watch(*observations, commits=False)
    assert together == one_by_one


INSTANCES = {"a": None, "b": None, "c": None, "s-1": "s", "s-2": "s"}
SHARES = st.sets(st.integers(0, 2)).map(sorted)


@st.composite
def two_generations(draw):
    """Two assignments of three partitions, each to any members; two members have one instance id, some keep all."""
    before = {name: draw(SHARES) for name in INSTANCES if draw(st.booleans())}
    after = {name: before[name] for name in before if draw(st.booleans())}
    after |= {name: draw(SHARES) for name in INSTANCES if name not in after and draw(st.booleans())}
    return _value(before), _value(after)


def _value(shares):
    return record(0, 1, *(member(name, share, instance=INSTANCES[name]) for name, share in shares.items())).value


def _holders(value):
    holders = {}
    for each in value.members:
        for partition in pairs(each.assigned):
            holders.setdefault(partition, set()).add(identity(each))
    return holders


@settings(max_examples=500)
@given(two_generations())
def test_differences_are_those_of_the_holders_of_each_partition(two):
    before, after = two
    diff, had, has = diff_generations(before, after), _holders(before), _holders(after)
    taken = {partition for partition, names in had.items() if names - has.get(partition, set())}
    given_anew = {partition for partition, names in has.items() if names - had.get(partition, set())}
    assert (diff.taken, diff.given) == (taken, given_anew)
    assert diff.moved == {each for each in taken & given_anew if not had[each] & has[each]}
    assert diff.noop == (bool(had) and not taken and not given_anew)
