"""Renders a board with Grafana's own builders; `dashboards.normalise` makes the JSON stable."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders import bargauge, common, dashboard, prometheus, stat, statetimeline, table
from grafana_foundation_sdk.builders import timeseries as lines
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards.board import Annotation, Board, Variable
from dashboards.grid import Spot, lay
from dashboards.panel import Column, Link, Look, Panel, Steps
from dashboards.query import Query

__all__ = ["DATASOURCE", "render"]

DATASOURCE = shapes.DataSourceRef(type_val="prometheus", uid="${datasource}")
"""The data source of the board's first variable."""


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
    for panel, spot in lay(board.rows):
        made.with_panel(_panel(panel, spot))
    return made


# -- above the panels ----------------------------------------------------------------------------------------------


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
    made = (
        dashboard.QueryVariable(variable.name)
        .label(variable.label)
        .description(variable.description)
        .datasource(DATASOURCE)
        .query({"query": variable.query, "refId": f"Variable-{variable.name}"})
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(variable.multi)
        .include_all(bool(variable.all_value))
    )
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


# -- panels --------------------------------------------------------------------------------------------------------


def _panel(panel: Panel, spot: Spot) -> Builder[models.Panel]:
    made: Any = _BUILDERS[panel.look](panel)  # they have these methods in common, but no base that says so
    (
        made.id(panel.number)
        .title(panel.title)
        .description(panel.question)
        .datasource(DATASOURCE)
        .grid_pos(models.GridPos(x=spot.x, y=spot.y, w=spot.width, h=spot.height))
        .targets([_target(query, name) for query, name in zip(panel.queries, _names(panel), strict=True)])
        .unit(panel.unit)
        .no_value(panel.empty)
        .thresholds(_steps(panel.thresholds))
    )
    if panel.links:
        # The builder would make them a board's links, with much that these have not.
        made.build().field_config.defaults.links = [{"title": each.title, "url": each.url} for each in panel.links]
    if panel.step:
        made.interval(panel.step)
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
    built: Builder[models.Panel] = made
    return built


def _names(panel: Panel) -> list[str]:
    """Yield Grafana's names of queries: A, B, C ..."""
    return [chr(ord("A") + at) for at in range(len(panel.queries))]


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


def _number(_panel: Panel) -> stat.Panel:
    return (
        stat.Panel()
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(False))
        .color_mode(shapes.BigValueColorMode.VALUE)
        .graph_mode(shapes.BigValueGraphMode.NONE)
        .text_mode(shapes.BigValueTextMode.AUTO)
        .justify_mode(shapes.BigValueJustifyMode.AUTO)
        .orientation(shapes.VizOrientation.AUTO)
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
    )


def _lines(panel: Panel) -> lines.Panel:
    legend = (
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(shapes.LegendDisplayMode.TABLE if panel.look is Look.LINES else shapes.LegendDisplayMode.LIST)
        .placement(shapes.LegendPlacement.BOTTOM)
        .calcs(["lastNotNull", "max"] if panel.look is Look.LINES else [])
    )
    made = (
        lines.Panel()
        .legend(legend)
        .tooltip(common.VizTooltipOptions().mode(shapes.TooltipDisplayMode.MULTI).sort(shapes.SortOrder.DESCENDING))
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.PALETTE_CLASSIC))
        .line_width(1)
        .fill_opacity(0)
        .show_points(shapes.VisibilityMode.AUTO)
        .draw_style(shapes.GraphDrawStyle.LINE)
    )
    match panel.look:
        case Look.COUNTS:
            made.draw_style(shapes.GraphDrawStyle.BARS).fill_opacity(80)
        case Look.AREAS:
            made.fill_opacity(40).line_interpolation(shapes.LineInterpolation.STEP_AFTER)
        case Look.DOTS:
            made.draw_style(shapes.GraphDrawStyle.POINTS).point_size(5)
    if panel.look in {Look.COUNTS, Look.AREAS}:
        made.stacking(common.StackingConfig().mode(shapes.StackingMode.NORMAL).group("A"))
    if len(panel.thresholds) > 1:
        dashed = common.GraphThresholdsStyleConfig().mode(shapes.GraphThresholdsStyleMode.DASHED)
        made.thresholds_style(dashed)
    return made


def _bars(_panel: Panel) -> bargauge.Panel:
    return (
        bargauge.Panel()
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(False))
        .display_mode(shapes.BarGaugeDisplayMode.BASIC)
        .orientation(shapes.VizOrientation.HORIZONTAL)
        .value_mode(shapes.BarGaugeValueMode.COLOR)
        .show_unfilled(True)
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
    )


def _states(_panel: Panel) -> statetimeline.Panel:
    return (
        statetimeline.Panel()
        .merge_values(True)
        .show_value(shapes.VisibilityMode.AUTO)
        .row_height(0.9)
        .fill_opacity(80)
        .line_width(0)
        .legend(
            common.VizLegendOptions()
            .show_legend(True)
            .display_mode(shapes.LegendDisplayMode.LIST)
            .placement(shapes.LegendPlacement.BOTTOM)
        )
        .tooltip(common.VizTooltipOptions().mode(shapes.TooltipDisplayMode.SINGLE).sort(shapes.SortOrder.NONE))
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
    )


def _table(panel: Panel) -> table.Panel:
    made = (
        table.Panel()
        .show_header(True)
        .cell_height(shapes.TableCellHeight.SM)
        .filterable(True)
        .with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(models.DataTransformerConfig(id_val="organize", options=_organised(panel)))
    )
    if panel.sort_by:
        made.sort_by([common.TableSortByFieldState().display_name(panel.sort_by).desc(True)])
    for column in panel.columns:
        made.override_by_name(column.heading, _column_looks(column))
    return made


def _organised(panel: Panel) -> dict[str, Any]:
    """Return transformations that select, order and rename the columns of a table."""
    fields = [column.field for column in panel.columns]
    values = [f"Value #{name}" for name in _names(panel)] if len(panel.queries) > 1 else ["Value"]
    return {
        "excludeByName": {name: True for name in ("Time", *values) if name not in fields},
        "includeByName": {},
        "indexByName": {name: at for at, name in enumerate(fields)},
        "renameByName": {column.field: column.heading for column in panel.columns},
    }


def _column_looks(column: Column) -> list[models.DynamicConfigValue]:
    # Without a text of its own an empty cell shows the panel's for no answer at all.
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


_BUILDERS = {
    Look.NUMBER: _number,
    Look.LINES: _lines,
    Look.COUNTS: _lines,
    Look.AREAS: _lines,
    Look.DOTS: _lines,
    Look.BARS: _bars,
    Look.STATES: _states,
    Look.TABLE: _table,
}
