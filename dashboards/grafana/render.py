"""Renders a board with Grafana's own builders; `dashboards.grafana.normalise` makes the JSON stable."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders import dashboard, prometheus
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard as models

from dashboards.grafana.panels import DATASOURCE, grid_pos, rendered
from dashboards.parts.board import Annotation, Board, Variable
from dashboards.parts.grid import lay
from dashboards.parts.panel import Link

__all__ = ["render"]

HEADING_NUMBERS = 1_000
"""Ids of headings start at this number, above the ids of panels."""


def render(board: Board) -> dashboard.Dashboard:
    """Return the whole board."""
    made = (
        dashboard.Dashboard(board.title)
        .uid(board.uid)
        .description(board.description)
        .tags(["kafka", "kafka-rebalance"])
        .timezone("browser")
        .time(board.since, "now")
        .refresh(board.refresh)
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .editable()
        .with_variable(_datasource())
    )
    for variable in board.variables:
        made.with_variable(_variable(variable))
    for annotation in board.annotations:
        made.annotation(_annotation(annotation))
    for link in board.links:
        made.link(_link(link).type(models.DashboardLinkType.LINK).icon("dashboard").keep_time(True))
    for number, (placed, spot) in enumerate(lay(board.rows), HEADING_NUMBERS):
        if isinstance(placed, str):
            made.with_row(dashboard.Row(placed).id(number).grid_pos(grid_pos(spot)))
        else:
            made.with_panel(rendered(placed, spot))
    return made


def _datasource() -> dashboard.DatasourceVariable:
    return (
        dashboard.DatasourceVariable("datasource")
        .label("Prometheus")
        .description("The Prometheus that scrapes the agents.")
        .type("prometheus")
        .current(models.VariableOption(selected=False, text="default", value="default"))
    )


def _variable(variable: Variable) -> Builder[models.VariableModel]:
    if variable.choices:
        options = [
            models.VariableOption(selected=at == 0, text=text, value=value)
            for at, (text, value) in enumerate(variable.choices)
        ]
        return (
            dashboard.CustomVariable(variable.name)
            .label(variable.label)
            .description(variable.description)
            .values(", ".join(f"{text} : {value}" for text, value in variable.choices))
            .options(options)
            .current(options[0])
        )
    if variable.text:
        return (
            dashboard.TextBoxVariable(variable.name)
            .label(variable.label)
            .description(variable.description)
            .default_value(variable.text)
            .current(models.VariableOption(selected=True, text=variable.text, value=variable.text))
        )
    made = (
        dashboard.QueryVariable(variable.name)
        .label(variable.label)
        .description(variable.description)
        .datasource(DATASOURCE)
        .query({"query": variable.query, "refId": f"Variable-{variable.name}"})
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.DISABLED if variable.taken else models.VariableSort.ALPHABETICAL_ASC)
        .multi(variable.multi)
        .include_all(bool(variable.all_value))
    )
    if variable.taken:
        made.regex(variable.taken)
    if variable.all_value:
        every: Any = ["All"] if variable.multi else "All"
        chosen: Any = ["$__all"] if variable.multi else "$__all"
        made.all_value(variable.all_value).current(models.VariableOption(selected=True, text=every, value=chosen))
    if variable.hidden:
        made.hide(models.VariableHide.HIDE_VARIABLE)
    return made


def _annotation(annotation: Annotation) -> dashboard.AnnotationQuery:
    return (
        dashboard.AnnotationQuery()
        .name(annotation.name)
        .datasource(DATASOURCE)
        .enable(annotation.on)
        .icon_color(annotation.colour)
        .target(prometheus.Dataquery().expr(annotation.expression).ref_id("Anno").interval("15s").range())
        .title_format(annotation.title)
        .text_format(annotation.text)
        .use_value_for_time(annotation.moments)
    )


def _link(link: Link) -> dashboard.DashboardLink:
    return dashboard.DashboardLink(link.title).url(link.url)
