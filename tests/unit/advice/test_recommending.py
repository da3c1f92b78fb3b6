"""The recommendation for given figures, and its sentences."""

from dataclasses import replace

import pytest

from rebalance_agent.advice import Figures, StrategyOutcome, WhatIf, history_of, recommend, replay, what_if
from rebalance_agent.advice.client_kinds import ClientKind
from rebalance_agent.advice.replay.eligible_strategies import SIZE_MAX, ReplaySettings, refusal
from rebalance_agent.advice.slow_members import SlowMember
from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.assignors.hosts.topic_hosts import HostSpread
from rebalance_agent.errors import AssignmentError
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from support.tracker.histories import clustered

EAGER, COOPERATIVE = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE
CONSUMER = GroupType.CONSUMER


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


def test_the_strategy_with_the_least_skew_is_preferred():
    advice = recommend(found(figures(skew=1.5, stalled=10), sticky=figures(skew=1.0, stalled=10), roundrobin=figures()))
    assert (advice.strategy, advice.protocol) == ("sticky", EAGER)
    assert advice.sentence == (
        "Use sticky instead of range: the most loaded member would have had its share of the partitions instead of 50% "
        "more. The change takes two rolling restarts: first with both assignors in each member's "
        "partition.assignment.strategy, then with sticky alone."
    )


def test_a_smaller_excess_of_the_most_loaded_member_is_a_percentage():
    advice = recommend(found(figures(skew=1.5, stalled=10), sticky=figures(skew=1.05, stalled=10)))
    assert "would have had 5% more than its share of the partitions instead of 50% more." in advice.sentence


def test_with_equal_balance_fewer_topics_on_one_host_are_preferred():
    own, better = (figures(spreads=10, clustered_sum=share, stalled=stalled) for share, stalled in ((10, 10), (0, 90)))
    advice = recommend(found(own, assignor="roundrobin", shuffled_roundrobin=better))
    assert advice.strategy == "shuffled-roundrobin"
    assert "0% of the topics would have been entirely on one host instead of 100%, though" in advice.sentence
    little = figures(spreads=10, clustered_sum=7.6, stalled=10)
    assert recommend(found(own, assignor="roundrobin", shuffled_roundrobin=little)).strategy is None


def test_advice_names_topics_on_one_host_and_a_remedy_if_no_strategy_helps():
    own = figures(spreads=10, clustered_sum=10)
    history = replace(found(own, assignor="roundrobin"), host_spread=HostSpread(80, 41, 4, 0.5, 1e-9))
    advice = recommend(history)
    assert advice.advises
    assert advice.sentence.startswith(
        "41 of 80 topics have all their partitions on one of 4 hosts. roundrobin assigns in the order of"
    )
    assert "member ids" not in recommend(replace(history, assignor="sticky")).sentence
    cured = recommend(replace(history, outcomes=found(own, shuffled_roundrobin=figures()).outcomes))
    assert "member ids" not in cured.sentence


def with_anew(history, **clustered):
    """The what-if with a number of 80 topics on one of two hosts after a restart of all members; ``own``: for the
    group's own strategy."""
    anew = {name.replace("_", "-"): HostSpread(80, count, 2, 0.5, 1e-9) for name, count in clustered.items()}
    outcomes = tuple(replace(each, spread_anew=anew.get(each.strategy)) for each in history.outcomes)
    return replace(history, outcomes=outcomes, host_spread=HostSpread(80, 0, 2, 1.0, 1.0), spread_anew=anew.get("own"))


def test_a_strategy_that_only_keeps_topics_on_several_hosts_is_not_recommended():
    own, better = figures(spreads=10, stalled=90), figures(spreads=10, stalled=1)
    history = found(
        own, assignor="shuffled-roundrobin", sticky=figures(spreads=10, stalled=50), cooperative_sticky=better
    )
    assert recommend(history).strategy == "cooperative-sticky"
    advice = recommend(with_anew(history, own=0, sticky=80, cooperative_sticky=80))
    assert (advice.strategy, advice.advises) == (None, False)
    assert advice.sentence == (
        "No strategy better than shuffled-roundrobin is known for this group. cooperative-sticky is not recommended: "
        "if all members stopped and started again, 80 of 80 topics would be entirely on one host, instead of 0 with "
        "shuffled-roundrobin."
    )
    unknown = recommend(with_anew(history, sticky=80, cooperative_sticky=80))
    assert (unknown.strategy, "host, instead of 0 now." in unknown.sentence) == (None, True)
    second = recommend(with_anew(history, own=0, sticky=0, cooperative_sticky=80))
    assert (second.strategy, "cooperative-sticky is not recommended: " in second.sentence) == ("sticky", True)


