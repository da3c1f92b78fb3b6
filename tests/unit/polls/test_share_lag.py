"""Lag of share groups, measured only while a followed share group is known."""

from __future__ import annotations

import logging

import pytest

from rebalance_agent.api.view_shapes import build_summary
from rebalance_agent.cluster.describing.share_offsets import ShareOffset, SharePositions
from rebalance_agent.cluster.name_filters import NameFilter
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.model.group import GroupType
from rebalance_agent.polls import share_lag as module
from rebalance_agent.polls.share_lag import RETRY_MAX_S, ShareLagPoll
from rebalance_agent.tracking.lag.group_lag import TopicLag
from rebalance_agent.tracking.patterns.empty_groups import EmptyGroup
from rebalance_agent.ui.sentences.empty_text import Urgency, urgency
from support.observer.fakes import fake_context
from support.observer.views import full_view


class Bench:
    """A cluster whose share groups have ``positions``; it is also the reader."""

    def __init__(self):
        self.positions = SharePositions({"s": {("t", 0): ShareOffset(10, 6), ("t", 1): ShareOffset(4, 0)}})
        self.growth = {("t", 0): 20, ("t", 1): 4}
        self.failure, self.made, self.closed, self.selected = None, 0, 0, []
        self.context = fake_context(self)
        self.views = [full_view("s", group_type=GroupType.SHARE), full_view("g")]
        self.shared = ShareLagPoll(self.context, NameFilter("s.*|g"), lambda: self.views, self.make)

    def make(self):
        if isinstance(self.failure, InvalidInputError):
            raise self.failure
        self.made += 1
        return self

    def read(self, selects):
        if self.failure:
            raise self.failure
        self.selected = [name for name in ("s", "s2", "g", "other") if selects(name)]
        return self.positions

    def ends(self, partitions):
        return {partition: self.growth[partition] for partition in partitions}

    def close(self):
        self.closed += 1

    def poll(self, seconds=15):
        self.context.clock.advance(seconds * 1000)
        self.shared.poll()
        return self.shared.lags


@pytest.fixture
def bench():
    return Bench()


def test_the_lag_is_what_the_coordinator_counts(bench):
    lag = bench.poll()["s"]
    assert (lag.offsets, lag.topics, lag.catch_up, lag.has_owned) == (6, (TopicLag("t", 6, None),), None, False)
    assert bench.selected == ["s"]


def test_the_age_is_that_of_the_first_record_which_is_not_acknowledged(bench):
    bench.growth[("t", 0)] = 10
    bench.poll()
    bench.growth[("t", 0)] = 20
    bench.poll()  # the records 10 to 19 were appended in these 15 s
    lag = bench.poll()["s"]
    assert lag.seconds == pytest.approx(15 + 15 * 9 / 10)


def test_the_growth_of_the_end_offsets_shows_that_an_empty_group_falls_behind(bench):
    assert bench.poll()["s"].appended_per_second is None
    bench.growth[("t", 0)] += 30
    lag = bench.poll()["s"]
    assert lag.appended_per_second == pytest.approx(2)
    gone = EmptyGroup(bench.context.clock.now_ms() - 301_000, members=1, partitions=2)
    empty = full_view("s", GroupType.SHARE, members=(), running=None, empty=gone)
    assert urgency(build_summary(empty, lag), bench.context.clock.now_ms()) is Urgency.NOW


def test_without_a_share_group_nothing_is_requested(bench):
    bench.views = [full_view("g"), full_view("other", group_type=GroupType.SHARE)]
    assert (bench.poll(), bench.made) == ({}, 0)


def test_the_connections_are_closed_when_the_last_share_group_is_gone(bench):
    bench.poll()
    bench.views = []
    assert (bench.poll(), bench.closed) == ({}, 1)
    bench.views = [full_view("s", group_type=GroupType.SHARE)]
    assert bench.poll().keys() == {"s"}
    assert bench.made == 2


def test_after_a_failure_there_is_no_lag_until_the_next_success(bench, caplog):
    bench.poll()
    bench.failure = ClusterError("no broker answers")
    assert [bench.poll(seconds=RETRY_MAX_S) for _ in range(3)] == [{}] * 3
    assert caplog.text.count("no broker answers") == 1
    bench.failure = None
    assert bench.poll(seconds=2 * RETRY_MAX_S).keys() == {"s"}


def test_a_login_that_kafka_python_lacks_ends_the_measurement_with_a_warning(bench, caplog):
    bench.failure = InvalidInputError("kafka-python", "is not installed")
    bench.poll()
    bench.failure = None
    assert bench.poll() == {}
    assert "kafka-python: is not installed" in caplog.text


def test_a_refused_group_is_logged_once(bench, caplog):
    caplog.set_level(logging.WARNING)
    bench.positions = SharePositions({}, {"s": "error 30"})
    bench.poll()
    bench.poll()
    assert caplog.text.count("for example of 's': error 30") == 1


def test_the_number_of_partitions_is_bounded(bench, monkeypatch, caplog):
    monkeypatch.setattr(module, "PARTITIONS_MAX", 2)
    bench.positions = SharePositions({**bench.positions.groups, "a": {("t", 0): ShareOffset(10, 1)}})
    assert bench.poll().keys() == {"a"}
    assert "at most 2 partitions are measured" in caplog.text
