"""Events become rebalances in order."""

from dataclasses import replace
from importlib import import_module

from rebalance_agent.advice import fidelity, what_if
from rebalance_agent.advice.replay.recorded_history import history_of, since_last_assignor
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.model.subscription import MemberSubscription
from support.tracker.histories import generation, snapshot

A, B = MemberSubscription("a", ("t",)), MemberSubscription("b", ("t",), "static-b")


def event(number, *members, **fields):
    return generation(number, members, {"t": 2}, **fields)


def test_the_newest_revision_counts_and_rebalances_are_ordered_by_time():
    one, two = event(1, snapshot(A, {"t": (0, 1)})), event(2, snapshot(A, {"t": (0, 1)}))
    history = history_of([two, one, replace(one, revision=1, moved=7), replace(one, moved=3)])
    assert [each.generation for each in history.generations] == [1, 2]
    assert history.generations[0].moved == 7
    assert [each.before for each in history.rebalances] == [None, history.generations[0]]


def test_a_cooperative_episode_is_one_rebalance():
    first = event(2, snapshot(A, {"t": (0,)}), closes_episode=False, protocol=RebalanceProtocol.COOPERATIVE)
    last = event(3, snapshot(A, {"t": (0, 1)}), episode_generation=2, protocol=RebalanceProtocol.COOPERATIVE)
    (found,) = history_of([first, last]).rebalances
    assert (found.generations, found.closing) == ((first, last), last)


def test_an_episode_without_its_end_is_omitted():
    begun = event(2, snapshot(A, {}), closes_episode=False)
    after = event(4, snapshot(A, {"t": (0, 1)}))
    assert [each.closing for each in history_of([begun, after]).rebalances] == [after]


def test_the_return_of_a_static_member_is_no_decision():
    one = event(1, snapshot(B, {"t": (0, 1)}))
    back = event(
        1,
        snapshot(replace(B, member_id="b2"), {"t": (0, 1)}),
        at_ms=one.timestamp_ms + 5_000,
        previous_generation=1,
    )
    history = history_of([one, back])
    assert [each.returned for each in history.rebalances] == [False, True]
    assert [each.closing for each in history.decided] == [one]
    assert history.rebalances[1].identities == ("static-b",)


def test_a_history_begins_after_the_last_migration():
    old = event(1, snapshot(A, {"t": (0, 1)}), assignor="range")
    new = event(2, snapshot(A, {"t": (0, 1)}), group_type=GroupType.CONSUMER, assignor="uniform")
    history = history_of([old, new])
    assert history.generations == (new,)
    assert (history.group_type, history.assignor) == (GroupType.CONSUMER, "uniform")


def test_a_single_part_of_an_event_is_no_generation():
    whole = event(1, snapshot(A, {"t": (0, 1)}))
    assert history_of([whole, replace(event(2, snapshot(A, {})), part=1, parts=2)]).generations == (whole,)


def test_an_empty_history_is_valid():
    history = history_of([])
    assert (history.last, history.assignor, history.decided, history.size) == (None, None, (), 0)


def test_partitions_without_an_owner_count_because_a_replay_assigns_them():
    assert history_of([event(1, snapshot(A, {"t": (0, 1)})), event(2, snapshot(A, {}))]).size == 6


def test_a_history_with_too_many_partitions_without_an_owner_is_not_replayed(monkeypatch):
    """A short event can name a topic of two billion partitions, which a replay cannot hold in memory."""
    for module in ("eligible_strategies", "fidelity"):
        monkeypatch.setattr(import_module(f"rebalance_agent.advice.replay.{module}"), "SIZE_MAX", 20)
    history = history_of([generation(1, [snapshot(A, {})], {"t": 20}, unassigned=20, assignor="range")])
    assert {(outcome.refused or "").partition(":")[0] for outcome in what_if(history).outcomes} == {"too large"}
    (line,) = fidelity(history).lines
    assert (line.checked, line.not_comparable) == (0, 1)
    assert line.reason == "the history is too large: more than 20 members and partitions over all rebalances"


def test_a_return_is_recognised_without_earlier_events():
    """This happens at the beginning of each part of a long history."""
    back = event(1, snapshot(B, {"t": (0, 1)}), previous_generation=1)
    assert history_of([back]).decided == ()


def test_a_recreated_group_starts_without_state():
    old = event(1, snapshot(A, {"t": (0, 1)}))
    new = event(1, snapshot(A, {"t": (0, 1)}), at_ms=old.timestamp_ms + 5_000, previous_generation=None)
    found = history_of([old, new])
    assert [(each.before, each.returned) for each in found.rebalances] == [(None, False), (None, False)]


def test_the_state_before_a_rebalance_is_unknown_after_a_gap():
    one, four = event(1, snapshot(A, {"t": (0, 1)})), event(4, snapshot(A, {"t": (0, 1)}))
    assert [each.before for each in history_of([one, four]).rebalances] == [None, None]


def test_figures_cover_one_assignor_only():
    events = [event(number, snapshot(A, {"t": (0, 1)}), assignor=name) for number, name in enumerate("aabbb", 1)]
    found = since_last_assignor(history_of(events))
    assert [each.closing.generation for each in found.rebalances] == [3, 4, 5]
    assert found.rebalances[0].before is events[1]
    assert since_last_assignor(found) == found
