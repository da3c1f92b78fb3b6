"""Topologies of streams groups are read rarely, of few groups at a time, and of new groups soon."""

from __future__ import annotations

import pytest

from rebalance_agent.cluster.describing.topologies import TopologiesRead
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.model.epoch_groups import StreamsTopology
from rebalance_agent.model.group import GroupType
from rebalance_agent.polls.settings.read_schedule import GROUPS_MAX, LOOK_EVERY_S, REFRESH_S, RETRY_S
from rebalance_agent.polls.settings.topology_poll import ALL_BYTES_MAX, TopologyPoll
from support.observer.fakes import fake_context
from support.observer.views import full_view

FIRST, SECOND = StreamsTopology(1, ()), StreamsTopology(2, ())


class Bench:
    """A cluster with the streams group ``s`` and a classic group; ``answers``: group -> topology or refusal."""

    def __init__(self):
        self.groups, self.answers, self.requested, self.opened, self.closed = ["s"], {}, [], 0, 0
        self.error = None
        self.context = fake_context(self)
        self.poll = TopologyPoll(self.context, self.views, self.make)

    def views(self):
        return [full_view("g"), *(full_view(name, group_type=GroupType.STREAMS) for name in self.groups)]

    def make(self):
        if isinstance(self.error, InvalidInputError):
            raise self.error
        self.opened += 1
        return self

    def read(self, selects):
        names = [name for name in self.groups if selects(name)]
        self.requested += names
        if self.error:
            raise self.error
        answers = {name: self.answers.get(name, FIRST) for name in names}
        refused = {name: answer for name, answer in answers.items() if isinstance(answer, str)}
        return TopologiesRead({name: answers[name] for name in names if name not in refused}, refused)

    def close(self):
        self.closed += 1

    def after(self, seconds):
        """Return the groups whose topologies are read at a call after ``seconds``, and the topologies that are put."""
        self.requested.clear()
        self.context.clock.advance(round(seconds * 1000))
        self.poll()
        observed = self.context.inbox.take(10, 0)
        return list(self.requested), (observed[-1].topologies if observed else None)


@pytest.fixture
def bench():
    return Bench()


def test_without_a_streams_group_nothing_is_opened_or_observed(bench):
    bench.groups = []
    assert bench.after(0) == ([], None)
    assert bench.opened == 0


def test_topologies_are_read_again_only_after_minutes_but_those_of_a_new_group_at_the_next_call(bench):
    assert bench.after(0) == (["s"], {"s": FIRST})
    bench.groups = ["s", "new"]
    assert bench.after(LOOK_EVERY_S)[0] == ["new"]
    bench.answers["s"] = SECOND
    assert bench.after(REFRESH_S - LOOK_EVERY_S - 1) == ([], {"s": FIRST, "new": FIRST})
    assert bench.after(1) == (["s"], {"s": SECOND, "new": FIRST})


def test_a_group_that_is_not_ready_is_read_again_sooner(bench):
    bench.answers["s"] = None
    assert bench.after(0) == (["s"], {"s": None})
    del bench.answers["s"]
    assert bench.after(RETRY_S) == (["s"], {"s": FIRST})


def test_after_a_failure_the_topology_is_kept(bench, caplog):
    bench.after(0)
    bench.error = ClusterError("no broker answers")
    for _ in range(2):
        assert bench.after(REFRESH_S) == (["s"], {"s": FIRST})
    assert caplog.text.count("no broker answers") == 1
    bench.error, bench.answers["s"] = None, SECOND
    assert bench.after(RETRY_S) == (["s"], {"s": SECOND})


def test_a_refused_group_keeps_its_topology_and_is_named(bench, caplog):
    bench.after(0)
    bench.answers["s"] = "error 30: denied"
    assert bench.after(REFRESH_S) == (["s"], {"s": FIRST})
    assert "for example of 's': error 30: denied" in caplog.text


def test_a_refused_group_is_named_once_although_other_groups_are_read_meanwhile(bench, caplog):
    bench.answers["s"] = "error 30: denied"
    bench.after(0)
    bench.groups = ["s", "t"]
    assert bench.after(LOOK_EVERY_S)[0] == ["t"]
    assert bench.after(RETRY_S)[0] == ["s"]
    assert caplog.text.count("for example of 's'") == 1
    bench.answers["s"] = FIRST
    bench.after(RETRY_S)
    bench.answers["s"] = "error 30: denied"
    bench.after(REFRESH_S)
    assert caplog.text.count("for example of 's'") == 2, "it was read in between"


def test_a_login_that_cannot_be_used_is_reported_once(bench, caplog):
    bench.error = InvalidInputError("kafka-python", "is not installed")
    for _ in range(2):
        assert bench.after(RETRY_S) == ([], None)
    assert caplog.text.count("is not installed") == 1


def test_one_call_reads_few_groups_and_the_next_calls_read_the_others(bench):
    bench.groups = [f"s{number:02}" for number in range(GROUPS_MAX + 5)]
    first, second = bench.after(0)[0], bench.after(LOOK_EVERY_S)[0]
    assert (len(first), sorted(first + second)) == (GROUPS_MAX, bench.groups)


def test_the_names_of_all_topologies_are_bounded(bench, caplog):
    half = StreamsTopology(1, (), ("n" * (ALL_BYTES_MAX // 2),))
    bench.groups = ["r", "s", "t"]
    bench.answers = {"r": half, "s": half, "t": StreamsTopology(1, (), ("n",))}
    assert bench.after(0)[1] == {"r": half, "s": half, "t": None}
    assert "for example of 't': the names of all topologies have more than" in caplog.text
    bench.answers["r"] = FIRST
    assert bench.after(REFRESH_S)[1] == {"r": FIRST, "s": half, "t": bench.answers["t"]}


def test_groups_that_were_never_read_come_before_those_whose_last_read_failed(bench):
    bench.groups = [f"s{number:03}" for number in range(6 * GROUPS_MAX)]
    bench.answers = dict.fromkeys(bench.groups, "error 30: denied")
    read = [name for _ in range(6) for name in bench.after(LOOK_EVERY_S)[0]]
    assert sorted(read) == bench.groups


def test_connections_are_closed_when_the_last_streams_group_is_gone(bench):
    bench.after(0)
    bench.groups = []
    assert bench.after(LOOK_EVERY_S) == ([], None)
    assert (bench.opened, bench.closed) == (1, 1)
    bench.poll.close()
    assert bench.closed == 1
