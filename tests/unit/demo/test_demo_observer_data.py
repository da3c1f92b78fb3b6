from __future__ import annotations

from rebalance_agent.api.history import HistoryLimits
from rebalance_agent.demo.observed.gauges import GroupGauges
from rebalance_agent.demo.observed.observer_data import DemoObserver
from rebalance_agent.model.episode import Source
from rebalance_agent.model.events import GroupGoneEvent
from rebalance_agent.model.group import GroupType
from support.observer.demo_events import generation_event, snapshot


def observer(*events):
    watching = DemoObserver("http://127.0.0.1:1", "127.0.0.1:1")
    for event in events:
        watching.history.on_event(event)
    return watching


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


def test_an_observer_that_does_not_respond_has_no_data():
    assert observer().groups == {}
    assert observer().gauges()["g"] == GroupGauges()
