"""Partitions of a sidecar's consumers: one owner in a group, and a cost that grows with what an event names."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.metrics.export.owned_partitions import CHUNK, ConsumerKey, OwnedPartitions
from rebalance_agent.model.partition_ranges import PartitionRanges
from rebalance_agent.model.partitions import to_ranges
from support.memory import traced_memory

CONSUMERS = [ConsumerKey("p", group, name) for group in ("g", "h") for name in "abc"]

numbers = st.sets(st.integers(0, 15) | st.integers(CHUNK - 8, CHUNK + 8), max_size=12).map(
    lambda found: tuple(sorted(found))
)
partitions = st.dictionaries(st.sampled_from(["t", "u"]), numbers)
steps = st.tuples(st.sampled_from(["assign", "revoke", "release"]), st.sampled_from(CONSUMERS), partitions)


def owned_by(kept, consumer):
    ranges = kept.first_ranges(consumer, 1_000)
    return {(topic, number) for topic, numbers in ranges.items() for number in numbers}


@given(st.lists(steps, max_size=12))
def test_owners_are_those_of_a_table_of_single_partitions(made):
    kept, owners = OwnedPartitions(), {}
    for what, consumer, some in made:
        named = [(consumer.group, topic, number) for topic, numbers in some.items() for number in numbers]
        if what == "assign":
            kept.assign(consumer, some)
            owners |= dict.fromkeys(named, consumer)
        elif what == "revoke":
            kept.revoke(consumer, some)
            owners = {one: owner for one, owner in owners.items() if one not in named or owner != consumer}
        else:
            kept.release(consumer)
            owners = {one: owner for one, owner in owners.items() if owner != consumer}
    for consumer in CONSUMERS:
        expected = {(topic, number) for (_, topic, number), owner in owners.items() if owner == consumer}
        assert owned_by(kept, consumer) == expected
        assert kept.count(consumer) == len(expected)
        for topic, ranges in kept.first_ranges(consumer, 1_000).items():
            assert ranges.text == to_ranges(sorted(n for t, n in expected if t == topic)), "adjacent ranges are merged"
    for consumer in CONSUMERS:
        kept.release(consumer)
    assert kept.size_bytes == 0


def test_the_first_ranges_are_in_the_order_of_topics():
    kept = OwnedPartitions()
    kept.assign(CONSUMERS[0], {"u": (1, 3), "t": (1, 2, 4, 6)})
    assert kept.first_ranges(CONSUMERS[0], 4) == {"t": (1, 2, 4, 6), "u": (1,)}
    assert kept.first_ranges(CONSUMERS[0], 1) == {"t": (1, 2)}


class CountedOwners(dict):
    """The owners of a chunk; counts how many of them were read."""

    read = 0

    def items(self):
        CountedOwners.read += len(self)
        return super().items()


def test_an_event_reads_only_owners_in_the_chunks_that_it_names(monkeypatch):
    kept = OwnedPartitions()
    for number in range(100):
        for consumer in CONSUMERS[:2]:
            kept.assign(consumer, {f"t{number}": tuple(range(0, 20 * CHUNK, 500))})
    monkeypatch.setattr(kept, "_bits", {key: CountedOwners(owners) for key, owners in kept._bits.items()})
    monkeypatch.setattr(CountedOwners, "read", 0)
    for number in (0, 5 * CHUNK + 7, 999_999):
        kept.assign(CONSUMERS[2], {"t7": (number,)})
    assert CountedOwners.read <= 2, "of 2,000 in the group"


def test_isolated_partitions_are_moved_a_chunk_at_a_time(monkeypatch):
    """Else a post of 36,000 isolated partitions takes 0.7 s, and delays the posts of all other processes."""
    kept, made = OwnedPartitions(), []
    change = kept._set
    monkeypatch.setattr(kept, "_set", lambda *arguments: made.append(arguments) or change(*arguments))
    every_second = {"t": PartitionRanges(to_ranges(range(0, 18_000, 2)))}
    for consumer in CONSUMERS[:3]:
        kept.assign(consumer, every_second)
    kept.revoke(CONSUMERS[2], every_second)
    kept.assign(CONSUMERS[2], every_second)
    kept.release(CONSUMERS[2])
    chunks = 18_000 // CHUNK + 1
    assert len(made) <= 8 * chunks
    assert kept.size_bytes == 0


@pytest.mark.parametrize(
    "numbers",
    [
        (0, CHUNK - 1, CHUNK, 2 * CHUNK - 1, 2 * CHUNK + 1),
        tuple(range(CHUNK - 2, 4 * CHUNK + 2)),
        tuple(range(CHUNK, 2 * CHUNK)),
        tuple(range(0, 5 * CHUNK, 2)),
        (999_999,),
    ],
)
def test_ranges_continue_over_the_boundaries_of_chunks(numbers):
    kept = OwnedPartitions()
    kept.assign(CONSUMERS[0], {"t": numbers})
    assert kept.first_ranges(CONSUMERS[0], 10_000)["t"].text == to_ranges(numbers)
    assert kept.count(CONSUMERS[0]) == len(numbers)
    kept.revoke(CONSUMERS[0], {"t": numbers[1:]})
    assert kept.first_ranges(CONSUMERS[0], 1) == {"t": numbers[:1]}
    kept.release(CONSUMERS[0])
    assert (kept.first_ranges(CONSUMERS[0], 1), kept.count(CONSUMERS[0]), kept.size_bytes) == ({}, 0, 0)


def test_a_range_over_several_chunks_counts_as_one():
    kept = OwnedPartitions()
    kept.assign(CONSUMERS[0], {"t": PartitionRanges("0-5000,6000,7000")})
    assert kept.first_ranges(CONSUMERS[0], 2)["t"].text == "0-5000,6000"


@pytest.mark.parametrize(
    "some",
    [
        {f"t{n}": (1,) for n in range(2_000)},
        {f"t{n}": (CHUNK - 1,) for n in range(1_400)},
        {"t": tuple(range(0, 60_000, 2))},
        {"t": tuple(range(0, 900 * CHUNK, CHUNK))},
        {"t": tuple(range(100_000))},
    ],
)
def test_the_memory_is_at_most_the_counted_bytes(some):
    with traced_memory() as used:
        before, _ = used()
        kept = OwnedPartitions()
        kept.assign(CONSUMERS[0], {sys.intern(topic): numbers for topic, numbers in some.items()})
        after, _ = used()
    assert kept.size_bytes / 3 < after - before < kept.size_bytes
