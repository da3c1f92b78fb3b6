"""Advice is open, taken, taken back, ignored or withdrawn, as the group's rebalances show; savings are measured."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.pipeline.recommendations.adoption import Adoption, Closing, adoption, days_after, days_before
from rebalance_agent.pipeline.recommendations.advice_state import AdviceState, followed
from rebalance_agent.pipeline.recommendations.given_advice import Advice, AdviceKind

DAY = dt.timedelta(days=1)
START = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
STICKY = Advice("c", "g", AdviceKind.STRATEGY, "cooperative-sticky", 0.8)
STATIC = Advice("c", "g", AdviceKind.STATIC_MEMBERSHIP, None, 0.5)


def day(number, stall=10.0, assignor="range", *, static=False, hour=12):
    return Closing(START + number * DAY + dt.timedelta(hours=hour), assignor, static, stall)


def at(number):
    return START + number * DAY


BEFORE = [day(number, 10.0 + number % 3) for number in range(30)]
AFTER = [day(number, 1.0 + number % 2, "cooperative-sticky") for number in range(30, 70)]
GIVEN = followed(STICKY, None, BEFORE, at(30))


def test_a_new_advice_is_open_and_predicts_a_share_of_the_stall_per_week():
    assert (GIVEN.state, GIVEN.given_at, GIVEN.last_given_at) == (AdviceState.OPEN, at(30), at(30))
    assert GIVEN.predicted is not None
    assert GIVEN.predicted.value == pytest.approx(0.8 * sum(each.stalled_partition_seconds for each in BEFORE[2:]) / 4)
    assert GIVEN.predicted.low < GIVEN.predicted.value < GIVEN.predicted.high
    assert (GIVEN.adoption, GIVEN.realised, GIVEN.missed) == (None, None, None)


def test_advice_that_was_taken_has_its_saving_beside_the_prediction():
    found = followed(None, GIVEN, [*BEFORE, *AFTER], at(70))
    assert found.state is AdviceState.TAKEN
    assert found.adoption == Adoption(AFTER[0].at)
    assert found.predicted == GIVEN.predicted
    assert found.last_given_at == at(30)
    assert found.realised is not None
    assert (found.realised.days_before, found.realised.days_after) == (28, 28)
    assert found.realised.saving.value == pytest.approx(7 * (11.0 - 1.5), abs=1)
    assert found.missed is False


def test_a_change_that_saved_surely_less_than_predicted_missed():
    same = [replace(each, stalled_partition_seconds=11.0) for each in AFTER]
    found = followed(None, GIVEN, [*BEFORE, *same], at(70))
    assert (found.state, found.missed) == (AdviceState.TAKEN, True)


def test_nothing_is_compared_in_the_first_week():
    early = [each for each in AFTER if each.at < at(37)]
    assert followed(None, GIVEN, [*BEFORE, *early], at(37)).realised is None
    found = followed(None, GIVEN, [*BEFORE, *early], at(38)).realised
    assert found is not None
    assert (found.days_before, found.days_after) == (28, 7)


def test_advice_can_be_taken_back():
    back = [day(number) for number in range(70, 80)]
    found = followed(STICKY, GIVEN, [*BEFORE, *AFTER, *back], at(80))
    assert found.state is AdviceState.TAKEN_BACK
    assert found.adoption == Adoption(AFTER[0].at, back[0].at)
    assert found.realised == followed(None, GIVEN, [*BEFORE, *AFTER], at(70)).realised
    assert found.predicted == GIVEN.predicted
    again = [day(number, 1.0, "cooperative-sticky") for number in range(81, 83)]
    assert followed(None, found, [*BEFORE, *AFTER, *back, *again], at(90)).adoption == Adoption(again[0].at)


def test_advice_that_is_not_taken_is_ignored_after_four_weeks():
    late = [*BEFORE, *(day(number) for number in range(30, 59))]
    assert followed(STICKY, GIVEN, late[:57], at(57)).state is AdviceState.OPEN
    found = followed(STICKY, GIVEN, late, at(58))
    assert (found.state, found.last_given_at) == (AdviceState.IGNORED, at(58))


def test_advice_that_is_no_longer_given_is_withdrawn():
    assert followed(None, GIVEN, BEFORE, at(31)).state is AdviceState.WITHDRAWN


def test_static_membership_is_taken_when_all_members_have_instance_ids():
    first = followed(STATIC, None, BEFORE, at(30))
    mixed = [day(31), day(31, static=None, assignor=None, hour=13)]
    assert followed(STATIC, first, [*BEFORE, *mixed], at(32)).state is AdviceState.OPEN
    done = day(31, static=True, hour=14)
    assert followed(None, first, [*BEFORE, *mixed, done], at(32)).adoption == Adoption(done.at)


def test_other_changes_are_left_out_of_the_comparison():
    taken = Adoption(AFTER[0].at)
    other = [replace(each, static=True) for each in AFTER if each.at >= at(50)]
    days = days_after(taken, [*BEFORE, *AFTER[:20], *other], at(70))
    assert (days[0], days[-1]) == (at(31).date(), at(44).date())
    sticky = [replace(each, assignor="sticky") for each in BEFORE[:12]]
    days = days_before(AFTER[0].at, [*sticky, *BEFORE[12:], *AFTER])
    assert (days[0], days[-1]) == (at(16).date(), at(29).date())
    assert days_before(START, BEFORE) == ()


def test_advice_about_skew_has_no_prediction():
    found = followed(replace(STICKY, saved_share=None), None, BEFORE, at(30))
    assert (found.state, found.predicted) == (AdviceState.OPEN, None)


def test_results_outlast_the_rows_they_came_from():
    found = followed(None, GIVEN, [*BEFORE, *AFTER], at(70))
    kept = followed(None, found, [each for each in AFTER if each.at >= at(60)], at(70))
    assert kept == found
    back = day(71)
    ended = followed(None, found, [*AFTER[-5:], back], at(72))
    assert (ended.state, ended.adoption) == (AdviceState.TAKEN_BACK, Adoption(AFTER[0].at, back.at))
    assert ended.realised == found.realised
    assert followed(None, ended, [], at(200)).adoption == ended.adoption


def test_unknown_stalls_give_no_saving():
    unknown = [replace(each, stalled_partition_seconds=None) for each in AFTER]
    assert followed(None, GIVEN, [*BEFORE, *unknown], at(70)).realised is None


def test_ids_differ_where_the_advice_differs():
    others = [
        replace(STICKY, group="h"),
        replace(STICKY, cluster_id="d"),
        replace(STICKY, cluster_id="cg", group=""),
        replace(STICKY, strategy="sticky"),
        replace(STATIC, group="\ud800"),
        STATIC,
    ]
    assert len({each.advice_id for each in (STICKY, *others)}) == 7
    assert replace(STICKY, saved_share=0.1).advice_id == STICKY.advice_id


@given(st.lists(st.sampled_from([None, "range", "cooperative-sticky"]), max_size=30))
def test_an_adoption_ends_where_the_group_used_another_assignor(assignors):
    closings = [day(number, assignor=assignor) for number, assignor in enumerate(assignors)]
    found = adoption(STICKY, START - DAY, closings)
    known = [each for each in closings if each.assignor is not None]
    followers = [each for each in known if each.assignor == STICKY.strategy]
    if not followers:
        assert found is None
        return
    assert found is not None
    assert (found.ended_at is None) == (known[-1] is followers[-1])
    since = [each for each in known if each.at >= found.taken_at and (not found.ended_at or each.at < found.ended_at)]
    assert since[-1] is followers[-1]
    assert all(each.assignor == STICKY.strategy for each in since)


@given(st.lists(st.sampled_from([None, "range", "cooperative-sticky"]), min_size=2, max_size=30), st.data())
def test_runs_in_steps_give_the_result_of_one_run(assignors, data):
    closings = [day(number, assignor=assignor) for number, assignor in enumerate(assignors, 30)]
    end = at(30 + len(assignors))
    whole = followed(None, GIVEN, [*BEFORE, *closings], end)
    earlier = GIVEN
    for cut in sorted(data.draw(st.sets(st.integers(1, len(closings) - 1), max_size=4))):
        earlier = followed(None, earlier, [*BEFORE, *closings[:cut]], at(30 + cut))
    assert followed(None, earlier, [*BEFORE, *closings], end) == whole
