"""Growth is detected in any noise, and the page reports it."""

from __future__ import annotations

import math
import random

import pytest

from soak.page import soak_page, verdict
from soak.samples import MEASURES, Sample
from soak.slopes import fitted

HOURS = [number / 60 for number in range(120)]


def noisy(seed, per_hour, noise=1.0, base=100.0):
    chance = random.Random(seed)
    return [base + per_hour * hours + chance.gauss(0, noise) for hours in HOURS]


@pytest.mark.parametrize("per_hour", [0.0, 1.0, -3.0, 10.0])
def test_a_slope_is_found_within_its_error(per_hour):
    off = [fitted(HOURS, noisy(seed, per_hour)) for seed in range(60)]
    within = [abs(each.per_hour - per_hour) < 2.5 * each.error for each in off]
    assert sum(within) >= 55


def test_only_growing_series_are_reported():
    assert all(fitted(HOURS, noisy(seed, 3.0)).grows(2.0) for seed in range(40))
    assert not any(fitted(HOURS, noisy(seed, -3.0)).grows(2.0) for seed in range(40))
    assert sum(fitted(HOURS, noisy(seed, 0.0)).sure for seed in range(500)) <= 5


def test_certain_but_small_growth_is_allowed():
    slope = fitted(HOURS, noisy(1, 0.2, noise=0.001))
    assert slope.sure
    assert not slope.grows(0.5)


def test_correlated_noise_is_not_reported_as_growth():
    """Memory changes in long waves: the number of waves counts as the number of samples."""
    waves = [100 + 5 * math.sin(hours * 2 * math.pi * 3) for hours in HOURS]
    assert not fitted(HOURS, waves).grows(1.0)


def test_two_samples_are_no_slope():
    with pytest.raises(ValueError, match="three samples"):
        fitted([0, 1], [1, 2])


def test_the_page_names_growing_measures():
    chance = random.Random(3)
    samples = [
        Sample(hours, 150 + 30 * hours, 40, 20, 80 + chance.random(), 5 + chance.random() / 100, 0.1) for hours in HOURS
    ]
    slopes = [fitted(HOURS, [getattr(each, measure.name) for each in samples]) for measure in MEASURES]
    page = soak_page(samples, slopes, "a <summary>")
    assert "<h1>Soak: resident memory grows</h1>" in page
    assert "a &lt;summary&gt;" in page
    assert page.count("<svg") == len(MEASURES)
    assert verdict(MEASURES[0], slopes[0]).endswith("an hour: GROWS")
    assert verdict(MEASURES[1], slopes[1]).endswith("an hour: flat")
