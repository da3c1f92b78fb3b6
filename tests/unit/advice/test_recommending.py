"""What is recommended of which figures, and how it is said."""

from dataclasses import replace

import pytest

from rebalance_agent.advice import Figures, StrategyOutcome, WhatIf, history_of, recommend, replay, what_if
from rebalance_agent.advice.eligible_strategies import SIZE_MAX, ReplaySettings, refusal
from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.errors import AssignmentError
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from support.tracker.histories import clustered

EAGER, COOPERATIVE = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE


def figures(*, skew=1.0, stalled=100.0, moved=10, count=10, **more):
    return Figures(
        generations=count, moved=moved, skew_sum=skew * count, stalls=count, stalled_partition_seconds=stalled, **more
    )


def found(own, *, assignor="range", copartitioned=False, **others):
    outcomes = tuple(
        StrategyOutcome(name.replace("_", "-"), STRATEGIES[name.replace("_", "-")].protocol, each)
        for name, each in others.items()
    )
    return WhatIf("c", "g", assignor, EAGER, own, own, outcomes, copartitioned)


def test_the_least_skew_comes_first():
    advice = recommend(found(figures(skew=1.5, stalled=10), sticky=figures(skew=1.0, stalled=10), roundrobin=figures()))
    assert (advice.strategy, advice.protocol) == ("sticky", EAGER)
    assert advice.sentence == (
        "Use sticky instead of range: the most loaded member would have had 1.00 times its share instead of 1.50."
    )


def test_of_equal_balance_the_shorter_stall():
    advice = recommend(found(figures(), sticky=figures(stalled=99), cooperative_sticky=figures(stalled=20, moved=12)))
    assert (advice.strategy, advice.saved_partition_seconds, advice.saved_moves) == ("cooperative-sticky", 80, -2)
    assert advice.sentence.endswith("instead of 100, though 12 partitions would have moved instead of 10.")


def test_of_equal_stalls_the_fewer_moves():
    advice = recommend(found(figures(moved=30), sticky=figures(moved=10)))
    assert advice.sentence == "Use sticky instead of range: 10 partitions would have moved instead of 30."


@pytest.mark.parametrize("other", [figures(skew=1.04), figures(stalled=95), figures(moved=9, stalled=100)])
def test_what_is_hardly_better_is_nothing_better(other):
    advice = recommend(found(figures(skew=1.04 if other.skew_mean > 1 else 1.0), sticky=other))
    if other.moved == 9:
        assert advice.strategy == "sticky"  # a tenth of the moves is worth saying
        return
    assert (advice.strategy, advice.saved_moves, advice.saved_partition_seconds) == (None, None, None)
    assert advice.sentence == "Nothing better than range is known for this group."


def test_small_differences_do_not_add_up_to_something_worse():
    advice = recommend(
        found(figures(), sticky=figures(skew=1.04, stalled=50), shuffled_roundrobin=figures(skew=1.08, stalled=10))
    )
    assert advice.strategy == "sticky"


def test_few_rebalances_are_a_hint_only():
    assert recommend(found(figures(count=1), sticky=figures(count=1))).sentence.endswith(
        "Only 1 rebalance was seen: take it as a hint."
    )


def test_who_asked_for_weights_is_not_told_to_give_them_up():
    own = figures(stalled=100)
    advice = recommend(
        found(
            own,
            assignor="weighted-sticky",
            cooperative_sticky=figures(stalled=0),
            cooperative_weighted_sticky=figures(stalled=30),
        )
    )
    assert advice.strategy == "cooperative-weighted-sticky"


def test_of_a_foreign_assignor_nobody_knows_what_it_promises():
    advice = recommend(found(figures(skew=2.0), assignor="stream", sticky=figures()))
    assert advice.strategy is None
    assert advice.sentence == "What stream promises is not known here, so the figures are for comparing only."


