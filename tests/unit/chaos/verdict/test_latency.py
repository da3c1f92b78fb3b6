"""Compares poll latency of instrumented members with bare ones, and of bare ones with each other."""

from __future__ import annotations

import random

import pytest

from chaos.members.kinds import ALSO_BARE, BARE, INSTRUMENTED, TRIED
from chaos.verdict.latency import POLLS_MIN, WINDOW_MS, WINDOWS_MIN, compared

WINDOWS = 20


def late(seed, times=1.0, noise=0.2, windows=WINDOWS, polls=2 * POLLS_MIN):
    """A group whose polls are late by about 5 ms times ``times``, random in each window."""
    chance = random.Random(seed)
    for number in range(windows):
        here = 5_000 * times * chance.lognormvariate(0, noise)
        yield number * WINDOW_MS, [here * chance.lognormvariate(0, 1) for _ in range(polls)]


def run(instrumented, **more):
    return {
        BARE: list(late("bare", **more)),
        ALSO_BARE: list(late("also bare", **more)),
        INSTRUMENTED: list(instrumented),
    }


@pytest.mark.parametrize("seed", range(20))
def test_a_difference_as_between_bare_members_is_accepted(seed):
    assert compared(run(late(seed))).wrong == ()


@pytest.mark.parametrize("seed", range(20))
def test_a_latency_above_the_noise_is_an_error(seed):
    verdict = compared(run(late(seed, times=3.0)))
    assert [each.split()[4] for each in verdict.wrong] == ["p50", "p99"]


def test_an_insignificant_difference_is_accepted():
    few = compared(run(late("instrumented", times=3.0, windows=6), windows=6))
    assert few.wrong == ()
    assert "in 6 windows, too few to find anything:" in few.what
    enough = compared(run(late("instrumented", times=3.0, windows=7), windows=7))
    assert enough.wrong
    assert "in 7 windows:" in enough.what


def test_larger_noise_hides_larger_differences():
    instrumented = list(late("instrumented", times=1.5))
    assert compared(run(instrumented, noise=0.05)).wrong
    assert compared(run(instrumented, noise=1.0)).wrong == ()


def test_a_significant_but_tiny_difference_of_latency_is_accepted():
    def short(microseconds):
        return [(number * WINDOW_MS, [microseconds] * POLLS_MIN) for number in range(WINDOWS)]

    assert compared({BARE: short(100), ALSO_BARE: short(101), INSTRUMENTED: short(300)}).wrong == ()


def test_a_window_is_compared_if_all_three_groups_have_enough_polls():
    few = list(late("few", polls=POLLS_MIN - 1))[WINDOWS_MIN - 1 :]
    assert "too few to compare" in compared(run([*late("many", windows=WINDOWS_MIN - 1), *few])).wrong[0]
    assert compared({name: [] for name in TRIED}).wrong
