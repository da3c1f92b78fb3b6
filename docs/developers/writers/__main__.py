"""``python -m docs.developers.writers``: writes the generated parts of ``docs/``."""

from __future__ import annotations

from pathlib import Path

from docs.developers.writers.api_page import api_page
from docs.developers.writers.metrics_page import metrics_page
from docs.developers.writers.saved_help_file import saved_help_json
from docs.developers.writers.settings_page import settings_page
from docs.developers.writers.tables import TABLES, replace_tables

from rebalance_agent.api.posted_schema import posted_schema_json
from rebalance_agent.cli import saved_help

DOCS = Path(__file__).parents[2]

(DOCS / "metrics.md").write_text(metrics_page(), encoding="utf-8")
(DOCS / "api.md").write_text(api_page(), encoding="utf-8")
(DOCS / "reference" / "settings.md").write_text(settings_page(), encoding="utf-8")
Path(saved_help.__file__).with_name(saved_help.FILE).write_text(saved_help_json(), encoding="utf-8")
(DOCS / "posted-events.schema.json").write_bytes(posted_schema_json())
for name, tables in TABLES.items():
    page = DOCS / name
    page.write_text(replace_tables(page.read_text(encoding="utf-8"), tables), encoding="utf-8")