@pytest.mark.parametrize(("own", "other", "strategy"), [(80, 80, "sticky"), (0, 19, "sticky"), (0, 20, None)])
def test_a_strategy_may_put_as_many_topics_on_one_host_as_the_own_one_and_a_few_more(own, other, strategy):
    history = found(figures(spreads=10), assignor="roundrobin", sticky=figures(spreads=10, stalled=1))
    advice = recommend(with_anew(history, own=own, sticky=other))
    assert advice.strategy == strategy
    assert ("is not recommended" in advice.sentence) is (strategy is None)


def test_a_strategy_without_an_advantage_is_not_mentioned():
    history = found(figures(spreads=10), assignor="roundrobin", sticky=figures(spreads=10))
    assert "sticky" not in recommend(with_anew(history, own=0, sticky=80)).sentence


def test_a_strategy_that_puts_topics_on_one_host_after_a_restart_is_not_recommended():
    """A replay that begins with few members may keep topics on several hosts that a restart of all members would
    not."""
    own, kept = figures(spreads=10, clustered_sum=10), figures(spreads=10, stalled=1)
    history = found(own, assignor="roundrobin", cooperative_sticky=kept, shuffled_roundrobin=figures(spreads=10))
    assert recommend(history).strategy == "cooperative-sticky"
    advice = recommend(with_anew(history, own=80, cooperative_sticky=80, shuffled_roundrobin=0))
    assert advice.strategy == "shuffled-roundrobin"
    assert "0% of the topics would have been entirely on one host instead of 100%" in advice.sentence
    alone = replace(history, outcomes=history.outcomes[:1])
    advice = recommend(with_anew(alone, own=80, cooperative_sticky=80))
    assert (advice.strategy, "on one host" in advice.sentence) == ("cooperative-sticky", False)


@pytest.mark.parametrize("spread", [None, HostSpread(80, 40, 4, 0.5, 1e-9), HostSpread(80, 80, 4, 0.5, 1e-5)])
def test_advice_ignores_few_topics_on_one_host_or_as_many_as_by_chance(spread):
    assert not recommend(replace(found(figures()), host_spread=spread)).advises


def test_with_equal_balance_the_shorter_stall_is_preferred():
    advice = recommend(found(figures(), sticky=figures(stalled=99), cooperative_sticky=figures(stalled=20, moved=12)))
    assert (advice.strategy, advice.saved_partition_seconds, advice.saved_moves) == ("cooperative-sticky", 80, -2)
    assert "instead of 100 (both predicted), though 12 partitions would have moved instead of 10. " in advice.sentence


def test_without_known_stalls_fewer_moves_are_preferred():
    own, better = (replace(figures(moved=moved, stalled=0.0), stalls=0) for moved in (30, 10))
    advice = recommend(found(own, sticky=better))
    assert advice.sentence.startswith("Use sticky instead of range: 10 partitions would have moved instead of 30.")
    assert recommend(found(figures(moved=30), sticky=figures(moved=10))).strategy is None


def test_one_recorded_rebalance_predicts_no_stalls_of_other_strategies():
    one = replace(figures(count=1), stalls=0)
    text = ", but the stalls of other strategies cannot be predicted from one recorded rebalance."
    assert text in recommend(found(one, sticky=one)).sentence
    assert text not in recommend(found(figures(count=1), sticky=figures(count=1))).sentence


@pytest.mark.parametrize("other", [figures(skew=1.04), figures(stalled=95), figures(moved=9, stalled=100)])
def test_a_small_improvement_is_not_recommended(other):
    advice = recommend(found(figures(skew=1.04 if other.skew_mean > 1 else 1.0), sticky=other))
    assert (advice.strategy, advice.saved_moves, advice.saved_partition_seconds) == (None, None, None)
    assert advice.sentence == "No strategy better than range is known for this group."
    assert not advice.advises


