"""Renders tables: one row for each combination of labels, one column for each query."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders import common
from grafana_foundation_sdk.builders import table as tables
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as models

from dashboards.parts.panel import Column, Panel

__all__ = ["names", "table"]


def names(panel: Panel) -> list[str]:
    """Yield Grafana's names of queries: A, B, C ..."""
    return [chr(ord("A") + at) for at in range(len(panel.queries))]


def table(panel: Panel) -> tables.Panel:
    """Return a table."""
    made = (
        tables.Panel()
        .show_header(True)
        .cell_height(shapes.TableCellHeight.SM)
        .with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(models.DataTransformerConfig(id_val="organize", options=_organised(panel)))
    )
    orders = [*((heading, False) for heading in panel.sort_up), *((heading, True) for heading in panel.sort_by)]
    if orders:
        made.sort_by([common.TableSortByFieldState().display_name(heading).desc(down) for heading, down in orders])
    for column in panel.columns:
        made.override_by_name(column.heading, _column_looks(column))
    return made


def _organised(panel: Panel) -> dict[str, Any]:
    """Return transformations that select, order and rename the columns of a table."""
    fields = [column.field for column in panel.columns]
    values = [f"Value #{name}" for name in names(panel)] if len(panel.queries) > 1 else ["Value"]
    return {
        "excludeByName": {name: True for name in ("Time", *values) if name not in fields},
        "includeByName": {},
        "indexByName": {name: at for at, name in enumerate(fields)},
        "renameByName": {column.field: column.heading for column in panel.columns},
    }


def _column_looks(column: Column) -> list[models.DynamicConfigValue]:
    # Otherwise an empty cell shows the panel's text for an empty result.
    looks = [models.DynamicConfigValue("unit", column.unit), models.DynamicConfigValue("noValue", "-")]
    if column.decimals is not None:
        looks.append(models.DynamicConfigValue("decimals", column.decimals))
    if column.thresholds:
        steps = [{"color": colour, "value": value} for value, colour in column.thresholds]
        looks.append(models.DynamicConfigValue("thresholds", {"mode": "absolute", "steps": steps}))
        looks.append(models.DynamicConfigValue("custom.cellOptions", {"type": "color-text"}))
        looks.append(models.DynamicConfigValue("color", {"mode": "thresholds"}))
    if column.link:
        link = {"title": column.link.title, "url": column.link.url}
        looks.append(models.DynamicConfigValue("links", [link]))
    if column.width:
        looks.append(models.DynamicConfigValue("custom.width", column.width))
    return looks
