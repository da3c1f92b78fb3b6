"""Rules for a Prometheus in a test: short evaluation intervals, and short durations if required."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml
from alerts.pack import GROUPS
from alerts.render import rules
from alerts.values import Value, Values, load

SHORT: Mapping[str, Mapping[str, Value]] = {
    "KafkaGroupAssignmentSkewed": {"ratio": 1.4, "for": "10s"},
    "KafkaGroupIdleMembers": {"for": "10s"},
    "KafkaGroupStandbyMissing": {"for": "3s"},
    "KafkaGroupTopicsOnOneHost": {"for": "3s"},
    "RebalanceAgentDown": {"for": "2s", "memory": "10m"},
}
"""Alert -> values with which it fires within seconds: the demo has these states too briefly for the committed ones."""


def written(folder: Path, interval: str) -> list[Path]:
    """The committed alerts, and those of `SHORT` with a label ``pace="short"``, as files."""
    files = []
    for group in GROUPS:
        content = rules(group, patient(interval))
        files.append(_write(folder / f"{group.name}.rules.yaml", content["groups"][0]["rules"], interval, group.name))
    return [*files, short(folder, interval, SHORT)]


def short(folder: Path, interval: str, chosen: Mapping[str, Mapping[str, Value]]) -> Path:
    """The selected alerts with other values, and the recording rules that have other names because of them."""
    values = patient(interval)
    mine = Values(values.shared, {name: own | chosen.get(name, {}) for name, own in values.alerts.items()})
    usual = {rule.get("record") for group in GROUPS for rule in _rules(group, values)}
    wanted = []
    for rule in (rule for group in GROUPS for rule in _rules(group, mine)):
        if "record" in rule and rule["record"] not in usual:
            wanted.append(rule)
        elif rule.get("alert") in chosen:
            wanted.append(rule | {"labels": rule["labels"] | {"pace": "short"}})
    return _write(folder / "short.rules.yaml", wanted, interval, "short")


def patient(interval: str) -> Values:
    """The committed values with a shorter evaluation interval."""
    values = load()
    return Values(values.shared | {"interval": interval}, values.alerts)


def _rules(group, values: Values) -> list[dict]:
    return rules(group, values)["groups"][0]["rules"]


def _write(path: Path, wanted: Iterable[dict], interval: str, name: str) -> Path:
    content = {"groups": [{"name": name, "interval": interval, "rules": list(wanted)}]}
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path
