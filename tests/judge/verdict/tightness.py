"""The tightness of bounds by kind of change and commit interval, compared with the goals."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

KINDS = ("start", "clean leave", "kill", "kick", "rolling restart")
LONG_S = 10.0
HEARTBEAT_S, MORE_S = 1.0, 0.5


def rows(judgements, groups):
    """Rows (dictionaries), one for each kind of change and commit interval."""
    found = defaultdict(list)
    for each in judgements:
        if not each.unsure:
            group = groups[each.episode.told.group]
            found[each.episode.kind, group["commit_ms"]].append((each, group))
    order = {kind: index for index, kind in enumerate(KINDS)}
    return [_row(*key, found[key]) for key in sorted(found, key=lambda key: (order.get(key[0], 9), *key))]


def _row(kind, commit_ms, judgements):
    stalls = [each for each in judgements if each[0].episode.real_most_s > 0 or each[0].episode.told.bounded]
    bounded = [(each.episode, group) for each, group in stalls if each.episode.told.bounded]
    long = [episode.told.upper_s / episode.real_most_s for episode, _ in bounded if episode.real_most_s > LONG_S]
    short = [(episode, group) for episode, group in bounded if episode.real_most_s <= LONG_S]
    wide = sorted(episode.told.upper_s - episode.real_most_s for episode, _ in short)
    within = [episode.told.upper_s <= goal_s(episode, group) for episode, group in short]
    return {
        "kind": kind,
        "commit_s": commit_ms / 1000,
        "stalls": len(stalls),
        "both bounds": _percent(len(bounded), len(stalls)),
        "false": sum(bool(each.wrong) for each, _ in judgements),
        "long": len(long),
        "ratio median": _round(median(long)) if long else None,
        "ratio p90": _round(percentile(sorted(long), 0.9)) if long else None,
        "short": len(short),
        "width median": _round(median(wide)) if wide else None,
        "width p90": _round(percentile(wide, 0.9)) if wide else None,
        "short within goal": _percent(sum(within), len(within)),
    }


def goal_s(episode, group):
    """The highest tight upper bound: real, a commit interval, half a second; and a heartbeat, if members need one."""
    heartbeat = HEARTBEAT_S if group["type"] != "classic" else 0.0
    return episode.real_most_s + group["commit_ms"] / 1000 + MORE_S + heartbeat


def told_as_failures(judgements, groups):
    """Clean leaves whose upper bound has (nearly) a session timeout in it that was not."""
    return [
        each
        for each in judgements
        if each.episode.kind == "clean leave"
        and each.episode.told.bounded
        and each.episode.told.upper_s - each.episode.real_most_s
        > 0.5 * groups[each.episode.told.group]["session_ms"] / 1000
    ]


def percentile(values, share):
    """The value below which ``share`` of sorted ``values`` lie."""
    return values[min(len(values) - 1, int(share * len(values)))]


def _percent(part, whole):
    return round(100 * part / whole, 1) if whole else None


def _round(value):
    return round(value, 2)
