"""Partition numbers that stay ranges: they are sequences of numbers, and their algebra is that of sets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.errors import DecodeError
from rebalance_agent.model.event_json import event_from_json, event_to_json
from rebalance_agent.model.events import Callback, MemberEvent
from rebalance_agent.model.partition_ranges import PartitionRanges, among, as_ranges
from rebalance_agent.model.partitions import count_partitions, pairs, to_ranges
from support.memory import traced_memory

REVOKED = MemberEvent("id", "g", 2, Callback.REVOKED, "c", "m", 3, 1, {"t": (0, 1)}, "process", 1)

numbers = st.sets(st.integers(0, 60)).map(lambda found: tuple(sorted(found)))
partitions = st.dictionaries(st.sampled_from(["t", "u", "v"]), numbers)


@given(numbers)
def test_ranges_are_a_sequence_of_their_numbers(found):
    ranges = PartitionRanges(to_ranges(found))
    assert ranges == found
    assert tuple(ranges) == found
    assert (len(ranges), bool(ranges), hash(ranges)) == (len(found), bool(found), hash(found))
    assert [number in ranges for number in range(70)] == [number in found for number in range(70)]
    assert ranges == PartitionRanges.of(found)
    assert ranges != (*found, 99)
    assert ranges[1:3] == found[1:3]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8))
def test_adjacent_spans_are_one_range(steps):
    spans, found = [], []
    for gap, length in steps:
        first = found[-1] + 1 + gap if found else gap
        spans.append((first, first + length))
        found += range(first, first + length + 1)
    assert PartitionRanges.of_spans(spans).text == to_ranges(found)


@given(partitions, partitions)
def test_only_wanted_partitions_are_found_among_the_claimed_ones(claimed, wanted):
    assert among(claimed, wanted) == pairs(claimed) & pairs(wanted)
    assert among(as_ranges(claimed), wanted) == pairs(claimed) & pairs(wanted)


def test_ranges_are_equal_if_their_numbers_are():
    assert PartitionRanges("0-4,5,7") == PartitionRanges("0-5,7") != PartitionRanges("0-4,6,7")


@pytest.mark.parametrize("text", ["1,", "3-1", "5,4", "0-1000000", "x", "-1", "1 ,2"])
def test_invalid_ranges_are_refused(text):
    with pytest.raises(DecodeError):
        PartitionRanges(text)


def test_an_event_is_decoded_without_expanding_its_ranges():
    data = {**event_to_json(REVOKED), "partitions": {"t": "0-99999"}}
    event_from_json(data)
    with traced_memory() as used:
        event = event_from_json(data)
        _, peak = used()
    assert count_partitions(event.partitions) == 100_000
    assert peak < 50_000
    assert event_to_json(event)["partitions"] == {"t": "0-99999"}
