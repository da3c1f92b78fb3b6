"""Partitions of a sidecar's consumers: one owner in a group, and a cost that grows with what an event names."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.metrics.export import owned_partitions
from rebalance_agent.metrics.export.owned_partitions import ConsumerKey, OwnedPartitions, OwnedRanges
from rebalance_agent.model.partition_ranges import PartitionRanges
from rebalance_agent.model.partitions import to_ranges
from support.memory import traced_memory

CONSUMERS = [ConsumerKey("p", group, name) for group in ("g", "h") for name in "abc"]

numbers = st.sets(st.integers(0, 30), max_size=12).map(lambda found: tuple(sorted(found)))
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


class CountedRanges(OwnedRanges):
    """Ranges that count how many of them were read."""

    read = 0

    def __getitem__(self, part):
        found = super().__getitem__(part)
        CountedRanges.read += len(found)
        return found


def test_an_event_reads_only_ranges_that_it_changes(monkeypatch):
    monkeypatch.setattr(owned_partitions, "OwnedRanges", CountedRanges)
    monkeypatch.setattr(CountedRanges, "read", 0)
    kept, topics = OwnedPartitions(), [f"t{number}" for number in range(7)]
    for consumer, topic in zip(CONSUMERS[:1] * 7, topics, strict=True):
        kept.assign(consumer, {topic: tuple(range(0, 2_000, 2))})
    assert CountedRanges.read == 0
    for _ in range(100):
        kept.assign(CONSUMERS[1], dict.fromkeys(topics, PartitionRanges("900000")))
        kept.revoke(CONSUMERS[1], dict.fromkeys(topics, PartitionRanges("0-999999")))
        kept.revoke(CONSUMERS[2], dict.fromkeys(topics, PartitionRanges("0-999999")))
    assert CountedRanges.read <= 100 * len(topics) * 10, "of 7,000 ranges in each round"


@pytest.mark.parametrize("step", ["assign", "revoke"])
def test_the_ranges_of_a_topic_are_bounded(monkeypatch, step):
    monkeypatch.setattr(owned_partitions, "TOPIC_RANGES_MAX", 20)
    kept = OwnedPartitions()
    kept.assign(CONSUMERS[0], {"t": PartitionRanges("0-999")})
    for number in range(1, 900, 2):
        consumer = CONSUMERS[1] if step == "assign" else CONSUMERS[0]
        getattr(kept, step)(consumer, {"t": (number,)})
    ranges = [kept.first_ranges(consumer, 1_000).get("t") for consumer in CONSUMERS[:2]]
    assert sum(len(some.text.split(",")) for some in ranges if some) <= 21
    for consumer in CONSUMERS:
        assert kept.count(consumer) == len(owned_by(kept, consumer))
        kept.release(consumer)
    assert kept.size_bytes == 0


@pytest.mark.parametrize("some", [{f"t{n}": (1,) for n in range(2_000)}, {"t": tuple(range(0, 60_000, 2))}])
def test_the_memory_is_at_most_the_counted_bytes(some):
    with traced_memory() as used:
        before, _ = used()
        kept = OwnedPartitions()
        kept.assign(CONSUMERS[0], {sys.intern(topic): numbers for topic, numbers in some.items()})
        after, _ = used()
    assert kept.size_bytes / 3 < after - before < kept.size_bytes
