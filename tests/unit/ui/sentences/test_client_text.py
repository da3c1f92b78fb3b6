"""What clients measured themselves, in the sentences of `explain`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.events import Callback
from rebalance_agent.model.reported.client_metrics import ClientMetrics
from rebalance_agent.ui.sentences.explained.client_text import CLIENTS_MAX
from rebalance_agent.ui.sentences.explanation import explanation_of, whole_rebalances
from support.tracker.tracking import left, listed, member, record, said, tick, topics, watch

MEASURED = "The client of client-b measured, up to its last push to the gateway"
EVERY = ClientMetrics(3.5, 2.0, 29.0, 28.0, 0.015, 0.35)


def pushing(report, metrics):
    return replace(report, event=replace(report.event, client_metrics=metrics))


def sentences(before, after, *reports):
    """The sentences about the rebalance from the members ``before`` to the members ``after``."""
    owned = {name: (number,) for number, name in enumerate(before)}
    start = topics(0, t=6), listed(500), record(4_000, 1, *(member(name, owned[name]) for name in before), joined=3_990)
    now = record(83_000, 2, *(member(name, owned.get(name, ())) for name in after), joined=82_990)
    _, events = watch(*start, *reports, now, tick(150_000))
    events = sorted([*events, *(each.event for each in reports)], key=lambda event: event.timestamp_ms)
    return [
        each for each in explanation_of(*whole_rebalances(events, 1), 1).rebalances[-1].sentences if "client" in each
    ]


def clients(found):
    return [each for each in found if each.startswith("The client of ")]


def test_the_values_of_a_member_that_is_gone_are_listed():
    (found,) = clients(sentences("ab", "a", pushing(left("b", 80_100, 1), EVERY)))
    assert found == (
        f"{MEASURED}: longest time between polls 29.0 s (limit 30.0 s), 28.0 s since its last poll, 2% of the time in "
        "poll(), longest commit 350 ms, longest rebalance 3.5 s, 2 failed rebalances."
    )


@pytest.mark.parametrize(
    ("metrics", "text"),
    [
        (ClientMetrics(failed_rebalances=1.0), [f"{MEASURED}: 1 failed rebalance."]),
        (ClientMetrics(0.0, 0.0, 0.0, 0.0, None, 0.0), []),
        (ClientMetrics(idle_ratio=0.0), [f"{MEASURED}: 0% of the time in poll()."]),
        (ClientMetrics(), []),
        (None, []),
    ],
)
def test_only_values_that_were_pushed_are_listed(metrics, text):
    assert clients(sentences("ab", "a", pushing(left("b", 80_100, 1), metrics))) == text


def test_the_last_push_counts():
    revoked = pushing(said(Callback.REVOKED, "b", 80_000, 80_050, 1, (1,)), EVERY)
    found = clients(sentences("ab", "a", revoked, pushing(left("b", 80_100, 1), ClientMetrics(idle_ratio=0.5))))
    assert found == [f"{MEASURED}: 50% of the time in poll()."]


def test_members_that_have_nothing_to_do_with_the_rebalance_are_not_listed():
    stayed = pushing(said(Callback.ASSIGNED, "a", 82_995, 83_000, 2, (0,)), EVERY)
    assert clients(sentences("ab", "a", stayed, left("b", 80_100, 1))) == []


def test_few_members_are_listed():
    names = "abcdef"
    leaves = [pushing(left(name, 80_100 + number, 1), EVERY) for number, name in enumerate(names[1:])]
    found = clients(sentences(names, "a", *leaves))
    assert [each.split()[3] for each in found] == ["client-b", "client-c", "client-d"]
    assert len(found) == CLIENTS_MAX
