"""How long a group whose coordinator assigns waits for the assignment, and how long for its members."""

from __future__ import annotations

from rebalance_agent.model.epoch_groups import GroupEpoch, TargetEpoch
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.ui.sentences.explanation import explanation_of, whole_rebalances
from support.tracker.epochs import current, fact, joins, named, target
from support.tracker.tracking import WHOLE, closing, feed, tick

ALL = (0, 1, 2, 3)
START = (named(), WHOLE, joins(1_000, "a"), fact(1_000, GroupEpoch(1)), fact(2_000, TargetEpoch(1)))


def rebalances(*records):
    """The closing event of each rebalance."""
    tracker = Tracker("cluster", settle_ms=1_000)
    started = target(2_000, "a", *ALL), current(2_500, "a", 1, ALL)
    return closing(feed(tracker, *START, *started, *records, tick(200_000)))


def waits(*records):
    """The wait for the assignor, and for members from the last assignment on, of each rebalance."""
    return [(event.assignor_wait_seconds, event.reconcile_seconds) for event in rebalances(*records)]


def test_a_rebalance_is_split_at_the_assignment():
    records = fact(10_000, GroupEpoch(2)), fact(10_800, TargetEpoch(2)), current(14_000, "a", 2, ALL)
    assert waits(*records)[-1] == (0.8, 3.2)


def test_an_assignment_in_the_batch_of_its_epoch_is_no_wait():
    records = fact(10_000, GroupEpoch(2)), fact(10_000, TargetEpoch(2)), current(14_000, "a", 2, ALL)
    assert waits(*records)[-1] == (0.0, 4.0)


def test_epochs_that_are_assigned_together_are_one_wait():
    epochs = fact(10_000, GroupEpoch(2)), fact(10_300, GroupEpoch(3))
    assert waits(*epochs, fact(11_000, TargetEpoch(3)), current(12_000, "a", 3, ALL))[-1] == (1.0, 1.0)


def test_the_time_of_members_between_two_assignments_is_no_wait_for_the_assignor():
    first = fact(10_000, GroupEpoch(2)), fact(11_000, TargetEpoch(2))
    second = fact(41_000, GroupEpoch(3)), fact(41_500, TargetEpoch(3))
    assert waits(*first, *second, current(42_000, "a", 3, ALL))[-1] == (1.5, 0.5)


def test_each_rebalance_has_its_own_wait():
    first = fact(10_000, GroupEpoch(2)), fact(11_000, TargetEpoch(2)), current(12_000, "a", 2, ALL)
    second = fact(60_000, GroupEpoch(3)), fact(60_250, TargetEpoch(3)), current(61_000, "a", 3, ALL)
    assert waits(*first, *second)[-2:] == [(1.0, 1.0), (0.25, 0.75)]


def test_the_explanation_names_the_assignor_where_most_time_went_to_it():
    events = rebalances(fact(10_000, GroupEpoch(2)), fact(19_000, TargetEpoch(2)), current(20_000, "a", 2, ALL))
    details, rollouts = whole_rebalances(events, 1)
    text = explanation_of(details, rollouts, 1).rebalances[-1].sentences[1]
    assert text == "The rebalance took 10.0 s with 1 member, 9.0 s of it waiting for the coordinator to assign."