@pytest.mark.parametrize(("stalled", "advised"), [(0.99, False), (1.0, True)])
def test_advice_saves_at_least_one_partition_second(stalled, advised):
    restarts = {"avoided": 1, "avoided_partition_seconds": stalled}
    assert recommend(found(figures(stalled=stalled), sticky=figures(stalled=0.0))).advises is advised
    assert recommend(found(figures(stalled=stalled, **restarts))).advises is advised
    slow = SlowMember("m", 3.0, 4.0, stalled)
    assert recommend(replace(found(figures()), slow=slow)).advises is advised


COOPERATIVE_STICKY = {"cooperative_sticky": figures(stalled=0.0)}


def of(*kinds, assignor="range", **others):
    clients = tuple((kind,) if isinstance(kind, ClientKind) else kind for kind in kinds)
    return recommend(replace(found(figures(), assignor=assignor, **others), clients=clients, partitions=12))


@pytest.mark.parametrize("kind", [ClientKind.JAVA, ClientKind.KAFKA_PYTHON, ClientKind.FRANZ_GO])
def test_clients_that_take_both_in_one_list_change_in_two_rolling_restarts(kind):
    sentence = of(kind, **COOPERATIVE_STICKY).sentence
    assert sentence.endswith(
        "The change takes two rolling restarts: first with both assignors in each member's "
        "partition.assignment.strategy, then with cooperative-sticky alone."
    )


def test_with_librdkafka_the_group_must_stop_and_the_cost_is_named():
    sentence = of(ClientKind.LIBRDKAFKA, **COOPERATIVE_STICKY).sentence
    assert "stop all members" in sentence
    assert "each second of the stop costs 12 partition-seconds" in sentence
    assert "KIP-848" in sentence


@pytest.mark.parametrize(
    ("own", "better", "compared"),
    [
        (figures(stalled=100), figures(stalled=0), ", as much as the change saves in 2 rebalances. "),
        (figures(stalled=3.3), figures(stalled=1.7), ", as much as the change saves in 75 rebalances. "),
        (figures(stalled=120), figures(stalled=0), ", as much as the change saves in 1 rebalance. "),
        (figures(stalled=121), figures(stalled=0), ", less than the change saves in one rebalance. "),
        (figures(stalled=60_000), figures(stalled=0), ", less than the change saves in one rebalance. "),
        (figures(skew=1.5, stalled=1), figures(stalled=9), ". "),
    ],
)
def test_the_cost_of_a_stop_is_compared_with_the_saving_per_rebalance(own, better, compared):
    history = replace(found(own, cooperative_sticky=better), clients=((ClientKind.LIBRDKAFKA,),), partitions=12)
    assert f"each second of the stop costs 12 partition-seconds{compared}" in recommend(history).sentence


def test_advice_marks_stalls_and_savings_as_predictions():
    restarts = {"avoided": 2, "avoided_partition_seconds": 60.0}
    sentence = recommend(found(figures(**restarts), cooperative_sticky=figures(stalled=20, **restarts))).sentence
    assert "stalled for 20 partition-seconds instead of 100 (both predicted); a group.instance.id" in sentence
    assert "would have avoided 2 rebalances and saved 60 partition-seconds (predicted)." in sentence


@pytest.mark.parametrize(
    "kind", [ClientKind.AIOKAFKA, ClientKind.SARAMA, ClientKind.KAFKA_GO, ClientKind.KAFKA_PYTHON_2]
)
def test_clients_without_a_cooperative_assignor_are_never_advised_to_use_one(kind):
    advice = of(kind, **COOPERATIVE_STICKY)
    assert (advice.strategy, advice.sentence) == (None, "No strategy better than range is known for this group.")


def test_one_member_without_a_cooperative_assignor_excludes_it():
    assert of(ClientKind.JAVA, ClientKind.AIOKAFKA, **COOPERATIVE_STICKY).strategy is None


def test_a_mixed_group_has_instructions_for_each_library():
    sentence = of(ClientKind.JAVA, ClientKind.LIBRDKAFKA, **COOPERATIVE_STICKY).sentence
    assert "Java: two rolling restarts" in sentence
    assert "librdkafka: all members must stop at the same time" in sentence
    assert "which is unknown" not in sentence


def test_conditions_are_listed_for_unknown_clients():
    sentence = of(tuple(ClientKind), **COOPERATIVE_STICKY).sentence
    assert "The steps depend on the members' client library, which is unknown." in sentence
    assert "aiokafka, Sarama, kafka-go and KafkaJS: not possible (no cooperative assignor)." in sentence


