from __future__ import annotations

import contextlib
import functools
from types import SimpleNamespace

import pytest

from rebalance_agent.api.history import HistoryLimits
from rebalance_agent.demo.observed import observer_data
from rebalance_agent.demo.observed.gauges import GroupGauges
from rebalance_agent.demo.observed.observer_data import DemoObserver
from rebalance_agent.errors import ClusterError
from rebalance_agent.model.episode import Evidence, Phases, Source
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import GroupGoneEvent
from rebalance_agent.model.group import GroupType
from support.members.threads import until
from support.observer.demo_events import generation_event, snapshot


def observer(*events):
    watching = DemoObserver("http://127.0.0.1:1", "127.0.0.1:1")
    for event in events:
        watching.history.on_event(event)
    return watching


class Cluster:
    """The topic ``rebalance-events`` and the clients that were made; the first ``failing`` ones are answered never."""

    def __init__(self, events, failing=0, silent=0, topic=True):
        self.events, self.failing, self.silent, self.topic = list(events), failing, silent, topic
        self.clients = []

    def __call__(self, *_arguments):
        self.clients.append(Client(self, len(self.clients)))
        return self.clients[-1]


class Client(contextlib.nullcontext):
    def __init__(self, cluster, number):
        super().__init__(self)
        self.cluster, self.number, self.positions, self.answered = cluster, number, {}, False

    @property
    def silent(self):
        """Whether it reads one event and is then answered no more."""
        return self.number < self.cluster.silent

    def partitions(self):
        if self.number < self.cluster.failing or (self.silent and self.answered):
            raise ClusterError("Local: Timed out")
        return int(self.cluster.topic)

    def begin(self, offsets):
        self.positions |= {partition: max(offset, 0) for partition, offset in offsets.items()}

    def read(self, _records_max, _timeout):
        if not self.positions or (self.silent and self.answered):
            return []
        self.answered = True
        events = self.cluster.events[self.positions[0] :][: 1 if self.silent else None]
        self.positions[0] += len(events)
        return [SimpleNamespace(value=functools.partial(json_line, event)) for event in events]


@pytest.fixture
def reading(monkeypatch):
    """Reads a cluster's events in a thread until the end of the test."""
    with contextlib.ExitStack() as stack:

        def read(cluster):
            monkeypatch.setattr(observer_data, "TopicReader", cluster)
            monkeypatch.setattr(observer_data, "READ_SECONDS", 0.001)
            return stack.enter_context(observer())

        yield read


def test_a_client_that_is_never_answered_is_replaced_and_the_problem_is_said_once(reading):
    cluster = Cluster([generation_event(1)], failing=10**9)
    watching = reading(cluster)
    until(lambda: len(cluster.clients) > 2)
    assert watching.problem_news() == "events cannot be read now: Local: Timed out; retrying"
    assert watching.problem_news() == ""
    cluster.failing = 0
    until(lambda: watching.episodes("g"))
    until(lambda: not watching.problem)
    assert watching.problem_news() == "events are read again"


def test_a_client_that_falls_silent_is_replaced_and_no_event_is_lost(reading):
    cluster = Cluster(map(generation_event, range(1, 6)), silent=2)
    watching = reading(cluster)
    until(lambda: len(watching.episodes("g")) == 5)
    assert [client.positions for client in cluster.clients] == [{0: 1}, {0: 2}, {0: 5}]


def test_a_topic_that_does_not_exist_yet_is_no_news_but_the_reason_why_nothing_is_read(reading):
    watching = reading(Cluster([], topic=False))
    until(lambda: watching.problem == observer_data.NO_TOPIC)
    assert watching.problem_news() == ""


def test_a_higher_revision_replaces_a_lower_one_in_any_order_of_arrival():
    first, better = generation_event(moved=1), generation_event(moved=2, revision=1)
    for order in ((first, better), (better, first)):
        assert observer(*order).episodes("g") == [better]


def test_episodes_are_the_closing_events_in_order():
    opening = generation_event(2, closes_episode=False, episode_generation=2)
    closing = [generation_event(1), generation_event(3, episode_generation=2), generation_event(4)]
    watching = observer(closing[0], opening, *closing[1:])
    assert [event.generation for event in watching.episodes("g")] == [1, 3, 4]
    assert [line.generation for line in watching.completed("g")] == [4, 3, 1]


def test_other_kinds_and_unknown_groups_are_ignored():
    watching = observer(GroupGoneEvent("id", "c", "g", 1, Source.RECORDS, GroupType.CLASSIC))
    assert watching.completed("g") == []
    assert watching.episodes("g") == []
    assert list(watching.explain_news("g")) == []


def test_a_long_demo_keeps_the_newest_rebalances():
    rebalances_max = HistoryLimits().rebalances
    episodes = observer(*map(generation_event, range(1, rebalances_max + 11))).episodes("g")
    assert len(episodes) == rebalances_max
    assert episodes[-1].generation == rebalances_max + 10


def test_each_rebalance_is_explained_once_per_revision():
    alone = (snapshot("m-1", "one", 0, 1, 2),)
    watching = observer(generation_event(6, members=alone), generation_event(7, slowest_seconds=6.1))
    first, second = watching.explain_news("g")
    assert first.startswith("g: 1970-01-01 00:00:06.000 UTC, generation 6 (range, eager)\n")
    assert second.startswith("g: 1970-01-01 00:00:07.000 UTC, generation 7 (range, eager)\n")
    words = " ".join(second.split())
    assert "Why: two (127.0.0.1) joined." in words
    assert "two was the last member to be ready, 6.1 s after the start." in words
    assert "The longest stall of a partition was 6.2 s (measured by the members)" in words
    assert "1 partition moved: t 2 from one to two." in words
    assert list(watching.explain_news("g")) == []
    watching.history.on_event(generation_event(7, revision=1))
    (again,) = watching.explain_news("g")
    assert again.startswith("g (revised): 1970-01-01 00:00:07.000 UTC, generation 7")


def test_a_member_is_not_the_last_one_if_the_join_phase_lasted_clearly_longer():
    """Something else was waited for: a member that does not report, or one that had departed."""
    alone = (snapshot("m-1", "one", 0, 1, 2),)
    phases = Phases(7_000, Evidence.RECORD, started_ms=6_000 - 24_500, joined_ms=6_900)
    waited = {"slowest_seconds": 4.9, "slowest_lower_seconds": 0.0, "phases": phases}
    (_, text) = observer(generation_event(6, members=alone), generation_event(7, **waited)).explain_news("g")
    words = " ".join(text.split())
    assert "25.4 s of it waiting for every member to rejoin" in words
    assert (
        "two was the last of the reporting members to return from its revoked callback, up to 4.9 s after the" in words
    )
    assert "the last member to be ready" not in words


def test_an_observer_that_does_not_respond_has_no_data():
    assert observer().groups == {}
    assert observer().gauges()["g"] == GroupGauges()
