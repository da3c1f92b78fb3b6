"""Returns the generated files of the alerts: path -> text."""

from __future__ import annotations

from pathlib import Path

from alerts.document import alerts_page
from alerts.inhibition import inhibit_rules
from alerts.pack import GROUPS
from alerts.render import rules
from alerts.replayed import replays_page
from alerts.text import to_yaml
from alerts.values import Values

__all__ = ["PAGE", "documents", "rule_files"]

PAGE = Path("docs/alerts.md")
REPLAYS = Path("docs/alert-replays.md")


def rule_files(values: Values, *, placeholders: bool = False) -> dict[Path, str]:
    """Return the files for Prometheus and Alertmanager: path below ``alerts/`` -> text."""
    files = {
        Path("rules") / f"{group.name.removeprefix('kafka-rebalance-')}.rules.yaml": to_yaml(
            rules(group, values, placeholders=placeholders), group.about
        )
        for group in GROUPS
    }
    about = "Inhibition rules: copy them into alertmanager.yml, under the same key."
    return files | {Path("alertmanager/inhibit.yaml"): to_yaml({"inhibit_rules": inhibit_rules()}, about)}


def documents(values: Values) -> dict[Path, str]:
    """Return the pages of the documentation: path in the repository -> text."""
    return {PAGE: alerts_page(values), REPLAYS: replays_page(values)}
