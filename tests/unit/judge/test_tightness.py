"""Tightness by kind of change, its goals, and several runs together."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from judge.evidence.process import FOREVER
from judge.verdict import goals, tightness
from judge.verdict.bounds import Judged
from judge.verdict.episodes import Episode
from judge.verdict.goals import met
from judge.verdict.summary import summary
from support.judge.episodes import AT, reported, span

GROUPS = {"g": {"commit_ms": 1_000, "session_ms": 6_000, "type": "classic", "static": False}}


def stalls(kind, *bounds, real=2.0, groups=GROUPS):
    """A stall of ``real`` seconds for each upper bound; None: a stall without bounds."""
    for upper in bounds:
        event = reported(lower=None if upper is None else 0.0, upper=upper)
        yield from tightness.stalls([Judged(Episode(event, 0, [span(real)], kind=kind))], groups)


def row_of(kind, found):
    """The row of a kind of change in groups that commit every second."""
    return next(row for row in tightness.rows(list(found)) if (row["kind"], row["commit_s"]) == (kind, 1.0))


def test_each_kind_with_goals_has_a_row_for_each_commit_interval_even_without_cases():
    rows = tightness.rows(list(stalls("zombie", 3.0)))
    kinds = [(kind, commit_s) for kind in goals.KINDS for commit_s in goals.COMMITS_S]
    assert [(row["kind"], row["commit_s"]) for row in rows] == [*kinds, ("zombie", 1.0)]
    assert {row["goals"] for row in rows[:-1]} == {"missed: nothing played"}
    assert rows[-1]["goals"] == ""


def test_long_stalls_are_compared_by_their_ratio():
    row = row_of("kill", stalls("kill", 24.0, 36.0, real=12.0))
    assert (row["stalls"], row["both bounds"], row["long"]) == (2, 100.0, 2)
    assert (row["ratio median"], row["ratio p90"]) == (2.5, 3.0)
    assert row["goals"] == "missed: median over 10 s"
    assert row_of("kill", stalls("kill", *[18.0] * 10, real=12.0))["goals"] == "met"
    assert row_of("kill", stalls("kill", *[18.0] * 8, 37.0, 37.0, real=12.0))["goals"] == "missed: p90 over 10 s"


def test_a_stall_without_bounds_is_a_miss():
    row = row_of("start", stalls("start", None, *[3.0] * 18))
    assert (row["both bounds"], row["goals"]) == (94.7, "missed: both bounds")
    assert row_of("start", stalls("start", None, *[3.0] * 19))["goals"] == "met"


@pytest.mark.parametrize(("upper", "verdict"), [(4.5, "met"), (4.51, "missed: stalls up to 10 s")])
def test_a_short_stall_may_be_a_commit_interval_a_heartbeat_and_half_a_second_too_long(upper, verdict):
    assert row_of("kick", stalls("kick", upper))["goals"] == verdict


@pytest.mark.parametrize(("kind", "count"), [("clean leave", 1), ("rolling restart", 1), ("kill", 0)])
def test_a_clean_leave_reported_with_a_session_timeout_is_counted(kind, count):
    within, beyond = row_of(kind, stalls(kind, 8.0)), row_of(kind, stalls(kind, 8.1))
    assert (within["as failures"], beyond["as failures"]) == (0, count)
    assert ("session timeout" in beyond["goals"]) == bool(count)


def test_commits_explain_part_of_too_long_bounds():
    rare = {"g": {**GROUPS["g"], "commit_ms": 5_000}}
    (stall,) = stalls("clean leave", 15.0, groups=rare)
    assert stall["as failure"] is False


def test_a_false_bound_misses_the_goals():
    event = reported(lower=0.0, upper=1.0)
    wrong = Judged(Episode(event, 0, [span(2.0)], kind="kill"), ("upper too low",))
    row = row_of("kill", tightness.stalls([wrong], GROUPS))
    assert (row["false"], met(row)) == (1, "missed: false")


@pytest.mark.parametrize(("upper", "real"), [(6.0, 5.0), (4.0, 1.0)])
def test_an_upper_bound_is_compared_with_the_longest_stall_that_it_covers_also_an_open_one(upper, real):
    longer, endless = span(5.0, until=AT + 2_000), replace(span(9.0), until=FOREVER)
    episode = Episode(reported(lower=0.0, upper=upper), 0, [span(1.0)], [longer, endless], kind="kick")
    (stall,) = tightness.stalls([Judged(episode)], GROUPS)
    assert stall["real_s"] == real


def test_unreported_values_have_no_row():
    unsure = Judged(Episode(reported(), 0, [span(2.0)], kind="kill"), unsure=True)
    assert list(tightness.stalls([unsure], GROUPS)) == []


def report(folder, seed, played, found, changes=600, cases=()):
    folder.mkdir()
    observer = {"stalls": list(found), "bounds": 1, "cases": list(cases)}
    text = json.dumps({"seed": seed, "played": json.dumps(played), "wanted": ["kick", "outage"], "changes": changes,
                       "observers": {"kept": observer}})  # fmt: skip
    (folder / "report.json").write_text(text)
    return folder


def test_results_of_several_runs_are_summed(tmp_path):
    first = {"changes": {"kick": 15}, "faults": {"outage": 7}}
    second = {"changes": {"kick": 5}, "faults": {"outage": 12}}
    folders = [report(tmp_path / "1", 1, first, stalls("kick", None)),
               report(tmp_path / "2", 2, second, stalls("kick", *[3.0] * 19), changes=499, cases=[{}])]  # fmt: skip
    lines, wrong = summary(folders)
    assert "| kick | 15 | 5 | 20 |" in lines
    assert "| outage | 7 | 12 | 19 |" in lines
    assert wrong[:3] == [
        "outage was played 19 times",
        "seed 2 has 499 membership changes",
        "kept: 1 bounds are false",
    ]
    assert not any("kick, commits every 1 s" in each for each in wrong)
    assert any("kick, commits every 5 s: missed: nothing played" in each for each in wrong)
