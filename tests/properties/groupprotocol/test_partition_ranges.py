from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.errors import DecodeError
from rebalance_agent.model.partitions import PARTITION_MAX, from_ranges, to_ranges

NUMBERS = st.frozensets(st.integers(0, PARTITION_MAX - 1) | st.integers(0, 50)).map(lambda found: tuple(sorted(found)))


@given(NUMBERS)
def test_ranges_are_decoded_to_their_numbers(numbers):
    assert from_ranges(to_ranges(numbers)) == numbers


@given(NUMBERS)
def test_ranges_are_the_shortest_possible_text(numbers):
    parts = to_ranges(numbers).split(",") if numbers else []
    gaps = sum(1 for left, right in itertools.pairwise(numbers) if right != left + 1)
    assert len(parts) == gaps + bool(numbers)


@given(st.text(alphabet="0123456789-, ٣x", max_size=30))
def test_any_text_is_numbers_or_a_decode_error(text):
    try:
        numbers = from_ranges(text)
    except DecodeError:
        return
    assert list(numbers) == sorted(set(numbers))
    assert all(0 <= number < PARTITION_MAX for number in numbers)
