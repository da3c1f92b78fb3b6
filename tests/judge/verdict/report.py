"""Writes the report: Markdown, JSON, and the last lines of a run."""

from __future__ import annotations

import json

from judge.verdict.counters import too_high

COLUMNS = {
    "kind": "change",
    "commit_s": "commits every s",
    "stalls": "stalls",
    "both bounds": "both bounds %",
    "false": "false",
    "long": "over 10 s",
    "ratio median": "upper / real, median",
    "ratio p90": "p90",
    "short": "up to 10 s",
    "width median": "upper - real s, median",
    "width p90": "p90",
    "short within goal": "within the goal %",
    "as failures": "with a session timeout",
    "goals": "goals",
}
"""Titles of the columns, by the keys of the rows of `tightness`."""


def write(path, found):
    """Write both files, print the page, and return the exit code."""
    text = "\n".join(_page(found)) + "\n"
    (path / "report.md").write_text(text)
    (path / "report.json").write_text(json.dumps(found, indent=1, default=str))
    print(text)
    print(f"report and evidence: {path}")
    wrong = [
        name
        for name, each in found["observers"].items()
        if each["false"] or each["facts"]["missed"] or each["facts"]["invented"] or each["facts"]["twice"]
    ]
    if found["truth"]["contradicted"]:
        wrong.append("the truth itself, which records of members contradict")
    missed = [f"{row['kind']} ({row['commit_s']:g} s)" for row in next(iter(found["observers"].values()))["tightness"]
              if row["goals"].startswith("missed")]  # fmt: skip
    print(f"judge: goals of tightness: {'missed by ' + ', '.join(missed) if missed else 'met'}")
    print("judge: " + (f"wrong: {', '.join(wrong)}" if wrong else "no bound is false, no fact is wrong"))
    return 1 if wrong else 0


def show(folder, name):
    """Print the case ``GROUP:NUMBER`` of a folder's report, with the lines around it."""
    found = json.loads((folder / "report.json").read_text())
    for observer in found["observers"].values():
        for case in observer["cases"]:
            if name == f"{case['group']}:{case['number']}":
                print("\n".join(_whole(case)))


def _whole(case):
    for key, value in case.items():
        if isinstance(value, list) and key != "wrong":
            yield from (f"{key}:", *(f"    {line}" for line in value))
        else:
            yield f"{key}: {value}"
    yield ""


def _page(found):
    yield f"# Judge, seed {found['seed']}"
    yield ""
    truth = found["truth"]
    yield f"{found['changes']} membership changes. Played: {found['played']}."
    yield f"Truth: {truth['spans']} stalls of partitions, {truth['unsure']} unsure, "
    yield f"{truth['contradicted']} contradicted by records that the old owner processed later."
    for name, each in found["observers"].items():
        yield from ("", f"## Observer `{name}`", "")
        facts = each["facts"]
        yield "| facts | reported | missed | compacted away | invented | not in the judge's records | under two ids |"
        yield "| --- | --- | --- | --- | --- | --- | --- |"
        counts = [len(facts[key]) for key in ("missed", "compacted", "invented", "unread", "twice")]
        yield f"| {facts['expected']} | {facts['reported']} | {' | '.join(map(str, counts))} |"
        yield ""
        yield f"Bounds: {each['bounds']} judged, false: {each['false'] or 0}; {each['unsure']} not judged. "
        yield f"Trigger, where causes are mixed: {each['trigger']['counts']}."
        yield ""
        yield from tightness_table(each["tightness"])
        yield ""
        rows = each["partition-seconds"]
        yield "Stalled partition-seconds, by the counters and in truth:"
        yield ""
        yield from table(tuple(rows[0]), [list(row.values()) for row in rows])
        yield f"\nCounters above the truth: {', '.join(too_high(rows)) or 'none'}."
        yield ""
        yield from _cases(each["cases"])
    yield ""
    same = found["same id, another trigger"]
    yield f"Events of both observers: {same['both']}; with different triggers: {same['differ']}; "
    yield f"with a trigger that is unknown to one of them: {same['unknown to one']}."


def _cases(cases):
    by_cause = {}
    for case in cases:
        by_cause.setdefault(case["cause"], []).append(case)
    for cause, some in sorted(by_cause.items(), key=lambda item: -len(item[1])):
        yield from (f"### {len(some)}: {cause}", "")
        for case in some:
            yield _case_line(case)
        yield ""


def _case_line(case):
    reported, real, longest = case["reported"], case["real"], case["longest"] or {}
    exact = " exact" if reported["exact"] else ""
    return (
        f"- {case['group']} {case['number']} ({case['client']}; {case['change']}): {', '.join(case['wrong'])}: "
        f"reported {reported['lower_s']}..{reported['upper_s']}{exact}, real {real['least_s']}..{real['most_s']} "
        f"(to the record {real['to_the_record_s']}); {longest.get('partition')} {longest.get('reason')} "
        f"{longest.get('stopped')} -> {longest.get('resumed')}; {reported['trigger']}"
    )


def tightness_table(rows):
    """Return the lines of the table of `tightness.rows`."""
    return table(tuple(COLUMNS.values()), [[row[key] for key in COLUMNS] for row in rows])


def table(titles, rows):
    """Return the lines of a table in Markdown."""
    if titles:
        yield "| " + " | ".join(titles) + " |"
        yield "| " + " | ".join("---" for _ in titles) + " |"
    for row in rows:
        yield "| " + " | ".join("" if value is None else str(value) for value in row) + " |"
