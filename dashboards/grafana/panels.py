"""Renders a panel: its position, its queries, and the options that all visualizations have in common."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders import dashboard, prometheus
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards.grafana.charts import lines, number, states
from dashboards.grafana.tables import names, table
from dashboards.parts.grid import Spot
from dashboards.parts.panel import Look, Panel, Steps
from dashboards.parts.query import BAR, Query

__all__ = ["DATASOURCE", "grid_pos", "rendered"]

DATASOURCE = shapes.DataSourceRef(type_val="prometheus", uid="${datasource}")
"""The data source of the board's first variable."""

_BUILDERS = {
    Look.NUMBER: number,
    Look.LINES: lines,
    Look.COUNTS: lines,
    Look.AREAS: lines,
    Look.DOTS: lines,
    Look.STATES: states,
    Look.TABLE: table,
}


def rendered(panel: Panel, spot: Spot) -> Builder[models.Panel]:
    """Return the panel at its position."""
    made: Any = _BUILDERS[panel.look](panel)  # the builders share these methods, but have no common base class
    (
        made.id(panel.number)
        .title(panel.title)
        .description(panel.question)
        .datasource(DATASOURCE)
        .grid_pos(grid_pos(spot))
        .targets([_target(query, name) for query, name in zip(panel.queries, names(panel), strict=True)])
        .unit(panel.unit)
        .no_value(panel.empty)
        .thresholds(_steps(panel.thresholds))
    )
    if panel.links:
        # The builder creates links for a board, and such links have additional fields.
        made.build().field_config.defaults.links = [{"title": each.title, "url": each.url} for each in panel.links]
    if panel.look in {Look.COUNTS, Look.DOTS}:
        made.interval(BAR)
    if panel.decimals is not None:
        made.decimals(panel.decimals)
    if panel.least is not None:
        made.min(panel.least)
    if panel.most is not None:
        made.max(panel.most)
    if panel.mappings:
        results = {
            value: models.ValueMappingResult(text=text, color=colour, index=at)
            for at, (value, (text, colour)) in enumerate(panel.mappings.items())
        }
        made.mappings([models.ValueMap(options=results)])
    for name, colour in panel.colours.items():
        made.override_by_name(name, [models.DynamicConfigValue("color", {"fixedColor": colour, "mode": "fixed"})])
    for name in panel.dots:
        looks = {"drawStyle": "points", "stacking": {"mode": "none"}, "pointSize": 7}
        made.override_by_name(name, [models.DynamicConfigValue(f"custom.{key}", look) for key, look in looks.items()])
    built: Builder[models.Panel] = made
    return built


def grid_pos(spot: Spot) -> models.GridPos:
    """Return a position in Grafana's form."""
    return models.GridPos(x=spot.x, y=spot.y, w=spot.width, h=spot.height)


def _target(query: Query, name: str) -> prometheus.Dataquery:
    made = prometheus.Dataquery().datasource(DATASOURCE).expr(query.expression).ref_id(name)
    if query.legend:
        made.legend_format(query.legend)
    if query.rows:
        made.format(PromQueryFormat.TABLE)
    return made.instant() if query.now or query.rows else made.range()


def _steps(steps: Steps) -> dashboard.ThresholdsConfig:
    made = [models.Threshold(value=value, color=colour) for value, colour in steps]
    return dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(made)
