"""Copies the alerts' rules into the chart, because a chart can read only its own files.

The boards' JSON exists only in the chart; ``dashboards/json`` links to it.
"""

from __future__ import annotations

from pathlib import Path

import yaml
from alerts.files import rule_files
from alerts.values import FIXED, load

__all__ = ["copies", "thresholds"]


def copies() -> dict[Path, str]:
    """Return path in the chart -> text.

    The rules contain ``${ALERT.PARAMETER}`` instead of values; the chart inserts them from its ``values.yaml``.
    """
    values = load()
    rules = {path: content for path, content in rule_files(values, placeholders=True).items() if path.parent.name}
    files = {
        Path("files") / "rules" / path.name: content for path, content in rules.items() if path.parent.name == "rules"
    }
    files[Path("files/rules.values.yaml")] = yaml.safe_dump(thresholds(), sort_keys=False)
    return files


def thresholds() -> dict[str, dict[str, object]]:
    """Return the default values of placeholders: ``shared`` and each alert's name -> parameter -> value."""
    values = load()
    return {
        name: {key: value for key, value in own.items() if key not in FIXED}
        for name, own in {"shared": values.shared, **values.alerts}.items()
    }
