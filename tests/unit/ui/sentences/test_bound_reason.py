"""Why a stall has two bounds, in the sentences of `explain`."""

from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Evidence
from rebalance_agent.ui.sentences.explanation import explanation_of, whole_rebalances
from support.tracker.tracking import assigned, committed, listed, member, record, revoked, tick, topics, watch

REASON = "bounds from the coordinator's records and commits, because "


def sentence(*observations):
    """The sentence about the stall of the last rebalance."""
    _, events = watch(*observations)
    events += [each.event for each in observations if hasattr(each, "event")]
    events.sort(key=lambda event: event.timestamp_ms)
    sentences = explanation_of(*whole_rebalances(events, 1), 1).rebalances[-1].sentences
    return next(each for each in sentences if "longest stall" in each)


def by_gateway(report):
    return replace(report, event=replace(report.event, evidence=Evidence.GATEWAY, stop_seconds=0.05))


def after_empty(*reports):
    """A group of one member that was Empty before."""
    return sentence(
        topics(0, t=2),
        record(1_000, 1, member("a", [0, 1])),
        tick(8_000),
        record(10_000, 2),
        tick(18_000),
        listed(19_900),
        listed(20_000, "g"),
        record(20_100, 3, member("b", [0, 1]), joined=20_090),
        *reports,
        listed(20_200),
        committed(21_000, 0, 1),
        tick(60_000),
    )


def joined(*reports):
    """Member ``b`` joins member ``a``."""
    return sentence(
        topics(0, t=2),
        record(1_000, 1, member("a", [0, 1])),
        tick(8_000),
        listed(9_900),
        listed(10_000, "g"),
        *(each for each in reports if each.event.callback == "revoked"),
        record(10_200, 2, member("a", [0]), member("b", [1]), joined=10_190),
        *(each for each in reports if each.event.callback == "assigned"),
        listed(10_300),
        committed(11_000, 0, 1),
        tick(60_000),
    )


def test_after_empty_the_only_member_reports_but_nothing_shows_when_it_joined():
    text = after_empty(assigned("b", 20_105, 20_110, 3, [0, 1]))
    assert f"{REASON}nothing shows exactly when the first member joined)" in text


def test_after_empty_a_member_may_also_not_report():
    assert f"{REASON}not all members report)" in after_empty()


REPORTS = (
    revoked("a", 10_050, 10_060, 1, [0, 1]),
    assigned("a", 10_205, 10_210, 2, [0]),
    assigned("b", 10_205, 10_210, 2, [1]),
)


@pytest.mark.parametrize(
    ("reports", "reason"),
    [
        (REPORTS[:2], f"{REASON}not all members report)"),
        (tuple(map(by_gateway, REPORTS)), f"{REASON}gateways measure bounds)"),
        (REPORTS[1:], f"{REASON}the reports do not show all times)"),
        (REPORTS, "(measured by the members)"),
    ],
)
def test_the_reason_is_the_missing_part_of_the_reports(reports, reason):
    assert reason in joined(*reports)


def test_a_departed_member_without_a_report_is_named():
    text = sentence(
        topics(0, t=2),
        record(1_000, 1, member("a", [0]), member("b", [1])),
        tick(8_000),
        listed(9_900),
        listed(10_000, "g"),
        revoked("a", 10_050, 10_060, 1, [0]),
        record(10_200, 2, member("a", [0, 1]), joined=10_190),
        assigned("a", 10_205, 10_210, 2, [0, 1]),
        listed(10_300),
        tick(60_000),
    )
    assert f"{REASON}no report shows when client-b stopped)" in text
