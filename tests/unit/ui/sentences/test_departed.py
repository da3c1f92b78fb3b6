"""Sentences name only the members that departed in the way that they are about."""

from dataclasses import replace

import pytest

from rebalance_agent.model.events import Callback
from rebalance_agent.ui.sentences.explanation import explanation_of, whole_rebalances
from support.tracker.tracking import (
    committed,
    in_time,
    left,
    listed,
    member,
    record,
    revoked,
    said,
    tick,
    topics,
    watch,
)
from unit.tracking.epoch.test_share_and_streams_groups import ALONE, followed, share

NAMES = "abcd"
START = (
    topics(0, t=4),
    listed(500),
    record(1_000, 0),
    record(4_000, 1, *(member(name, (number,)) for number, name in enumerate(NAMES)), joined=3_990),
)
LEFT, FAILED = 79_000, 65_000
"""Times of the last commits of members that left or failed; the session timeout is 15 s."""


def why(gone, *reports, **commits):
    """The causes in words. ``gone``: departed members. ``commits``: interval and time of the last commit by member."""
    stay = [member(name, (number,)) for number, name in enumerate(NAMES) if name not in gone]
    polls = listed(80_000), listed(80_200, "g"), listed(82_990, "g")
    after = *polls, record(83_000, 2, replace(stay[0], assignment=member("", range(4)).assignment), *stay[1:])
    work = [
        committed(at, NAMES.index(name))
        for name, until in commits.items()
        for at in range(5_000, until + 1, 1_000 if until == LEFT else 5_000)
    ]
    _, events = watch(*in_time(*START, *work, *after, *reports), tick(150_000), commits=False)
    events += [report.event for report in reports]
    events.sort(key=lambda event: event.timestamp_ms)
    details, rollouts = whole_rebalances(events, 1)
    sentence = explanation_of(details, rollouts, 1).rebalances[-1].sentences[0]
    for name in NAMES:
        sentence = sentence.replace(f"client-{name} (10.0.0.1)", name)
    return sentence.replace(" (left or failed: neither reports nor commits show which", "").replace(
        ", so the number of lost partitions is unknown, too)", ""
    )


@pytest.mark.parametrize(
    ("gone", "commits", "expected"),
    [
        ("bc", {"b": LEFT, "c": LEFT}, "b and c left"),
        ("bc", {"b": FAILED, "c": FAILED}, "b and c failed with 2 partitions"),
        ("bc", {}, "b and c are gone"),
        ("bc", {"b": LEFT}, "one of b and c left; one of b and c is gone"),
        ("bc", {"b": FAILED}, "one of b and c failed with 1 partition; one of b and c is gone"),
        (
            "bcd",
            {"b": LEFT, "c": FAILED},
            "one of b, c and d failed with 1 partition; one of b, c and d left; one of b, c and d is gone",
        ),
        ("bcd", {"b": LEFT}, "at least one of b, c and d left; at least one of b, c and d is gone"),
    ],
)
def test_the_number_of_members_in_a_sentence_follows_from_commits(gone, commits, expected):
    assert why(gone, **commits) == f"Why: {expected}."


@pytest.mark.parametrize(
    ("gone", "reports", "commits", "expected"),
    [
        ("bc", [left("b", 80_100, 1)], {"c": FAILED}, "c failed with 1 partition; b left"),
        ("bc", [revoked("b", 80_100, 80_150, 1, (1,))], {}, "b left; c is gone"),
        ("bc", [revoked("b", 80_100, 84_000, 1, (1,))], {"c": LEFT}, "b failed with 1 partition; c left"),
        ("bc", [revoked("b", 80_100, 84_000, 1, (1,))], {"c": FAILED}, "b and c failed with 2 partitions"),
        ("bc", [said(Callback.LOST, "b", 70_000, 70_010, 1, (1,))], {}, "b failed with 1 partition; c is gone"),
        (
            "bcd",
            [left("b", 80_100, 1)],
            {"c": FAILED},
            "one of c and d failed with 1 partition; b left; one of c and d is gone",
        ),
        (
            "bcd",
            [left("b", 80_100, 1)],
            {"c": FAILED, "d": FAILED},
            "at least one of c and d failed with 2 partitions; b left",
        ),
    ],
)
def test_a_report_identifies_the_member(gone, reports, commits, expected):
    assert why(gone, *reports, **commits) == f"Why: {expected}."


def test_a_member_of_a_share_group_has_not_left_because_its_partitions_were_taken():
    joins = [*ALONE, *share(10_000, 3, joins="bc", a=(0, 1), b=(0, 1), c=(0, 1))]
    after = share(20_000, 5, leaves="ab", c=(0, 1))
    reports = [left("a", 19_900, 3), revoked("b", 19_950, 19_950, 3, (0, 1))]
    events = [*followed(*joins, *after, *reports)[1], *(report.event for report in reports)]
    details, rollouts = whole_rebalances(sorted(events, key=lambda event: event.timestamp_ms), 1)
    why_gone = explanation_of(details, rollouts, 1).rebalances[-1].sentences[0]
    assert why_gone.startswith("Why: client-a (10.0.0.1) left; client-b (10.0.0.1) is gone")
