"""The verdict whether an instrumented program costs more than a bare one, also with too little data."""

from __future__ import annotations

import random

import pytest
from bench.clients.harmless import print_verdicts, settled
from bench.clients.harmless_verdict import MORE, SAME, UNKNOWN, Measure, interval, judged

ROUNDS = 11
PERCENT = Measure("took", "took us", 5.0)
MS = Measure("took", "took ms", 10.0, "ms")


def rounds(factor=1.0, extra=0.0, noise=0.01, seed=1, count=ROUNDS, base=100.0):
    chance = random.Random(seed)
    return [{"took": base * factor * (1 + chance.uniform(-noise, noise)) + extra} for _ in range(count)]


def finding(instrumented, measure=PERCENT, bare=None, again=None):
    found = {"bare": bare or rounds(seed=2), "again": again or rounds(seed=3), "instrumented": instrumented}
    (only,) = judged(found, [measure], "bare", "again")
    return only


def test_equal_figures_are_the_same():
    found = finding(rounds())
    assert (found.verdict, found.seen) == (SAME, False)


def test_doubled_figures_are_more():
    assert finding(rounds(factor=2)).verdict == MORE


def test_a_small_increase_is_measured_and_within_its_bound():
    found = finding(rounds(factor=1.03, noise=0.001), bare=rounds(noise=0.001), again=rounds(noise=0.001, seed=3))
    assert (found.verdict, found.seen) == (SAME, True)


def test_lower_figures_are_the_same():
    assert finding(rounds(factor=0.5)).verdict == SAME


@pytest.mark.parametrize(("extra", "verdict"), [(4.0, SAME), (9.9, UNKNOWN), (30.0, MORE)])
def test_a_bound_in_a_unit_applies_to_the_difference_not_the_ratio(extra, verdict):
    few = {"noise": 0.3, "base": 2.0}
    found = finding(rounds(extra=extra, **few), MS, rounds(seed=2, **few), rounds(seed=3, **few))
    assert found.verdict == verdict


def test_with_too_much_noise_the_result_is_unknown():
    wide = {"noise": 0.6}
    found = finding(rounds(seed=4, **wide), bare=rounds(seed=2, **wide), again=rounds(seed=3, **wide))
    assert found.verdict == UNKNOWN


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_difference_between_two_bare_programs_is_not_more(factor):
    found = finding(rounds(factor=1.5), again=rounds(factor=factor, seed=3))
    assert (found.verdict, found.seen) == (UNKNOWN, False)


def test_a_slow_round_of_all_variants_is_no_difference():
    slowed = [1.0, 3.0] * 5 + [1.0]
    bare, again, instrumented = (
        [{"took": row["took"] * by} for row, by in zip(rounds(seed=seed), slowed, strict=True)] for seed in (1, 2, 3)
    )
    assert finding(instrumented, bare=bare, again=again).verdict == SAME


@pytest.mark.parametrize(
    ("factor", "count", "verdict"),
    [(9, 2, UNKNOWN), (9, 6, UNKNOWN), (9, 7, MORE), (1, 2, UNKNOWN), (1, 6, UNKNOWN), (1, 7, SAME)],
)
def test_too_few_rounds_have_no_verdict(factor, count, verdict):
    bare, again = rounds(seed=2, count=count), rounds(seed=3, count=count)
    assert finding(rounds(factor=factor, count=count), bare=bare, again=again).verdict == verdict


@pytest.mark.parametrize(
    ("count", "low", "high", "sure"), [(2, 0, 1, 0.5), (7, 0, 6, 0.984), (11, 1, 9, 0.988), (21, 4, 16, 0.993)]
)
def test_the_interval_is_the_narrowest_with_enough_confidence(count, low, high, sure):
    values = list(range(count))
    random.Random(1).shuffle(values)
    found = interval(values)
    assert (found.low, found.high, round(found.sure, 3)) == (low, high, sure)
    assert found.median == (count - 1) / 2


def test_the_interval_contains_the_median_with_its_stated_probability():
    chance, tries = random.Random(1), 2_000
    outside = sum(not found.low < 0 < found.high for found in _drawn(chance, tries))
    assert outside / tries == pytest.approx(1 - interval(range(ROUNDS)).sure, abs=0.01)


def _drawn(chance, tries):
    return (interval([chance.gauss(0, 1) for _ in range(ROUNDS)]) for _ in range(tries))


def test_equal_programs_are_almost_never_more():
    chance = random.Random(1)
    verdicts = [
        finding(
            rounds(noise=0.2, seed=chance.random()),
            Measure("took", "took us", 0.0),
            rounds(noise=0.2, seed=chance.random()),
            rounds(noise=0.2, seed=chance.random()),
        ).verdict
        for _ in range(300)
    ]
    assert verdicts.count(MORE) <= 1


def test_more_ends_the_measurement_with_an_error_that_names_the_figure():
    with pytest.raises(SystemExit) as ended:
        settled({"aiokafka": [finding(rounds())], "confluent-kafka": [finding(rounds(factor=2))]})
    assert "confluent-kafka, took us, instrumented: +99" in ended.value.code
    assert "aiokafka" not in ended.value.code


def test_unknown_is_reported_without_an_error(capsys):
    wide = {"noise": 0.6}
    found = finding(rounds(seed=4, **wide), bare=rounds(seed=2, **wide), again=rounds(seed=3, **wide))
    settled({"aiokafka": [found]})
    print_verdicts([found, finding(rounds())])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "0 are certainly above, and 1 are undecided."
    assert [line.split(";")[1:] for line in lines[3:]] == [
        [" does not differ visibly from bare ones", " perhaps above its bound"]
    ]
