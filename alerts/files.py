"""Everything that is written from the alerts, as text by path."""

from __future__ import annotations

from pathlib import Path

from alerts.document import alerts_page
from alerts.inhibition import inhibit_rules
from alerts.pack import GROUPS
from alerts.render import rules
from alerts.text import to_yaml
from alerts.values import Values

__all__ = ["PAGE", "documents", "rule_files"]

PAGE = Path("docs/alerts.md")


def rule_files(values: Values, *, placeholders: bool = False) -> dict[Path, str]:
    """What Prometheus and Alertmanager load, by the path in ``alerts/``."""
    files = {
        Path("rules") / f"{group.name.removeprefix('kafka-rebalance-')}.rules.yaml": to_yaml(
            rules(group, values, placeholders=placeholders), group.about
        )
        for group in GROUPS
    }
    about = "What silences what: put it under the same key of alertmanager.yml."
    return files | {Path("alertmanager/inhibit.yaml"): to_yaml({"inhibit_rules": inhibit_rules()}, about)}


def documents(values: Values) -> dict[Path, str]:
    """Pages of the documentation, by their path in the repository."""
    return {PAGE: alerts_page(values)}
