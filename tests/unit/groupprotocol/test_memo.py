"""The cache of external names, whose memory is bounded for any number of long names."""

from __future__ import annotations

import pytest

from rebalance_agent.cluster.name_filters import NameFilter
from rebalance_agent.groupprotocol.tables import GROUP_METADATA
from rebalance_agent.groupprotocol.wire.memo import LENGTH_MAX, remembered
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.polls.commits import CommittedOffsets
from support.kafka.commits import Shown, commit_key
from support.memory import traced_memory
from support.observer.fakes import FakeRecord, fake_context

LONG, MANY = "x" * 30_000, 300


@pytest.mark.parametrize(("length", "asked"), [(LENGTH_MAX, 1), (LENGTH_MAX + 1, 2)])
def test_only_short_names_are_cached(length, asked):
    questions = []
    read = remembered(lambda key: questions.append(key) or len(key), 10)
    assert [read(b"x" * length) for _ in range(2)] == [length] * 2
    assert len(questions) == asked


def _filtered():
    shows = NameFilter(".*", "x.*")
    return lambda number: shows(f"{LONG}{number}")


def _hidden_groups():
    context = fake_context(shows=NameFilter(".*", "x.*"))
    read = GroupRecords(context)
    keys = (GROUP_METADATA.key.encode(2, {"group": f"{LONG}{number}"}) for number in range(MANY))
    return lambda _number: read.of_groups([FakeRecord(next(keys), b"")]) and context.meters.made.clear()


def _commits():
    received = CommittedOffsets(lambda _group: False, fake_context().meters)
    return lambda number: received.on_records([Shown(number, commit_key(0, f"{LONG}{number}"), b"")], {})


@pytest.mark.parametrize("made", [_filtered, _hidden_groups, _commits])
def test_long_names_of_hidden_groups_are_not_kept(made):
    receive = made()
    with traced_memory() as used:
        for number in range(MANY):
            receive(number)
        kept, _ = used()
    assert kept < MANY * len(LONG) / 10
