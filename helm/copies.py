"""Copies the alerts' rules into the chart, because a chart can read only its own files.

The boards' JSON stands once, in the chart; ``dashboards/json`` links to it.
"""

from __future__ import annotations

from pathlib import Path

import yaml
from alerts.files import rule_files
from alerts.values import FIXED, load

__all__ = ["copies", "thresholds"]


def copies() -> dict[Path, str]:
    """Text of each file by its path in the chart.

    The rules keep ``${ALERT.PARAMETER}`` in place of values, which the chart puts in from ``values.yaml`` beside them.
    """
    values = load()
    rules = {path: content for path, content in rule_files(values, placeholders=True).items() if path.parent.name}
    files = {
        Path("files") / "rules" / path.name: content for path, content in rules.items() if path.parent.name == "rules"
    }
    files[Path("files/rules.values.yaml")] = yaml.safe_dump(thresholds(), sort_keys=False)
    return files


def thresholds() -> dict[str, dict[str, object]]:
    """What a placeholder stands for by default: ``shared`` and each alert's name -> parameter -> value."""
    values = load()
    return {
        name: {key: value for key, value in own.items() if key not in FIXED}
        for name, own in {"shared": values.shared, **values.alerts}.items()
    }
