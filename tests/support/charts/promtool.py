"""Runs rules and queries with ``promtool test rules``: test cases in YAML, many in one call."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import yaml
from alerts.pack import GROUPS
from alerts.render import rules
from alerts.values import Values

PROMTOOL = os.environ.get("REBALANCE_AGENT_PROMTOOL") or shutil.which("promtool")

CASES = Path(__file__).parents[2] / "alerts" / "cases"


@dataclass(frozen=True)
class Answer:
    """A query and its expected answer at a time: labels of each series (``{a="b"}``) -> value."""

    expression: str
    at: str
    expected: dict[str, float]


def unlike(series: dict[str, str], answers: Iterable[Answer], folder: Path, interval: str = "1m") -> str:
    """promtool's errors if queries of these series have other results; empty if they have exactly these."""
    test = {
        "interval": interval,
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": each.expression,
                "eval_time": each.at,
                "exp_samples": [{"labels": labels, "value": value} for labels, value in each.expected.items()],
            }
            for each in answers
        ],
    }
    path = folder / "queries.yaml"
    path.write_text(yaml.safe_dump({"evaluation_interval": "1m", "tests": [test]}), encoding="utf-8")
    done = subprocess.run([PROMTOOL or "promtool", "test", "rules", path], capture_output=True, check=False, text=True)
    return done.stdout + done.stderr if done.returncode else ""


@dataclass(frozen=True)
class Case:
    """Series over time, and the alerts that must fire. ``expect``: time -> annotations and labels of each."""

    alert: str
    name: str
    interval: str
    step: str
    series: dict[str, str]
    expect: dict[str, list[dict[str, str]]]


def read_cases() -> dict[str, list[Case]]:
    """All cases by alert. ``quiet``: times without alerts; ``fires``: time -> expected alert."""
    found: dict[str, list[Case]] = {}
    for path in sorted(CASES.glob("*.yaml")):
        for alert, cases in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            for case in cases:
                expect = {str(time): [] for time in case.get("quiet", ())}
                expect |= {str(time): [each] for time, each in case.get("fires", {}).items()}
                step = case.get("step", case["interval"])
                found.setdefault(alert, []).append(
                    Case(alert, case["case"], case["interval"], step, case["series"], expect)
                )
    return found


def rule_file(values: Values, alert: str) -> str:
    """One alert with the recording rules that it reads."""
    groups = [group for each in GROUPS for group in rules(each, values)["groups"]]
    wanted = [next(rule for group in groups for rule in group["rules"] if rule.get("alert") == alert)]
    wanted[:0] = [
        rule
        for group in groups
        for rule in group["rules"]
        if "record" in rule and re.search(rf"{rule['record']}(?!\w)", wanted[-1]["expr"])
    ]
    return yaml.safe_dump({"groups": [{"name": "g", "rules": wanted}]})


def expected(case: Case, what: dict[str, str], severity: str) -> dict[str, object]:
    """A complete alert: labels and annotations; the name determines the runbook's address."""
    annotations = {key: what[key] for key in ("summary", "description", "dashboard_url")}
    annotations["runbook_url"] = f"https://example.com/kafka-rebalance-agent/alerts/runbooks/{case.alert}.md"
    return {"exp_labels": {"severity": severity} | what["labels"], "exp_annotations": annotations}


def test_file(cases: list[Case], rule_path: Path) -> str:
    """The cases in promtool's format; all cases of one file have the same evaluation interval."""
    (interval,) = {case.interval for case in cases}
    tests = [
        {
            "name": case.name,
            "interval": case.step,
            "input_series": [{"series": series, "values": values} for series, values in case.series.items()],
            "alert_rule_test": [
                {
                    "eval_time": time,
                    "alertname": case.alert,
                    "exp_alerts": [expected(case, each, each["severity"]) for each in firing],
                }
                for time, firing in case.expect.items()
            ],
        }
        for case in cases
    ]
    return yaml.safe_dump({"rule_files": [str(rule_path)], "evaluation_interval": interval, "tests": tests})


def silenced(case: Case) -> Case:
    """The case with ``-`` in place of the texts that `unworded` removes."""
    expect = {
        time: [each | dict.fromkeys(("summary", "description", "dashboard_url"), "-") for each in firing]
        for time, firing in case.expect.items()
    }
    return replace(case, expect=expect)


def unworded(rule_text: str) -> str:
    """The rules with ``-`` in place of annotations, except the runbook's address, which contains no number."""
    loaded = yaml.safe_load(rule_text)
    for rule in loaded["groups"][0]["rules"]:
        if "annotations" in rule:
            rule["annotations"] |= dict.fromkeys(("summary", "description", "dashboard_url"), "-")
    return yaml.safe_dump(loaded)


@dataclass(frozen=True)
class Run:
    """Cases for a rule file; ``key`` identifies the run."""

    key: str
    rules: str
    cases: list[Case]


def run(runs: list[Run], folder: Path) -> dict[str, str]:
    """promtool's errors for each run, by its key; empty if all results are as expected."""
    key_of: dict[str, str] = {}
    for number, each in enumerate(runs):
        rule_path = folder / f"{number}.rules.yaml"
        rule_path.write_text(each.rules, encoding="utf-8")
        for interval in sorted({case.interval for case in each.cases}):
            path = folder / f"{number}.{interval}.test.yaml"
            cases = [case for case in each.cases if case.interval == interval]
            path.write_text(test_file(cases, rule_path), encoding="utf-8")
            key_of[str(path)] = each.key
    command = [PROMTOOL or "promtool", "test", "rules", *key_of]
    said = subprocess.run(command, capture_output=True, check=False, text=True)
    sections = re.split(r"^Unit Testing:  (.+)$", said.stdout, flags=re.MULTILINE)[1:]
    verdicts = dict(zip(sections[::2], sections[1::2], strict=True))
    assert set(verdicts) == set(key_of), said.stderr
    # Failures are on standard error without the file's name, so each failed file gets all of it.
    objections = dict.fromkeys((each.key for each in runs), "")
    return objections | {key_of[path]: said.stderr for path, said_of in verdicts.items() if "SUCCESS" not in said_of}


def unnoticed(runs: list[Run], folder: Path) -> list[str]:
    """The keys of the runs that meet all their cases. A run that fails one is not evaluated with its later ones."""
    for number in range(max(len(each.cases) for each in runs)):
        once = [replace(each, cases=[each.cases[number]]) for each in runs if number < len(each.cases)]
        objections = run(once, folder) if once else {}
        runs = [each for each in runs if not objections.get(each.key)]
    return [each.key for each in runs]