def test_a_strategy_of_this_library_is_for_pluggable_assignors_only():
    better = {"shuffled_roundrobin": figures(stalled=0.0)}
    assert of(ClientKind.JAVA, **better).strategy is None
    assert of(ClientKind.LIBRDKAFKA, **better).strategy is None
    assert of(ClientKind.KAFKA_PYTHON, **better).strategy == "shuffled-roundrobin"


def test_a_slow_member_is_the_first_advice():
    advice = recommend(replace(found(figures(), **COOPERATIVE_STICKY), slow=SlowMember("orders-0", 3.0, 4.0, 36.0)))
    assert advice.slow_member == "orders-0"
    assert advice.sentence.startswith("Make orders-0 stop sooner")
    assert "Use cooperative-sticky instead of range" in advice.sentence


@pytest.mark.parametrize(
    ("stop_seconds", "change"),
    [
        (None, "stop sooner, with a shorter revoked callback or less work between two polls:"),
        (0.2, "stop sooner, with a shorter revoked callback:"),
        (2.9, "detect rebalances sooner, with a lower heartbeat.interval.ms or less work between two polls:"),
    ],
)
def test_the_remedy_for_a_slow_member_depends_on_when_it_stopped(stop_seconds, change):
    slow = SlowMember("orders-0", 2.6, 2.9, 36.0, stop_seconds)
    assert recommend(replace(found(figures()), slow=slow)).sentence.startswith(f"Make orders-0 {change}")


def test_static_members_also_help_groups_whose_broker_assigns():
    restarts = {"avoided": 2, "avoided_partition_seconds": 60.0}
    refused = StrategyOutcome("sticky", EAGER, refused="the broker assigns")
    own = figures(**restarts)
    advice = recommend(WhatIf("c", "g", "uniform", COOPERATIVE, own, Figures(), (refused,), group_type=CONSUMER))
    assert advice.static_membership
    assert advice.sentence.startswith("No strategy can be recommended: the broker assigns; but a group.instance.id")


@pytest.mark.parametrize("kind", [ClientKind.KAFKA_GO, ClientKind.KAFKAJS, ClientKind.KAFKA_PYTHON_2])
def test_static_membership_is_recommended_only_for_clients_that_support_it(kind):
    restarts = figures(avoided=2, avoided_partition_seconds=60.0)
    group = found(restarts)
    assert recommend(replace(group, clients=((ClientKind.JAVA,), (ClientKind.JAVA, kind)))).static_membership
    advice = recommend(replace(group, clients=((ClientKind.JAVA,), (kind,))))
    assert not advice.advises
    assert "group.instance.id" not in advice.sentence


def test_small_differences_do_not_add_up_to_a_worse_strategy():
    advice = recommend(
        found(figures(), sticky=figures(skew=1.04, stalled=50), shuffled_roundrobin=figures(skew=1.08, stalled=10))
    )
    assert advice.strategy == "sticky"


def test_few_rebalances_are_a_hint_only():
    assert recommend(found(figures(count=1), sticky=figures(count=1))).sentence.endswith(
        "This is only a hint: it is based on 1 rebalance."
    )


def test_a_group_that_uses_weights_is_not_advised_to_give_them_up():
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


def test_the_promises_of_an_assignor_of_another_library_are_unknown():
    advice = recommend(found(figures(skew=2.0), assignor="stream", sticky=figures()))
    assert advice.strategy is None
    assert advice.sentence == "It is unknown what stream guarantees, so the figures are only for comparison."


def test_the_value_of_static_membership_is_its_savings_minus_its_waits():
    restarts = {"avoided": 6, "avoided_partition_seconds": 60.0}
    advice = recommend(found(figures(waited_partition_seconds=20.0, **restarts)))
    assert (advice.static_membership, advice.saved_partition_seconds) == (True, 40.0)
    assert advice.sentence == (
        "No strategy better than range is known for this group; but a group.instance.id for each member would have "
        "avoided 6 rebalances and saved 40 partition-seconds (predicted)."
    )
    assert not recommend(found(figures(waited_partition_seconds=59.5, **restarts))).static_membership


