"""Predicted stalls and advice for eager groups whose members do not report when they stop."""

import pytest

from rebalance_agent.advice import history_of, recommend, what_if
from rebalance_agent.model.episode import Basis, Stall
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.subscription import MemberSubscription
from support.tracker.histories import generation, snapshot

A, B = (MemberSubscription(name, ("t",)) for name in "ab")
NAMES = ["range", "cooperative-sticky"]
JOIN_SECONDS = 3.0


def joined(least, *, protocol=RebalanceProtocol.EAGER, stops=None, most=None):
    """Member ``b`` joins ``a``, which has 12 partitions. The join phase takes 3 s.

    ``least``, ``most``: the bounds of the recorded stall; ``stops``: when ``a`` reported that it stopped.
    """
    kind = {"assignor": "range", "protocol": protocol, "skew_ratio": 1.0, "imbalance": 0, "needed": 6}
    one = generation(1, [snapshot(A, {"t": tuple(range(12))})], {"t": 12}, moved=0, **kind)
    members = [snapshot(A, {"t": tuple(range(6))}, stop_seconds=stops), snapshot(B, {"t": tuple(range(6, 12))})]
    stall = Stall(None if most is None else JOIN_SECONDS, least / 12, least, Basis.BOUND, most)
    two = generation(2, members, {"t": 12}, seconds=JOIN_SECONDS, moved=6, stall=stall, **kind)
    return what_if(history_of([one, two]), NAMES)


def predicted(found):
    return [
        found.predicted.stalled_partition_seconds,
        *(each.figures.stalled_partition_seconds for each in found.outcomes),
    ]


@pytest.mark.parametrize("most", [None, 0.1])
def test_no_assignor_is_recommended_for_a_stall_that_the_records_do_not_show(most):
    found = joined(0.012, most=most)
    assert predicted(found)[:2] == [pytest.approx(0.012), pytest.approx(0.012)]
    assert recommend(found).strategy is None


def test_advice_does_not_change_when_the_members_report_the_same_stop():
    silent, reporting = joined(0.12), joined(0.12, stops=JOIN_SECONDS - 0.01)
    assert predicted(silent)[:2] == [pytest.approx(each) for each in predicted(reporting)[:2]]
    assert recommend(silent).strategy == recommend(reporting).strategy


def test_a_stall_that_the_records_show_counts():
    found = joined(36.0)
    assert predicted(found) == [36, 36, 0]
    assert recommend(found).strategy == "cooperative-sticky"
    assert predicted(joined(600.0))[0] == 36


def test_a_reported_stop_counts_whatever_the_records_show():
    assert predicted(joined(0.012, stops=1.0))[0] == pytest.approx(24)


def test_for_a_cooperative_group_an_eager_assignor_stops_its_members_from_the_start():
    assert predicted(joined(0.012, protocol=RebalanceProtocol.COOPERATIVE))[1] == 36