def test_static_membership_is_worth_what_it_saves_less_what_waits():
    restarts = {"avoided": 6, "avoided_partition_seconds": 60.0}
    advice = recommend(found(figures(waited_partition_seconds=20.0, **restarts)))
    assert (advice.static_membership, advice.saved_partition_seconds) == (True, 40.0)
    assert advice.sentence == (
        "Nothing better than range is known for this group; but a group.instance.id for each member would have avoided "
        "6 rebalances and saved 40 partition-seconds."
    )
    assert not recommend(found(figures(waited_partition_seconds=59.5, **restarts))).static_membership


def test_who_may_rely_on_equal_numbers_is_warned():
    advice = recommend(found(figures(skew=2.0), copartitioned=True, sticky=figures()))
    assert advice.sentence.endswith("such as cooperative-copartitioned-sticky.")


def test_who_keeps_equal_numbers_together_need_not_be_warned():
    own = figures(stalled=100)
    better = {"cooperative_copartitioned_sticky": figures(stalled=1)}
    advice = recommend(found(own, assignor="copartitioned-sticky", copartitioned=True, **better))
    assert advice.strategy == "cooperative-copartitioned-sticky"
    assert "joins topics" not in advice.sentence


def test_few_known_stalls_are_a_hint_only():
    own, better = (replace(figures(stalled=stalled), stalls=2) for stalled in (100, 1))
    sentence = recommend(found(own, sticky=better)).sentence
    assert sentence.endswith(" Stalls are known of 2 of 10 rebalances only: take them as a hint.")
    assert "hint" not in recommend(found(own, sticky=replace(own, moved=1))).sentence


def test_a_group_that_nothing_serves_is_told_why():
    refused = StrategyOutcome("sticky", EAGER, refused="the broker assigns")
    sentence = recommend(WhatIf("c", "g", "uniform", COOPERATIVE, figures(), figures(), (refused,))).sentence
    assert sentence == "There is nothing to choose from: the broker assigns."


HISTORY = history_of(clustered(6))


def test_the_clustered_group_is_told_what_to_do():
    whole = what_if(HISTORY)
    advice = recommend(whole)
    assert (advice.strategy, advice.protocol) == ("cooperative-sticky", COOPERATIVE)
    assert whole.predicted.stalled_partition_seconds == pytest.approx(whole.recorded.stalled_partition_seconds)
    assert whole.copartitioned


def test_the_carried_assignment_is_the_strategys_own():
    lines = replay(HISTORY, STRATEGIES["cooperative-sticky"])
    assert [each.generation for each in lines] == [1, 2, 3, 4, 5, 6]
    assert {each.skew_ratio for each in lines} == {1.0}
    assert (lines[0].moved, lines[0].stalled_partition_seconds) == (0, None)
    assert all(each.excess == 0 for each in lines)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("failover", "nothing recorded asks for that"),
        ("redundant", "nothing recorded asks for that"),
        ("weighted-sticky", "no weights are recorded"),
        ("lag-aware", "events do not record"),
        ("cooperative-rack-aware-sticky", "racks of partitions"),
        ("task-sticky", "sub-topologies"),
    ],
)
def test_what_cannot_serve_is_refused_by_name(name, reason):
    assert reason in refusal(HISTORY, STRATEGIES[name])
    with pytest.raises(AssignmentError, match=f"{name}: "):
        replay(HISTORY, STRATEGIES[name])


def test_who_gives_the_settings_may_have_it():
    assert refusal(HISTORY, STRATEGIES["failover"], ReplaySettings({"assignment.consumer.priority": "5"})) is None


def test_a_group_of_another_kind_and_one_too_large_are_refused():
    others = [replace(each, group_type=GroupType.SHARE) for each in clustered(2)]
    assert "share group" in refusal(history_of(others), STRATEGIES["sticky"])
    large = history_of(clustered(2))
    large.__dict__["size"] = SIZE_MAX + 1  # what it would be is cached there
    assert refusal(large, STRATEGIES["sticky"]).startswith("too large: ")


def test_where_no_topics_are_alike_there_is_nothing_to_keep_together():
    alone = history_of(clustered(2, topics=1))
    assert "nothing to keep together" in refusal(alone, STRATEGIES["cooperative-copartitioned-sticky"])
    assert refusal(HISTORY, STRATEGIES["copartitioned-sticky"]) is None
