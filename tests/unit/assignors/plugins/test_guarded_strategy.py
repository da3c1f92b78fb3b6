"""The guard of plugin strategies: every exception or invalid result becomes our error, and a wrong plan is never
used."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.assignors import STRATEGIES, Promise, Setting, Strategy, judge
from rebalance_agent.assignors.internal_topics import wanted_topics
from rebalance_agent.assignors.plugins.guarded_strategy import TEXT_SHOWN_MAX, guarded
from rebalance_agent.assignors.roster import CopiesPlan
from rebalance_agent.assignors.strategies.range import ranges
from rebalance_agent.assignors.strategy_registry import checked
from rebalance_agent.errors import AssignmentError, DecodeError, InvalidInputError, StrategyFailedError
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.subscription import AssignedCopies, MemberUserData, TopicMetadata
from support.assignors.rules import check, group, groups, member

GROUP = group({"t": 4, "u": 1}, member("a", "t u"), member("b", "t"))


def own(plan=ranges, **more):
    return guarded(Strategy("own", RebalanceProtocol.EAGER, "as range", plan, **more), "strategy 'own'")


def failing(*_):
    raise KeyError("no idea")


def failure(call, *arguments, kind=StrategyFailedError):
    with pytest.raises(kind) as failed:
        call(*arguments)
    return str(failed.value)


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        ([{"t": (0, 1, 2, 3), "u": (0,)}], "a plan must be a list with one dict for each of the 2 members"),
        (({"t": (0, 1, 2, 3), "u": (0,)}, {}), "a plan must be a list"),
        (None, "a plan must be a list"),
        ([{"t": (0, 1, 2, 3), "u": (0,)}, None], "partitions must be a mapping of topics to numbers, not None"),
        ([{"t": (0, 1, 2, 3)}, {"u": (0,)}], "member 'b' gets topic 'u', which it does not subscribe to"),
        ([{"t": (0, 1, 2, 3), "u": (0,)}, {"x": (0,)}], "member 'b' gets topic 'x', which it does not subscribe to"),
        ([{"t": (0, 1, 2, 3), "u": (0,), 7: (0,)}, {}], "a topic must be a str, not 7"),
        ([{"t": (0, 1, 2), "u": (0,)}, {}], "partition 3 of topic 't' has no owner"),
        ([{"t": (0, 1), "u": (0,)}, {"t": (1, 2, 3)}], "partition 1 of topic 't' has 2 owners, more than 1"),
        ([{"t": (0, 1, 2, 3, 4), "u": (0,)}, {}], "topic 't' has 4 partitions, and no partition 4"),
        ([{"t": (-1, 0, 1, 2, 3), "u": (0,)}, {}], "ascending numbers from 0"),
        ([{"t": (1, 0, 2, 3), "u": (0,)}, {}], "ascending numbers from 0"),
        ([{"t": (0, 0, 1, 2, 3), "u": (0,)}, {}], "ascending numbers from 0"),
        ([{"t": [0, 1, 2, 3], "u": (0,)}, {}], "the partitions of topic 't' must be a tuple of ints"),
        ([{"t": (0, 1, 2, True), "u": (0,)}, {}], "the partitions of topic 't' must be a tuple of ints"),
    ],
)
def test_a_plan_that_breaks_the_contract_is_refused_with_the_first_breach(plan, problem):
    text = failure(own(lambda _: plan).assign, GROUP)
    assert text.startswith("strategy 'own': plan violates its contract: ")
    assert problem in text


def test_a_plan_may_contain_topics_without_partitions():
    assert own(lambda _: [{"t": (0, 1, 2, 3), "u": (0,)}, {"t": ()}]).assign(GROUP).members["a"]["u"] == (0,)


@pytest.mark.no_cover  # many examples that execute the same lines as other tests
@given(st.data())
def test_any_single_damage_to_a_valid_plan_is_detected(data):
    subscription = data.draw(groups())
    strategy = STRATEGIES["sticky"]
    plan = strategy.plan(strategy.roster(subscription))
    held = [(index, topic) for index, given in enumerate(plan) for topic, numbers in given.items() if numbers]
    if not held:
        return
    index, topic = data.draw(st.sampled_from(held))
    numbers = plan[index][topic]
    number = data.draw(st.sampled_from(numbers))
    left = tuple(each for each in numbers if each != number)
    other = data.draw(st.integers(0, len(plan)))
    if other == index or other == len(plan):
        damaged = {**plan[index], topic: left}  # no owner
        plan[index] = damaged
    else:
        plan[other] = {**plan[other], topic: tuple(sorted({*plan[other].get(topic, ()), number}))}  # two owners
    failure(own(lambda _: plan).assign, subscription)


@pytest.mark.no_cover
@given(groups())
def test_the_guard_does_not_change_the_results_of_a_valid_strategy(subscription):
    for name in ("sticky", "cooperative-sticky", "redundant", "copartitioned-sticky", "failover"):
        ours = STRATEGIES[name]
        other = guarded(ours, "strategy")
        assignment = other.assign(subscription)
        assert assignment == ours.assign(subscription)
        check(ours, subscription, assignment)
        assert judge(subscription, assignment, other) == judge(subscription, assignment, ours)


def test_copies_are_allowed_as_far_as_the_strategy_declares_them():
    both = [{"t": (0, 1, 2, 3), "u": (0,)}, {"t": (0, 1, 2, 3)}]
    assert own(lambda _: both, redundancy=lambda _: 2).assign(GROUP).members["b"] == {"t": (0, 1, 2, 3)}
    assert "has 2 owners, more than 1" in failure(own(lambda _: both).assign, GROUP)
    assert "a redundancy must be an int of 1 or more, not 0" in failure(own(redundancy=lambda _: 0).assign, GROUP)


def test_every_exception_of_a_plugin_is_a_failure_with_its_text():
    text = failure(own(failing).assign, GROUP)
    assert text == "strategy 'own': plan raised KeyError: 'no idea'"
    assert isinstance(StrategyFailedError(""), AssignmentError)


def test_a_long_text_with_several_lines_is_shortened_to_one():
    def plan(_):
        raise ValueError("a\n" * 10_000)

    text = failure(own(plan).assign, GROUP)
    assert "\n" not in text
    assert len(text) < TEXT_SHOWN_MAX + 100


@pytest.mark.parametrize(
    ("promise", "problem"),
    [
        (failing, "promise raised KeyError"),
        (lambda _: 3, "a promise must be a Promise, not 3"),
        (lambda _: Promise.at_most([5]), "one int for each of the 2 members"),
        (lambda _: Promise.at_most([5, 0.5]), "one int for each of the 2 members"),
        (lambda _: Promise.at_most([5, -1]), "not have a floor below 0"),
    ],
)
def test_an_invalid_promise_fails_the_quality_measurement_but_no_assignment(promise, problem):
    strategy = own(promise=promise)
    assignment = strategy.assign(GROUP)
    assert problem in failure(judge, GROUP, assignment, strategy)


@pytest.mark.parametrize("reader", [failing, lambda _: 3, lambda _: MemberUserData(owned={"t": "01"})])
def test_user_data_that_a_plugin_cannot_read_affects_only_that_member(reader):
    subscription = group({"t": 4}, member("a", "t", user_data=b"x"), member("b", "t"))
    assignment = own(reader=reader).assign(subscription)
    assert list(assignment.user_data_errors) == ["a"]
    assert assignment.user_data_errors["a"].startswith("strategy 'own': reader ")
    assert sum(len(given["t"]) for given in assignment.members.values()) == 4


def test_a_user_data_writer_must_return_bytes():
    assert "user data must be bytes, not 'x'" in failure(own(writer=lambda _: "x").user_data, {}, {})
    assert own(writer=lambda _: b"x").user_data({}, {}) == b"x"


def test_standbys_responses_and_copies_are_checked():
    assert "a CopiesPlan" in failure(own(copies=lambda *_: [{}]).assign, GROUP)
    assert "a plan must be a list" in failure(own(copies=lambda *_: CopiesPlan({}, {})).assign, GROUP)
    missing = own(copies=lambda roster, *_: CopiesPlan(roster.empty_plan(), roster.empty_plan(), -1))
    assert "`missing` of a CopiesPlan" in failure(missing.assign, GROUP)
    assert "user data must be bytes" in failure(own(answer=lambda *_: None).assign, GROUP)
    assert "AssignedCopies" in failure(own(copies_in=lambda _: 3).copies_in, b"", kind=DecodeError)
    assert "a mapping of topics" in failure(own(copies_in=lambda _: AssignedCopies(3)).copies_in, b"", kind=DecodeError)

    def unwritable(*_):
        raise InvalidInputError("topic", "too long")

    assert own(answer=unwritable).assign(GROUP).user_data_errors.keys() == {"a", "b"}


def test_internal_topics_must_be_counts_by_name():
    assert "internal topics must be a mapping" in failure(
        wanted_topics, own(internal_topics=lambda _: {"t": -1}), GROUP
    )
    assert wanted_topics(own(internal_topics=lambda _: {"t": 4}), GROUP) == {"t": 4}


def test_an_unreadable_setting_is_refused_for_any_exception():
    strategy = own(config=(Setting("assignment.own.size", 1, "how large", "a number", failing),))
    text = failure(strategy.user_data, {"assignment.own.size": "3"}, {}, kind=AssignmentError)
    assert text == "assignment.own.size: must be a number, not '3': KeyError: 'no idea'"


def test_a_cooperative_form_is_guarded_like_the_eager_one():
    cooperative = own(failing, cooperative_form=True, cooperative_reader=failing).cooperative()
    assert "plan raised" in failure(cooperative.assign, GROUP)
    assert "cooperative_reader raised" in failure(cooperative.reader, b"", kind=DecodeError)


def test_plugin_strategies_are_guarded_once_and_ours_never():
    strategy = own()
    assert guarded(strategy, "again") is strategy
    assert checked(strategy) is strategy
    assert checked(STRATEGIES["cooperative-sticky"]) is STRATEGIES["cooperative-sticky"]
    renamed = replace(STRATEGIES["sticky"], plan=failing)
    assert failure(checked(renamed).assign, GROUP).startswith("strategy 'sticky': plan raised")


def test_topics_without_metadata_are_not_assigned():
    subscription = group({"t": 2, "empty": TopicMetadata(0)}, member("a", "t empty unknown"))
    assert own().assign(subscription).unknown_topics == ("empty", "unknown")
