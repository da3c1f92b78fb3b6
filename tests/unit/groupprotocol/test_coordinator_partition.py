from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition, with_the_coordinator_of
from support.examples import examples

INT_MAX = 2**31


@pytest.mark.parametrize(
    ("group", "hashed"),
    [
        ("", 0),
        ("abc", 96_354),
        ("hello", 99_162_322),
        ("polygenelubricants", 0),  # -2,147,483,648: it has no positive counterpart
        ("J00001", 2_130_603_481),  # -2,130,603,481
        ("Aa", 2_112),
        ("BB", 2_112),
        # Two UTF-16 units: 31 * 0xD83D + 0xDE00.
        ("\N{GRINNING FACE}", 1_772_899),
    ],
)
def test_the_partition_is_the_absolute_value_of_javas_hash_modulo_the_count(group, hashed):
    assert offsets_partition(group, INT_MAX) == hashed
    assert offsets_partition(group, 50) == hashed % 50


def test_lone_surrogates_are_hashed():
    assert 0 <= offsets_partition("\ud800", 50) < 50


@settings(max_examples=examples())
@given(st.text(max_size=60), st.text(max_size=20), st.integers(1, 10_000))
def test_two_groups_with_equal_hashes_have_one_coordinator_for_any_partition_count(group, beginning, partitions):
    name = with_the_coordinator_of(group, beginning)
    suffix = name.removeprefix(beginning)
    assert (name, suffix.isascii(), suffix.islower(), suffix.isalpha()) == (beginning + suffix, True, True, True)
    assert offsets_partition(name, partitions) == offsets_partition(group, partitions)
    assert offsets_partition(name, INT_MAX) == offsets_partition(group, INT_MAX)
