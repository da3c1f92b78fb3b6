"""The goals for the tightness of bounds, by kind of change and by commit interval."""

from __future__ import annotations

KINDS = ("start", "clean leave", "kill", "kick", "rolling restart")
COMMITS_S = (1.0, 5.0)
"""Kinds of change and commit intervals (seconds) that have goals; for the others only false bounds count."""

LEAVES = ("clean leave", "rolling restart")
BOTH_MIN = 95.0
RATIO_MEDIAN_MAX, RATIO_P90_MAX = 1.5, 3.0
HEARTBEAT_S, MORE_S = 1.0, 0.5
"""The heartbeat interval of all members of the judge, with which they detect a rebalance, and an allowance."""

SESSION_SHARE = 0.5
PASSED = "met"


def goal_s(real_s, commit_s):
    """Return the highest upper bound (seconds) that counts as tight, for a stall of up to ten seconds."""
    return real_s + commit_s + MORE_S + HEARTBEAT_S


def with_session(excess_s, session_s, commit_s):
    """Whether an upper bound that is ``excess_s`` above the real stall includes a session timeout.

    Two commit intervals, one at each end of the stall, explain a part of the excess.
    """
    return excess_s - 2 * (commit_s + MORE_S) > SESSION_SHARE * session_s


def met(row):
    """Return the goals that a row of `tightness` misses, in words; `PASSED` if none, empty if its kind has no goals."""
    goals = [("false", row["false"] == 0)]
    if row["kind"] in KINDS:
        goals += [
            ("nothing played", row["stalls"] > 0),
            ("both bounds", _at_least(row["both bounds"], BOTH_MIN)),
            ("median over 10 s", _at_most(row["ratio median"], RATIO_MEDIAN_MAX)),
            ("p90 over 10 s", _at_most(row["ratio p90"], RATIO_P90_MAX)),
            ("stalls up to 10 s", _at_least(row["short within goal"], 100.0)),
            ("reported with a session timeout", row["as failures"] == 0),
        ]
    missed = [name for name, good in goals if not good]
    return f"missed: {', '.join(missed)}" if missed else PASSED if row["kind"] in KINDS else ""


def _at_least(value, least):
    return value is None or value >= least


def _at_most(value, most):
    return value is None or value <= most
