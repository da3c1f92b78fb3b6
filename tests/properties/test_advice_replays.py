"""Invariants of replays, for groups with random changes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.advice import fidelity, history_of, recommend, replay, what_if
from rebalance_agent.advice.recommendation import _better
from rebalance_agent.advice.replay.eligible_strategies import family, refusal
from rebalance_agent.advice.replay.implementations import LIBRARY, verdict
from rebalance_agent.advice.replay.strategy_replay import replay_rebalances
from rebalance_agent.advice.worth import CLUSTERED_MIN
from rebalance_agent.assignors import STRATEGIES, judge
from rebalance_agent.assignors.measure_quality import judgement
from rebalance_agent.model.subscription import GroupAssignment, GroupSubscription, MemberSubscription, TopicMetadata
from support.assignors.walks import Walk
from support.examples import examples
from support.tracker.histories import moved, on_hosts, walked

SEEDS = st.integers(0, 2**32)
STICKY = [name for name in STRATEGIES if family(name) == "sticky"]
"""Its decisions need not be repeated, because other clients' assignors have its name."""

REPEATED = [name for name, each in STRATEGIES.items() if each.replay_limits.unrecorded is None and name not in STICKY]
"""Strategies whose decisions follow from an event, even if another process ran them."""

EVEN = [name for name, each in STRATEGIES.items() if each.spread_rank is not None]
"""Strategies that promise even partition counts and nothing else."""


@pytest.mark.parametrize("name", REPEATED)
@settings(max_examples=examples(25))
@given(seed=SEEDS)
def test_every_decision_of_the_library_is_repeated(name, seed):
    found = fidelity(history_of(walked(Walk(seed, newest=True), STRATEGIES[name], 6)))
    assert found.moves in (1.0, None), found
    assert found.skew in (1.0, None)
    assert sum(line.same_assignment for line in found.lines) == found.checked
    assert found.not_comparable == 0


@pytest.mark.parametrize("name", STICKY)
@settings(max_examples=examples(25))
@given(seed=SEEDS)
def test_the_librarys_own_sticky_is_repeated_even_if_not_required(name, seed):
    found = fidelity(history_of(walked(Walk(seed, newest=True), STRATEGIES[name], 6)))
    assert sum(line.agreeing for line in found.lines) == found.not_comparable
    assert sum(line.same_assignment for line in found.lines) == found.checked


@settings(max_examples=examples(25))
@given(
    seed=SEEDS,
    recorded=st.sampled_from(["range", "sticky"]),
    name=st.sampled_from(["copartitioned-sticky", "range", "roundrobin", "shuffled-roundrobin", "sticky"]),
)
def test_each_step_of_a_replay_starts_from_the_previous_decision(seed, recorded, name):
    history = history_of(walked(Walk(seed, newest=True), STRATEGIES[recorded], 6))
    before, strategy = {}, STRATEGIES[name]
    for place, step in enumerate(replay_rebalances(history, strategy)):
        before = {} if step.rebalance.fresh else before  # a member that joins an empty group has no previous partitions
        members = tuple(
            MemberSubscription(each.member_id, each.topics, each.instance_id, before.get(identity, {}), 1)
            for identity, each in zip(step.rebalance.identities, step.rebalance.roster.members, strict=True)
        )
        topics = {topic: TopicMetadata(count) for topic, count in step.rebalance.closing.topics.items()}
        group = GroupSubscription(topics, members)
        expected = strategy.assign(group).target
        names = dict(zip((each.member_id for each in members), step.rebalance.identities, strict=True))
        assert step.assignment == {names[key]: given for key, given in expected.items()}
        assert step.moved == (moved(before, step.assignment) if place else 0)
        quality = judge(group, GroupAssignment(expected, expected))  # against the best balance
        assert (step.skew_ratio, step.imbalance) == (quality.skew_ratio, quality.imbalance)
        if step.needed is not None:
            assert 0 <= step.needed <= step.moved
            assert step.needed == step.moved - quality.moved + quality.moved_min
        before = step.assignment


@settings(max_examples=examples(25))
@given(seed=SEEDS)
def test_both_forms_of_a_strategy_decide_equally(seed):
    history = history_of(walked(Walk(seed, newest=True), STRATEGIES["roundrobin"], 5))
    for name in ("sticky", "copartitioned-sticky"):
        if refusal(history, STRATEGIES[name]):
            continue
        one, other = (replay(history, STRATEGIES[each]) for each in (name, f"cooperative-{name}"))
        assert [(each.moved, each.needed, each.skew_ratio) for each in one] == [
            (each.moved, each.needed, each.skew_ratio) for each in other
        ]


@settings(max_examples=examples(25))
@given(seed=SEEDS, recorded=st.sampled_from(["range", "roundrobin", "shuffled-roundrobin"]))
def test_no_recommendation_is_worse_than_the_current_strategy(seed, recorded):
    found = what_if(history_of(walked(Walk(seed, newest=True), STRATEGIES[recorded], 6)))
    advice = recommend(found)
    if advice.strategy is None:
        assert advice.saved_moves is None
        return
    best = next(each for each in found.outcomes if each.strategy == advice.strategy)
    assert _better(best.figures, found.predicted)
    assert not _better(found.predicted, best.figures)


def clustered_anew(name, event):
    """The share of topics on one host if the members of ``event`` all stopped and started again."""
    members = tuple(MemberSubscription(each.member_id, each.topics) for each in event.members)
    group = GroupSubscription({topic: TopicMetadata(count) for topic, count in event.topics.items()}, members)
    hosts = {each.member_id: each.host for each in event.members}
    spread = judgement(group, STRATEGIES[name].assign(group), STRATEGIES[name], hosts).host_spread
    return spread.clustered_ratio if spread else 0.0


@settings(max_examples=examples(50))
@given(
    recorded=st.sampled_from(EVEN),
    hosts=st.integers(2, 3),
    each=st.integers(1, 3),
    partitions=st.integers(2, 4),
    rebalances=st.integers(2, 4),
    late=st.integers(0, 2),
)
def test_no_recommendation_puts_more_topics_on_one_host_after_a_restart_of_all_members(recorded, late, **shape):
    late = min(late, shape["hosts"] * shape["each"] - 1)
    events = on_hosts(recorded, topics=24, late=late, **shape)
    advice = recommend(what_if(history_of(events), EVEN))
    if advice.strategy is not None:
        own, other = (clustered_anew(name, events[-1]) for name in (recorded, advice.strategy))
        assert other - own < CLUSTERED_MIN, advice.sentence


@settings(max_examples=examples(25))
@given(seed=SEEDS)
def test_the_library_is_known_to_have_run_its_own_strategies(seed):
    events = walked(Walk(seed), STRATEGIES["weighted-sticky"], 3)
    assert {verdict(each) for each in events} == {(LIBRARY, None)}
