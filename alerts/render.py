"""Renders rules to Prometheus' format, with values or with placeholders for a chart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import dedent
from typing import Any

from alerts.rule import Alert, Board, Recording, RuleGroup
from alerts.values import FIXED, Value, Values, seconds

__all__ = ["rules"]

_NAME = re.compile(r"\$([a-z_]+)")
_PROMETHEUS = ("labels", "value")
"""Names of Prometheus' own templates."""

_COUNT = re.compile(r"\$count\(([^)]+)\)")
_COUNTED = r"{{ $value | humanize }} \1{{ if ne $value 1.0 }}s{{ end }}"
"""``$count(noun)``, and Prometheus' template for it: ``1 member``, ``2 members``."""

_GROUP_LABELS = "var-cluster={{ $labels.cluster | urlquery }}&var-consumergroup={{ $labels.consumergroup | urlquery }}"


def rules(group: RuleGroup, values: Values, *, placeholders: bool = False) -> dict[str, Any]:
    """Return a rule file in Prometheus' format.

    With ``placeholders``, each value that a chart can set is written as ``${ALERT.PARAMETER}`` or
    ``${shared.PARAMETER}``, to be replaced as text. Windows are never placeholders, because the names of recording
    rules contain them.
    """
    written: dict[str, dict[str, Any]] = {}
    for rule in group.rules:
        if isinstance(rule, Alert):
            written[rule.name] = _alert(rule, values, placeholders=placeholders)
        else:
            recording = _recording(rule, values, placeholders=placeholders)
            written[recording["record"]] = recording  # two alerts with the same window share one rule
    interval = str(values.shared["interval"])
    return {"groups": [{"name": group.name, "interval": interval, "rules": list(written.values())}]}


def _alert(alert: Alert, values: Values, *, placeholders: bool) -> dict[str, Any]:
    own = values.alerts[alert.name]
    known = _known(alert.name, own, values, placeholders=placeholders)
    written: dict[str, Any] = {"alert": alert.name, "expr": _filled(alert.expression, known)}
    for key in ("for", "keep_firing_for"):
        if key in own:
            written[key] = known[key]
    written["labels"] = {"severity": known["severity"]}
    written["annotations"] = {
        "summary": _filled(alert.summary, known),
        "description": _filled(f"{alert.description} {alert.todo}", known),
        "runbook_url": f"{known['runbooks']}/{alert.name}.md",
        "dashboard_url": f"{known['dashboards']}/d/{alert.board}" + _at(alert.board),
    }
    return written


def _at(board: Board) -> str:
    return "" if board is Board.AGENT else f"?{_GROUP_LABELS}"


def _recording(recording: Recording, values: Values, *, placeholders: bool) -> dict[str, Any]:
    window = {"window": values.alerts[recording.of][recording.key]}
    known = _known(recording.of, window, values, placeholders=placeholders)
    return {"record": _filled(recording.record, known), "expr": _filled(recording.expression, known)}


def _known(name: str, own: Mapping[str, Value], values: Values, *, placeholders: bool) -> dict[str, str]:
    """Return the value of each ``$name``: the group, shared values, the alert's values, and durations in seconds."""
    known = {"group": "{{ $labels.consumergroup }}"}
    for place, chosen in (("shared", values.shared), (name, own)):
        for key, value in chosen.items():
            kept = placeholders and key not in FIXED
            known[key] = f"${{{place}.{key}}}" if kept else str(value)
            if key in FIXED:
                known[f"{key}_seconds"] = f"{seconds(str(value)):g}"
    return known


def _filled(template: str, known: Mapping[str, str]) -> str:
    def put(found: re.Match[str]) -> str:
        return found[0] if found[1] in _PROMETHEUS else known[found[1]]

    return _NAME.sub(put, _COUNT.sub(_COUNTED, dedent(template).strip()))
