"""Constructs that RE2 does not have; tests/peers compares the list with the brokers' own library."""

from __future__ import annotations

import pytest

from rebalance_agent.advice.migration.re2_patterns import not_in_re2
from support.migration.patterns import REFUSED, TAKEN


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_re2_does_not_have_is_found(pattern):
    assert not_in_re2(pattern)


@pytest.mark.parametrize("pattern", TAKEN)
def test_what_re2_has_is_not_complained_about(pattern):
    assert not_in_re2(pattern) is None


def test_an_intersection_of_classes_has_another_meaning():
    assert "&&" in not_in_re2("[a-z&&[^b]]+")
