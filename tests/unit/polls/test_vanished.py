"""The conditions under which a group without a tombstone counts as deleted, and those under which it must not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.cluster.name_filters import NameFilter
from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupType
from rebalance_agent.polls import vanished as module
from rebalance_agent.polls.vanished import ASKED_MAX, DENIED_ROUNDS, TIMES, VanishedGroups
from rebalance_agent.tracking.observations import GroupVanished
from support.observer.fakes import fake_context
from support.observer.views import full_view

PARTITIONS = 4
END = 100


class FakeCluster:
    def __init__(self):
        self.absent = {"g"}
        self.asked = []
        self.error = None

    def absent_groups(self, names):
        self.asked.append(tuple(names))
        if self.error:
            raise self.error
        return frozenset(self.absent & set(names))

    def end_offsets(self, topic, partitions):
        assert topic == "__consumer_offsets"
        return dict.fromkeys(partitions, END)


class Bench:
    def __init__(self):
        self.context = fake_context(FakeCluster(), shows=NameFilter(".*", "hidden"))
        self.cluster = self.context.cluster
        self.views = [full_view("g")]
        self.reached = dict.fromkeys(range(PARTITIONS), END)
        self.vanished = VanishedGroups(self.context, lambda: self.views, lambda: self.reached)
        self.vanished.on_topics({"__consumer_offsets": PARTITIONS})
        self.vanished.on_groups([])

    def rounds(self, number=1):
        for _ in range(number):
            self.vanished()
        return self.context.inbox.take(9, 0)


@pytest.fixture
def bench():
    return Bench()


def test_a_group_repeatedly_unknown_to_its_coordinator_is_gone(bench):
    assert bench.rounds(TIMES) == []
    assert bench.rounds() == [GroupVanished(bench.context.clock.now_ms(), "g", bench.views[0].version)]
    bench.views = []
    assert bench.rounds(2) == []


def test_a_vanished_group_is_reported_again_if_its_view_changed(bench):
    bench.rounds(TIMES + 1)
    bench.views = [replace(bench.views[0], version=8)]
    assert [each.version for each in bench.rounds()] == [8]


@pytest.mark.parametrize(
    "changes",
    [{"source": Source.ADMIN}, {"group_type": GroupType.SHARE}, {"group_type": GroupType.STREAMS}, {"group": "hidden"}],
)
def test_groups_without_records_or_without_a_request_for_their_type_are_not_described(bench, changes):
    bench.views = [replace(bench.views[0], **changes)]
    bench.cluster.absent = {"g", "hidden"}
    assert bench.rounds(2 * TIMES) == []
    assert bench.cluster.asked == []


def test_a_listed_group_is_not_described_and_a_hidden_one_is_only_described(bench):
    bench.vanished.on_groups(["g"])
    bench.rounds()
    assert bench.cluster.asked == []
    bench.vanished.on_groups([])
    bench.cluster.absent = set()  # the group is hidden by missing rights, or exists
    assert bench.rounds(2 * TIMES) == []
    assert bench.cluster.asked == [("g",)] * 2 * TIMES


@pytest.mark.parametrize("interrupted", ["listed", "described", "created again"])
def test_only_consecutive_responses_count_and_a_new_group_starts_again(bench, interrupted):
    bench.rounds(TIMES)
    if interrupted == "listed":
        bench.vanished.on_groups(["g"])
        bench.rounds()
        bench.vanished.on_groups([])
    elif interrupted == "described":
        bench.reached = {}
        bench.cluster.absent = set()
        bench.rounds()
        bench.cluster.absent, bench.reached = {"g"}, dict.fromkeys(range(PARTITIONS), END)
    else:
        bench.views = [replace(bench.views[0], first_seen_ms=1)]
    assert bench.rounds(TIMES) == []
    assert len(bench.rounds()) == 1


@pytest.mark.parametrize("reached", [{}, {offsets_partition("g", PARTITIONS): END - 1}])
def test_no_group_has_vanished_before_the_topic_was_read_to_its_end(bench, reached):
    bench.reached = reached
    assert bench.rounds(2 * TIMES) == []
    bench.reached = {offsets_partition("g", PARTITIONS): END}
    assert bench.rounds(TIMES - 1) == []
    assert len(bench.rounds()) == 1


def test_nothing_is_requested_before_groups_and_partitions_are_known(bench):
    fresh = VanishedGroups(bench.context, lambda: bench.views, lambda: bench.reached)
    fresh()
    fresh.on_groups([])
    fresh()
    assert bench.cluster.asked == []
    fresh.on_topics({"__consumer_offsets": PARTITIONS})
    fresh()
    assert bench.cluster.asked == [("g",)]


def test_very_many_groups_are_described_in_batches_in_turn(bench):
    names = [f"g{number:03}" for number in range(2 * ASKED_MAX + 50)]
    bench.views = [full_view(name) for name in names]
    bench.cluster.absent = set(names)
    bench.rounds(5)
    assert all(len(asked) == ASKED_MAX for asked in bench.cluster.asked)
    assert bench.cluster.asked[0] + bench.cluster.asked[1] + bench.cluster.asked[2][:50] == tuple(names)
    assert bench.cluster.asked[2][50:] == tuple(names[:50])


def test_requests_to_unreachable_brokers_are_repeated_at_the_next_poll_and_a_refusal_counts_for_an_hour(bench):
    bench.cluster.error = ClusterError("away")
    bench.rounds(2)
    assert len(bench.cluster.asked) == 2
    bench.cluster.error = AccessDeniedError("no")
    bench.rounds(1 + DENIED_ROUNDS)
    assert len(bench.cluster.asked) == 3
    assert DENIED_ROUNDS * module.VANISHED_EVERY_S == 3_600
    bench.cluster.error = None
    assert len(bench.rounds(TIMES + 1)) == 1
