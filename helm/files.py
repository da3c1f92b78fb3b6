"""All generated files of the chart: path -> text."""

from __future__ import annotations

import json
from pathlib import Path

from helm.copies import copies
from helm.definitions import definitions
from helm.schema import values_schema

__all__ = ["CHART", "files"]

CHART = Path(__file__).parent / "rebalance-agent"


def files() -> dict[Path, str]:
    """Return path in the chart -> text."""
    schema = values_schema((CHART / "values.yaml").read_text(encoding="utf-8"), definitions())
    return {Path("values.schema.json"): json.dumps(schema, indent=2) + "\n", **copies()}
