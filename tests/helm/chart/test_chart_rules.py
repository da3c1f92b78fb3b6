"""The chart's alerts are those of `alerts/`, with any values."""

import pytest
import yaml
from alerts.files import rule_files
from alerts.values import load
from helm.copies import thresholds

from support.helm.chart import EVERYTHING, one, template

DEFAULTS = thresholds()
ALERTS = [name for name in DEFAULTS if name != "shared"]
OTHER = {"severity": "info", "across": "max", "slo": 0.9, "dashboards": "https://grafana", "runbooks": "https://wiki"}


def groups(**values):
    text = template({"monitoring": {"enabled": True, "prometheusRule": values}}, *EVERYTHING)
    return one("PrometheusRule", text)["spec"]["groups"]


def written(*overrides):
    """The output of ``python -m alerts``, in the order of the chart's files."""
    files = sorted((path, text) for path, text in rule_files(load(*overrides)).items() if path.parent.name == "rules")
    return [group for _, text in files for group in yaml.safe_load(text)["groups"]]


def changed(name, value):
    if name in OTHER:
        return OTHER[name]
    return "1h" if isinstance(value, str) else value * 3 + 1000000


def test_without_values_the_rules_equal_the_files():
    assert groups() == written()


def test_every_changed_value_is_in_its_place(tmp_path):
    values = {name: {key: changed(key, value) for key, value in own.items()} for name, own in DEFAULTS.items()}
    shared = values.pop("shared")
    mine = tmp_path / "mine.yaml"
    mine.write_text(yaml.safe_dump({"shared": shared, "alerts": values}))
    assert groups(shared=shared, alerts=values) == written(mine)


@pytest.mark.parametrize("group", ["rebalances", "stalls", "assignments", "agent"])
def test_each_alert_can_be_omitted(group):
    name = f"kafka-rebalance-{group}"
    before = next(each for each in written() if each["name"] == name)["rules"]
    alerts = [rule["alert"] for rule in before if "alert" in rule]
    left = [each for each in groups(disabled=alerts[:-1]) if each["name"] == name]
    assert [rule["alert"] for rule in left[0]["rules"] if "alert" in rule] == alerts[-1:]
    assert name not in {each["name"] for each in groups(disabled=alerts)} or any("record" in rule for rule in before)


def test_labels_are_added_to_all_alerts_or_to_one():
    found = {
        rule["alert"]: rule["labels"]
        for group in groups(alertLabels={"team": "a", "tier": "1"}, alerts={ALERTS[0]: {"labels": {"team": "b"}}})
        for rule in group["rules"]
        if "alert" in rule
    }
    assert set(found) == set(ALERTS)
    assert {name: labels["team"] for name, labels in found.items()} == dict.fromkeys(ALERTS, "a") | {ALERTS[0]: "b"}
    assert {labels["tier"] for labels in found.values()} == {"1"}
    assert all("severity" in labels for labels in found.values())
