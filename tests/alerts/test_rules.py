"""Each alert fires above its threshold, stays silent just below, and resolves; each number has a case that pins it."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from alerts.files import rule_files
from alerts.pack import ALERTS
from alerts.values import SEVERITIES, Values, load, seconds

from rebalance_agent.metrics.member_rows import CALLBACK_BUCKETS
from support.charts.promtool import PROMTOOL, Run, read_cases, rule_file, run, silenced, unnoticed, unworded

ROOT = Path(__file__).parents[2]
VALUES = load()
CASES = read_cases()
NAMES = [alert.name for alert in ALERTS]

needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool was not found")


@needs_promtool
def test_promtool_accepts_the_rules():
    files = sorted(str(ROOT / "alerts" / path) for path in rule_files(VALUES) if path.parts[0] == "rules")
    done = subprocess.run([PROMTOOL, "check", "rules", *files], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_alert_has_cases_and_every_case_an_alert():
    assert set(CASES) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_alert_is_tested_before_while_and_after_it_fires(name):
    turns = set()
    for case in CASES[name]:
        moments = sorted(case.expect.items(), key=lambda moment: in_seconds(moment[0]))
        turns |= {(bool(before), bool(after)) for (_, before), (_, after) in pairwise(moments)}
    assert {(False, True), (True, False)} <= turns


@needs_promtool
@pytest.mark.parametrize("name", NAMES)
def test_each_alert_fires_and_is_silent_as_in_its_cases(name, tmp_path):
    assert run([Run(name, rule_file(VALUES, name), CASES[name])], tmp_path) == {name: ""}


def in_seconds(time):
    """A time such as 6m45s."""
    return sum(seconds(part) for part in re.findall(r"\d+[a-z]+", time))


def others(name, key, value):
    """Slightly higher and lower values, which a case must detect."""
    if key == "severity":
        return [word for word in SEVERITIES if word != value]
    if isinstance(value, str):
        return [f"{round(seconds(value) * factor)}s" for factor in (0.8, 1.2)]
    if (name, key) == ("KafkaGroupRevokeCallbackSlow", "seconds"):
        # Numbers between two bucket bounds are equal in a histogram.
        at = CALLBACK_BUCKETS.index(value)
        return [CALLBACK_BUCKETS[at - 1], CALLBACK_BUCKETS[at + 1]]
    if isinstance(value, int):
        step = max(1, value // 10)
        return [value - step, value + step]
    return [value * 0.9, value * 1.1]


def mutants():
    """Each alert with one changed value: (changed value, alert, values)."""
    for name in NAMES:
        for key, value in VALUES.alerts[name].items():
            for other in others(name, key, value):
                changed = VALUES.alerts | {name: VALUES.alerts[name] | {key: other}}
                yield f"{name}: {key} {other}", name, replace(VALUES, alerts=changed)
    for name in NAMES:
        if "BudgetBurn" in name:
            for slo in (0.9945, 0.9955):
                yield f"{name}: slo {slo}", name, Values(VALUES.shared | {"slo": slo}, VALUES.alerts)
    yield "across max", "KafkaGroupRebalanceStorm", Values(VALUES.shared | {"across": "max"}, VALUES.alerts)


@needs_promtool
def test_every_changed_value_fails_a_case(tmp_path):
    # The texts of an alert contain its numbers: they are removed, so that only its behaviour shows a change.
    silent = {name: [silenced(case) for case in cases] for name, cases in CASES.items()}
    runs = [Run(what, unworded(rule_file(values, name)), silent[name]) for what, name, values in mutants()]
    assert unnoticed(runs, tmp_path) == []
    assert len(runs) > 100


@needs_promtool
def test_cases_without_texts_pass_unchanged(tmp_path):
    runs = [
        Run(name, unworded(rule_file(VALUES, name)), [silenced(case) for case in cases])
        for name, cases in CASES.items()
    ]
    assert set(run(runs, tmp_path).values()) == {""}


@needs_promtool
def test_independent_observers_are_not_added_up(tmp_path):
    completed = 'kafka_rebalance_completed_total{consumergroup="orders", trigger="member_joined", instance="%s"}'
    watching = {completed % each: "0+1x6 6+0x9" for each in ("a", "b")}
    (case,) = (case for case in CASES["KafkaGroupRebalanceStorm"] if "two members" in case.name)
    members = {key: text for key, text in case.series.items() if "members" in key}
    case = replace(case, series=watching | members, expect={"6m": [], "9m": []})
    for across, fires in (("max", False), ("sum", True)):
        values = Values(VALUES.shared | {"across": across}, VALUES.alerts)
        objections = run([Run(across, rule_file(values, case.alert), [case])], tmp_path)
        assert bool(objections[across]) == fires
