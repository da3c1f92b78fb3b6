"""Computes how tight bounds are, by kind of change and by commit interval.

Each judged stall becomes a row of plain values, so that those of several runs can be added up.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import median

from judge.verdict.goals import COMMITS_S, KINDS, LEAVES, goal_s, met, with_session

LONG_S = 10.0


def stalls(judgements, groups):
    """Return the judged stalls of an observer as dictionaries; ``upper_s`` is None if a bound is missing."""
    for each in judgements:
        reported, real_s = each.episode.reported, each.episode.covered_s
        if each.unsure or not (real_s > 0 or reported.bounded):
            continue
        group = groups[reported.group]
        commit_s = group["commit_ms"] / 1000
        upper_s = reported.upper_s if reported.bounded else None
        leave = each.episode.kind in LEAVES and upper_s is not None
        yield {
            "kind": each.episode.kind,
            "commit_s": commit_s,
            "event_id": reported.id,
            "real_s": round(real_s, 3),
            "upper_s": upper_s,
            "false": bool(each.wrong),
            "as failure": leave and with_session(upper_s - real_s, group["session_ms"] / 1000, commit_s),
        }


def rows(found):
    """Return rows (dictionaries) of the stalls of one or several runs; each kind with goals has a row in any case."""
    by_row = defaultdict(list, {(kind, commit_s): [] for kind in KINDS for commit_s in COMMITS_S})
    for each in found:
        by_row[each["kind"], each["commit_s"]].append(each)
    order = {kind: index for index, kind in enumerate(KINDS)}
    return [_row(*key, by_row[key]) for key in sorted(by_row, key=lambda key: (order.get(key[0], len(order)), *key))]


def _row(kind, commit_s, found):
    bounded = [each for each in found if each["upper_s"] is not None]
    long = sorted(each["upper_s"] / each["real_s"] for each in bounded if each["real_s"] > LONG_S)
    short = [each for each in bounded if each["real_s"] <= LONG_S]
    wide = sorted(each["upper_s"] - each["real_s"] for each in short)
    within = [each["upper_s"] <= goal_s(each["real_s"], commit_s) for each in short]
    row = {
        "kind": kind,
        "commit_s": commit_s,
        "stalls": len(found),
        "both bounds": _percent(len(bounded), len(found)),
        "false": sum(each["false"] for each in found),
        "long": len(long),
        "ratio median": _round(median(long)) if long else None,
        "ratio p90": _round(percentile(long, 0.9)) if long else None,
        "short": len(short),
        "width median": _round(median(wide)) if wide else None,
        "width p90": _round(percentile(wide, 0.9)) if wide else None,
        "short within goal": _percent(sum(within), len(within)),
        "as failures": sum(each["as failure"] for each in found),
    }
    return {**row, "goals": met(row)}


def percentile(values, share):
    """Return the value below which ``share`` of sorted ``values`` lie."""
    return values[min(len(values) - 1, int(share * len(values)))]


def _percent(part, whole):
    return round(100 * part / whole, 1) if whole else None


def _round(value):
    return round(value, 2)