def test_advice_for_a_group_that_may_join_topics_names_a_copartitioned_strategy():
    advice = recommend(found(figures(skew=2.0), copartitioned=True, sticky=figures()))
    assert advice.sentence.endswith("such as cooperative-copartitioned-sticky.")


def test_advice_of_a_copartitioned_strategy_has_no_warning_about_joined_topics():
    own = figures(stalled=100)
    better = {"cooperative_copartitioned_sticky": figures(stalled=1)}
    advice = recommend(found(own, assignor="copartitioned-sticky", copartitioned=True, **better))
    assert advice.strategy == "cooperative-copartitioned-sticky"
    assert "joins topics" not in advice.sentence


def test_few_known_stalls_are_a_hint_only():
    own, better = (replace(figures(stalled=stalled), stalls=2) for stalled in (100, 1))
    sentence = recommend(found(own, sticky=better)).sentence
    assert sentence.endswith(" This is only a hint: stalls are known for 2 of 10 rebalances.")
    assert "hint" not in recommend(found(own, sticky=replace(own, moved=1))).sentence


def test_a_group_without_a_suitable_strategy_is_reported_with_the_reason():
    refused = StrategyOutcome("sticky", EAGER, refused="the broker assigns")
    sentence = recommend(WhatIf("c", "g", "uniform", COOPERATIVE, figures(), figures(), (refused,))).sentence
    assert sentence == "No strategy can be recommended: the broker assigns."


HISTORY = history_of(clustered(6))


def test_the_clustered_group_gets_advice():
    whole = what_if(HISTORY)
    advice = recommend(whole)
    assert (advice.strategy, advice.protocol) == ("cooperative-sticky", COOPERATIVE)
    assert whole.predicted.stalled_partition_seconds == pytest.approx(whole.recorded.stalled_partition_seconds)
    assert whole.copartitioned


def test_each_step_of_a_replay_starts_from_the_strategys_own_assignment():
    lines = replay(HISTORY, STRATEGIES["cooperative-sticky"])
    assert [each.generation for each in lines] == [1, 2, 3, 4, 5, 6]
    assert {each.skew_ratio for each in lines} == {1.0}
    assert (lines[0].moved, lines[0].stalled_partition_seconds) == (0, None)
    assert all(each.excess == 0 for each in lines)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("failover", "which suits only some applications"),
        ("redundant", "which suits only some applications"),
        ("weighted-sticky", "no weights are recorded"),
        ("lag-aware", "events do not contain"),
        ("cooperative-rack-aware-sticky", "racks of partitions"),
        ("task-sticky", "sub-topologies"),
    ],
)
def test_unsuitable_strategies_are_refused_by_name(name, reason):
    assert reason in refusal(HISTORY, STRATEGIES[name])
    with pytest.raises(AssignmentError, match=f"{name}: "):
        replay(HISTORY, STRATEGIES[name])


def test_a_strategy_with_settings_is_replayed_if_they_are_given():
    assert refusal(HISTORY, STRATEGIES["failover"], ReplaySettings({"assignment.consumer.priority": "5"})) is None


def test_groups_of_other_types_and_too_large_groups_are_refused():
    others = [replace(each, group_type=GroupType.SHARE) for each in clustered(2)]
    assert "type share" in refusal(history_of(others), STRATEGIES["sticky"])
    large = history_of(clustered(2))
    large.__dict__["size"] = SIZE_MAX + 1  # the replayed strategy is cached there
    assert refusal(large, STRATEGIES["sticky"]).startswith("too large: ")


def test_a_share_group_gets_no_advice_on_strategies_hosts_or_static_members():
    shared = [replace(each, group_type=GroupType.SHARE, assignor=None) for each in clustered(8)]
    assert recommend(what_if(history_of(clustered(8)))).advises
    advice = recommend(what_if(history_of(shared)))
    assert (advice.advises, advice.saved_partition_seconds, advice.saved_moves) == (False, None, None)
    assert advice.sentence.startswith("No strategy can be recommended: in groups of the type share, the broker assigns")


def test_without_topics_of_equal_count_nothing_is_copartitioned():
    alone = history_of(clustered(2, topics=1))
    assert "there is nothing to co-partition" in refusal(alone, STRATEGIES["cooperative-copartitioned-sticky"])
    assert refusal(HISTORY, STRATEGIES["copartitioned-sticky"]) is None
