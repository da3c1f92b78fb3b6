"""The copies that a member reports, even if its application returns invalid data."""

from __future__ import annotations

import itertools

import pytest

from rebalance_agent.clients.held_copies import REPORT_MAX, HeldCopies

ASSIGNED = {"t": (1, 2)}


def test_without_a_report_the_assigned_copies_are_in_the_subscription():
    assert HeldCopies(None, "group").held(ASSIGNED) == ASSIGNED


def test_a_report_replaces_assigned_copies_sorted_and_without_duplicates():
    copies = HeldCopies(lambda: {"u": [3, 1, 3], "t": iter({0}), "empty": ()}, "group")
    held = copies.held(ASSIGNED)
    assert list(held.items()) == [("t", (0,)), ("u", (1, 3))]


def test_an_empty_report_means_that_no_copy_is_ready():
    assert HeldCopies(dict, "group").held(ASSIGNED) == {}


@pytest.mark.parametrize(
    "report",
    [
        None,
        7,
        ["t"],
        {"t": 7},
        {"t": None},
        {"t": ["1"]},
        {"t": "1"},
        {"t": [1.0]},
        {"t": [-1]},
        {"t": [1_000_000]},
        {"": [1]},
        {"no topic": [1]},
        {"t" * 250: [1]},
        {7: [1]},
        {"t": itertools.count()},
        {"t": itertools.repeat(1)},
        {f"t{number}": range(1_000) for number in range(REPORT_MAX // 1_000 + 1)},
    ],
)
def test_an_invalid_report_is_ignored_and_logged(report, caplog):
    assert HeldCopies(lambda: report, "billing").held(ASSIGNED) == ASSIGNED
    assert "group billing: held_standbys is not used" in caplog.text


def test_copies_up_to_the_bound_are_used():
    held = HeldCopies(lambda: {"t": range(REPORT_MAX)}, "group").held(ASSIGNED)
    assert held == {"t": tuple(range(REPORT_MAX))}


def test_a_repeated_failure_is_logged_once_until_a_valid_report(caplog):
    answers = [OSError("disk"), OSError("disk"), {"t": [5]}, OSError("again")]

    def report():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    copies = HeldCopies(report, "group")
    assert [copies.held(ASSIGNED) for _ in range(2)] == [ASSIGNED, ASSIGNED]
    assert len(caplog.records) == 1
    assert "disk" in caplog.text
    assert copies.held(ASSIGNED) == {"t": (5,)}
    assert copies.held(ASSIGNED) == ASSIGNED
    assert len(caplog.records) == 2
