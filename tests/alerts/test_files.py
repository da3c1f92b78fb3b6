"""The files generated from the alerts are current; they can be generated with other values or with placeholders."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from alerts.files import PAGE, documents, rule_files
from alerts.pack import ALERTS
from alerts.values import ValuesError, load, seconds

ROOT = Path(__file__).parents[2]
VALUES = load()
WRITTEN = {Path("alerts") / path: text for path, text in rule_files(VALUES).items()} | documents(VALUES)


@pytest.mark.parametrize("path", WRITTEN, ids=str)
def test_written_files_are_current(path):
    assert (ROOT / path).read_text(encoding="utf-8") == WRITTEN[path], "run `make alerts`"


def test_titles_on_the_page_have_no_templates():
    titles = re.findall(r"^\| \[`\w+`\].*\| (.*) \|$", documents(VALUES)[PAGE], re.MULTILINE)
    assert len(titles) == len(ALERTS)
    assert [title for title in titles if "{{" in title or "$" in title or not title[0].isupper()] == []


def test_a_count_has_its_noun_in_the_singular_or_plural():
    page = documents(VALUES)[PAGE]
    assert "$count" not in page + "".join(WRITTEN.values())
    assert "*value* failed rebalances" in page


def test_there_is_no_obsolete_file_of_rules():
    there = {
        path.relative_to(ROOT) for folder in ("rules", "alertmanager") for path in (ROOT / "alerts" / folder).iterdir()
    }
    assert there == {path for path in WRITTEN if path.parts[0] == "alerts"}


def test_placeholders_replaced_by_the_values_give_the_files():
    def value(found):
        place, key = found[1].rsplit(".", 1)
        return str((VALUES.shared if place == "shared" else VALUES.alerts[place])[key])

    kept = rule_files(VALUES, placeholders=True)
    put = {path: re.sub(r"\$\{([\w.]+)\}", value, text) for path, text in kept.items()}
    assert {path: yaml.safe_load(text) for path, text in put.items()} == {
        path: yaml.safe_load(text) for path, text in rule_files(VALUES).items()
    }


def test_every_value_of_the_chart_has_a_placeholder():
    places = set(re.findall(r"\$\{([\w.]+)\}", "".join(rule_files(VALUES, placeholders=True).values())))
    fixed = ("interval", "long", "memory", "short", "window")
    settable = {f"{name}.{key}" for name, own in VALUES.alerts.items() for key in own if key not in fixed}
    assert places == settable | {f"shared.{key}" for key in VALUES.shared if key not in fixed}


def write(tmp_path, text, *flags):
    """``python -m alerts`` with a file of values."""
    (tmp_path / "mine.yaml").write_text(text)
    command = [sys.executable, "-m", "alerts", "--values", str(tmp_path / "mine.yaml"), *flags]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)


def test_rules_with_other_values_are_written_to_another_folder(tmp_path):
    mine = "shared: {dashboards: https://g}\nalerts: {KafkaGroupRebalanceStorm: {window: 5m, severity: critical}}"
    done = write(tmp_path, mine, "--out", str(tmp_path / "out"))
    assert (done.returncode, done.stderr) == (0, "")
    rules = (tmp_path / "out" / "rules" / "rebalances.rules.yaml").read_text()
    (storm,) = (
        rule for rule in yaml.safe_load(rules)["groups"][0]["rules"] if rule["alert"] == "KafkaGroupRebalanceStorm"
    )
    assert storm["labels"] == {"severity": "critical"}
    assert "increase5m" in storm["expr"]
    assert storm["annotations"]["dashboard_url"].startswith("https://g/d/rebalance-group?")
    assert "increase5m" in (tmp_path / "out" / "rules" / "recordings.rules.yaml").read_text()


@pytest.mark.parametrize(
    ("mine", "what"),
    [
        ("alerts: {KafkaGroupStorm: {}}", "KafkaGroupRebalanceStorm?); valid names: KafkaGroupRebalanceStuck"),
        (
            "alerts: {KafkaGroupRebalanceSlow: {second: 1}}",
            "unknown name: second (did you mean seconds?); valid names: severity, for, seconds",
        ),
        ("alerts: {KafkaGroupRebalanceSlow: {seconds: 2m}}", "'2m' is not a number such as 60"),
        ("alerts: {KafkaGroupRebalanceSlow: {for: 2 minutes}}", "'2 minutes' is not a duration"),
        ("alerts: {KafkaGroupRebalanceSlow: {for: 2}}", "2 is not a string such as 1m"),
        ("alerts: {KafkaGroupRebalanceSlow: {severity: page}}", "'page' is not one of critical, warning, info"),
        ("alerts: {KafkaGroupRebalanceSlow: 3}", "expected a mapping with the keys severity, for, seconds"),
        ("shared: {across: mean}", "'mean' is not one of sum, max"),
    ],
)
def test_a_wrong_value_is_refused_with_the_valid_ones(tmp_path, mine, what):
    done = write(tmp_path, mine, "--out", str(tmp_path))
    assert done.returncode == 2
    assert what in done.stderr


@pytest.mark.parametrize(("values", "out"), [("absent.yaml", "out"), ("mine.yaml", "mine.yaml")])
def test_a_file_that_cannot_be_read_or_written_is_named_in_one_line(tmp_path, values, out):
    (tmp_path / "mine.yaml").write_text("{}")
    command = [sys.executable, "-m", "alerts", "--values", str(tmp_path / values), "--out", str(tmp_path / out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"python -m alerts: {tmp_path}/")


def test_a_file_without_a_mapping_is_refused(tmp_path):
    (tmp_path / "mine.yaml").write_text("[1]")
    with pytest.raises(ValuesError, match=r"must have the keys of values.yaml"):
        load(tmp_path / "mine.yaml")


def test_other_values_do_not_overwrite_the_repository(tmp_path):
    done = write(tmp_path, "{}")
    assert done.returncode == 2
    assert "--out" in done.stderr


def test_durations_have_prometheus_format():
    assert [seconds(each) for each in ("500ms", "30s", "15m", "6h", "3d")] == [0.5, 30, 900, 21600, 259200]
