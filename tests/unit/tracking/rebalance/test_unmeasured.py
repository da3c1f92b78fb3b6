"""Bounds of stalls after a rebalance that cannot be measured are correct."""

from dataclasses import replace

import pytest

from support.tracker.tracking import (
    B_GONE,
    TWO_EAGER,
    closing,
    committed,
    in_time,
    listed,
    member,
    record,
    tick,
    watch,
)

ALL = (0, 1, 2, 3)
WORK = [committed(at, *ALL) for at in range(5_000, 80_000, 5_000)]


def replayed(number, *, gap):
    """C got everything at 86 s, without a running observer and without polls."""
    return replace(
        record(86_000, number, member("c", ALL)), replayed=True, gap_offset=86_000 if gap else -1, offset=86_000
    )


def later(number):
    """D gets everything at 91 s, and commits at 92 s."""
    polls = listed(90_000), listed(90_200, "g")
    return *polls, record(91_000, number, member("d", ALL), joined=90_990), committed(92_000, 0)


def stalls_of(*observations):
    _, events = watch(*in_time(*TWO_EAGER, *observations), tick(150_000), commits=False)
    return [event.stall for event in closing(events)]


UNMEASURED = pytest.mark.parametrize(
    ("number", "gap"), [(3, False), (5, True)], ids=["start unknown", "generations missing"]
)


@UNMEASURED
def test_a_stall_continues_through_an_unmeasured_rebalance_until_a_commit(number, gap):
    """B worked until 69.5 s, and no member committed after its departure."""
    stalls = stalls_of(*WORK, *B_GONE, replayed(number, gap=gap), *later(number + 1))
    assert stalls[-2] is None
    assert stalls[-1].seconds == 92.0 - 69.5


@UNMEASURED
def test_a_stall_started_by_an_unmeasured_rebalance_may_be_as_old_as_the_previous_generation(number, gap):
    """A committed at 84 s; C, which then got everything, committed nothing."""
    stalls = stalls_of(*WORK, *B_GONE, committed(84_000, *ALL), replayed(number, gap=gap), *later(number + 1))
    assert stalls[-2] is None
    assert stalls[-1].seconds == 92.0 - 83.0


@UNMEASURED
def test_a_commit_of_its_new_owner_ends_the_stall(number, gap):
    consumed = [committed(at, *ALL) for at in (87_000, 88_000, 89_000)]
    stalls = stalls_of(*WORK, *B_GONE, replayed(number, gap=gap), *consumed, *later(number + 1))
    assert stalls[-1].seconds == 92.0 - 87.5


def test_a_stall_without_evidence_of_its_start_has_no_upper_bound():
    """The first record that an observer reads is of a group that was there before."""
    first = replace(record(86_000, 7, member("c", ALL)), replayed=True)
    _, events = watch(*in_time(TWO_EAGER[0], listed(500), first, *later(8)), tick(150_000), commits=False)
    stalls = [event.stall for event in closing(events)]
    assert stalls[0] is None
    assert (stalls[1].seconds, stalls[1].lower_seconds) == (None, pytest.approx(0.01))


def test_an_emptied_group_has_no_open_stall():
    empty = listed(85_000), listed(85_200, "g"), record(86_000, 3)
    back = listed(90_000), listed(90_200, "g"), record(91_000, 4, member("d", ALL), joined=90_990)
    stalls = stalls_of(*WORK, *B_GONE, *empty, *back, committed(92_000, 0))
    assert stalls[-1].seconds == 92.0 - 90.0
