"""Which groups are described with epochs, when, and what a poll knows about the time before."""

from __future__ import annotations

import pytest

from rebalance_agent.cluster.describing.epoch_describer import EpochDescriptions, EpochListing, Place
from rebalance_agent.cluster.name_filters import NameFilter
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.model.epoch_groups import DescribedEpochs
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.polls.describe_epochs import MOVING_MAX, EpochPoll
from rebalance_agent.tracking.observations import DescribedGroup
from support.observer.fakes import fake_context

STABLE, RECONCILING, DEAD = GroupState.STABLE, GroupState.RECONCILING, GroupState.DEAD
PLACE = Place(GroupType.CONSUMER, 1)


class FakeDescriber:
    def __init__(self):
        self.states = {}
        self.complete = True
        self.listed = []
        self.described = []
        self.refused = {}
        self.error = None
        self.closed = 0

    def list_groups(self, states=()):
        if self.error:
            raise self.error
        self.listed.append(states)
        names = [name for name, state in self.states.items() if not states or state in states]
        return EpochListing(dict.fromkeys(names, PLACE), self.complete)

    def begin_round(self):
        pass

    def describe(self, groups, *, repeated=False):
        self.described.append(sorted(groups))
        epochs = DescribedEpochs(1, 1, ())
        described = [
            DescribedGroup(name, self.states[name], GroupType.CONSUMER, "uniform", (), epochs)
            for name in groups
            if name in self.states and name not in self.refused
        ]
        return EpochDescriptions(described, {name: why for name, why in self.refused.items() if name in groups})

    def close(self):
        self.closed += 1


class Bench:
    def __init__(self):
        self.describer, self.needed = FakeDescriber(), True
        self.context = fake_context(self.describer, shows=NameFilter(".*", "hidden"))
        self.polls = EpochPoll(self.context, lambda: self.describer, lambda: self.needed)

    def put(self):
        return {each.value.group: each for each in self.context.inbox.take(999, 0)}


@pytest.fixture
def bench():
    return Bench()


def test_all_shown_groups_are_described(bench):
    bench.describer.states = {"a": STABLE, "b": RECONCILING, "hidden": STABLE}
    bench.polls.poll()
    assert {name: (each.absent_ms, each.idle_ms) for name, each in bench.put().items()} == {
        "a": (None, None),
        "b": (None, None),
    }
    assert (bench.polls.handles("a"), bench.polls.handles("hidden")) == (True, False)


def test_a_new_group_was_absent_from_the_last_complete_list(bench):
    bench.polls.poll()
    listed_ms = bench.context.clock.now_ms()
    bench.context.clock.advance(5)
    bench.describer.states = {"a": STABLE}
    bench.polls.poll()
    assert bench.put()["a"].absent_ms == listed_ms


def test_an_incomplete_list_is_no_evidence_of_absence(bench):
    bench.describer.states = {"a": STABLE}
    bench.polls.poll()
    bench.put()
    bench.describer.complete, bench.describer.states = False, {}
    bench.polls.poll()
    assert bench.put() == {}
    assert bench.polls.handles("a")


def test_a_group_that_is_no_longer_listed_is_gone(bench):
    bench.describer.states = {"a": STABLE}
    bench.polls.poll()
    bench.put()
    bench.describer.states = {}
    bench.polls.poll()
    assert bench.put()["a"].value.state is DEAD


def test_only_reconciling_groups_are_described_again_until_they_have_settled(bench):
    bench.describer.states = {"a": STABLE, "b": STABLE}
    bench.polls.poll()
    bench.polls.again()
    idle_ms = bench.context.clock.now_ms()
    bench.context.clock.advance(200)
    bench.put()
    bench.describer.states["b"] = RECONCILING
    bench.polls.again()
    assert {name: each.idle_ms for name, each in bench.put().items()} == {"b": idle_ms}
    bench.polls.again()
    assert bench.put()["b"].idle_ms is None, "it was known to reconcile"
    bench.describer.states["b"] = STABLE
    bench.polls.again()
    assert bench.put()["b"].value.state is STABLE
    bench.polls.again()
    assert bench.put() == {}


def test_many_reconciling_groups_are_described_in_turn(bench):
    bench.describer.states = {f"g{number:03}": RECONCILING for number in range(MOVING_MAX + 5)}
    bench.polls.poll()
    described = bench.describer.described[:]
    for _ in range(2):
        bench.polls.again()
    turns = bench.describer.described[len(described) :]
    assert [len(turn) for turn in turns] == [MOVING_MAX, MOVING_MAX]
    assert set().union(*turns) == set(bench.describer.states)


def test_nothing_is_requested_while_records_are_read(bench):
    bench.needed = False
    bench.polls.poll()
    bench.polls.again()
    assert bench.describer.listed == []


def test_a_login_that_cannot_be_used_is_reported_once(bench, caplog):
    def refuse():
        raise InvalidInputError("ssl.key.pem", "cannot be used")

    polls = EpochPoll(bench.context, refuse)
    polls.poll()
    polls.poll()
    assert len(caplog.records) == 1
    assert "ssl.key.pem" in caplog.text
    assert polls.undescribed().endswith("are described without epochs: ssl.key.pem: cannot be used")


def test_a_refused_group_is_left_to_the_other_poll_and_the_reason_is_logged_once(bench, caplog):
    bench.describer.states = {"a": STABLE, "b": RECONCILING}
    bench.describer.refused = {"b": "error 29"}
    for _ in range(2):
        bench.polls.poll()
        bench.polls.again()
    assert (bench.polls.handles("a"), bench.polls.handles("b")) == (True, False)
    assert [record.getMessage() for record in caplog.records] == [
        "groups of the newer protocols are described without epochs: error 29"
    ]
    assert bench.polls.undescribed().endswith("without epochs: 1 of them, for example 'b': error 29")
    bench.describer.refused = {}
    bench.polls.poll()
    assert (bench.polls.handles("b"), bench.polls.undescribed()) == (True, "")


def test_groups_are_left_to_the_other_poll_while_brokers_do_not_answer(bench, caplog):
    bench.describer.states = {"a": STABLE}
    bench.polls.poll()
    bench.describer.error = ClusterError("broker 1: timed out")
    bench.polls.poll()
    assert not bench.polls.handles("a")
    assert "broker 1: timed out" in caplog.text
    assert bench.polls.undescribed().endswith("without epochs: broker 1: timed out")
    bench.describer.error = None
    bench.polls.poll()
    assert not bench.polls.handles("a"), "it is not asked again at once"
    bench.context.clock.advance(1_000)
    bench.polls.poll()
    assert (bench.polls.handles("a"), bench.polls.undescribed()) == (True, "")


def test_failures_do_not_make_the_observer_unready(bench):
    bench.describer.error = ClusterError("broker 1: timed out")
    bench.polls.poll()
    assert bench.context.health.made == []


def test_a_group_without_an_answer_is_asked_for_again(bench):
    bench.describer.states = {"a": RECONCILING}
    bench.polls.poll()
    states, bench.describer.states = bench.describer.states, {}
    bench.polls.again()
    bench.describer.states = states | {"a": STABLE}
    bench.put()
    bench.polls.again()
    assert bench.put()["a"].value.state is STABLE


def test_the_connections_are_closed_when_records_are_read_again(bench):
    bench.describer.states = {"a": STABLE}
    bench.polls.poll()
    bench.needed = False
    bench.polls.again()
    bench.polls.again()
    assert (bench.describer.closed, bench.polls.handles("a")) == (1, False)
