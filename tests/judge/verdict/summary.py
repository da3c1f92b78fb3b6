"""Summarises several runs: how often each fault was played, membership changes, and tightness of all stalls."""

from __future__ import annotations

import json

from judge.verdict import tightness
from judge.verdict.report import table, tightness_table

PLAYED_MIN, CHANGES_MIN = 20, 500
"""The least number of plays of each fault over all runs, and of membership changes in each run."""


def summary(folders):
    """Return the lines of the page on these folders, whose reports exist, and the problems in words."""
    reports = [json.loads((folder / "report.json").read_text()) for folder in folders]
    seeds = [str(report["seed"]) for report in reports]
    counts = played(reports)
    lines = [f"# Judge, seeds {', '.join(seeds)}", ""]
    rows = [[name, *each, sum(each)] for name, each in counts.items()]
    lines += [*table(("played", *seeds, "all"), rows), ""]
    wrong = [f"{name} was played {sum(each)} times" for name, each in counts.items() if sum(each) < PLAYED_MIN]
    wrong += [f"seed {each['seed']} has {each['changes']} membership changes" for each in reports
              if each["changes"] < CHANGES_MIN]  # fmt: skip
    for name in reports[0]["observers"]:
        ours = [report["observers"][name] for report in reports]
        rows = tightness.rows([stall for each in ours for stall in each["stalls"]])
        bounds, false = sum(each["bounds"] for each in ours), sum(len(each["cases"]) for each in ours)
        lines += [f"## Observer `{name}`", "", f"{bounds} bounds were judged, {false} are false.", ""]
        lines += [*tightness_table(rows), ""]
        wrong += [f"{name}: {false} bounds are false"] if false else []
        wrong += [f"{name}: {each['kind']}, commits every {each['commit_s']:g} s: {each['goals']}"
                  for each in rows if each["goals"].startswith("missed")]  # fmt: skip
    return lines + [f"- {each}" for each in wrong], wrong


def figures(folders):
    """Return the numbers of these runs as a dictionary: for each run and observer, and the tightness of all stalls."""
    reports = [json.loads((folder / "report.json").read_text()) for folder in folders]
    stalls = [stall for report in reports for each in report["observers"].values() for stall in each["stalls"]]
    return {
        "runs": [
            {"seed": report["seed"], "changes": report["changes"], "observer": name, **_of_run(each)}
            for report in reports
            for name, each in report["observers"].items()
        ],
        "played": {name: sum(each) for name, each in played(reports).items()},
        "tightness": tightness.rows(stalls),
    }


def _of_run(observer):
    stalls, facts = observer["stalls"], observer["facts"]
    return {
        "facts": facts["expected"],
        "reported": facts["reported"],
        "wrong facts": sum(len(facts[key]) for key in ("missed", "invented", "twice")),
        "bounds": observer["bounds"],
        "false": len(observer["cases"]),
        "stalls": len(stalls),
        "with both bounds": sum(each["upper_s"] is not None for each in stalls),
    }


def played(reports):
    """Return how often each run played each fault or change of members, those included that no run played."""
    names = sorted({name for report in reports for name in report["wanted"]})
    runs = [json.loads(report["played"] or "{}") for report in reports]
    counts = [{**run.get("changes", {}), **run.get("faults", {})} for run in runs]
    return {name: [each.get(name, 0) for each in counts] for name in names}
