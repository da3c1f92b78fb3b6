"""Renders numbers, charts over time, and states."""

from __future__ import annotations

from grafana_foundation_sdk.builders import common, dashboard, stat, statetimeline, timeseries
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as models

from dashboards.parts.panel import Look, Panel
from dashboards.parts.query import CLOSED, labels_of

__all__ = ["lines", "number", "states"]


def number(_panel: Panel) -> stat.Panel:
    """Return one number."""
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


def lines(panel: Panel) -> timeseries.Panel:
    """Return lines, bars, areas or dots over time.

    Grafana shows a few rows of a legend. Where names are those of groups, members or topics it is a table, sorted by
    the worst value.
    """
    table = panel.look is Look.LINES or any(set(labels_of(query.legend)) - CLOSED for query in panel.queries)
    legend = (
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(shapes.LegendDisplayMode.TABLE if table else shapes.LegendDisplayMode.LIST)
        .placement(shapes.LegendPlacement.BOTTOM)
    )
    if table:
        legend.calcs(["lastNotNull", "max"]).sort_by("Max").sort_desc(True)
    made = (
        timeseries.Panel()
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
            # The topmost line would outline the whole stack in the colour of its last series.
            made.line_width(0).fill_opacity(80).line_interpolation(shapes.LineInterpolation.STEP_AFTER)
        case Look.DOTS:
            made.draw_style(shapes.GraphDrawStyle.POINTS).point_size(5)
    if panel.look in {Look.COUNTS, Look.AREAS}:
        made.stacking(common.StackingConfig().mode(shapes.StackingMode.NORMAL).group("A"))
    if len(panel.thresholds) > 1:
        dashed = common.GraphThresholdsStyleConfig().mode(shapes.GraphThresholdsStyleMode.DASHED)
        made.thresholds_style(dashed)
    return made


def states(_panel: Panel) -> statetimeline.Panel:
    """Return states over time, in the colours and texts of the panel's mappings.

    The colour mode is not that of thresholds: with it Grafana joins values by threshold, so that all states are one
    bar, and shows the threshold's range as the text.
    """
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
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.PALETTE_CLASSIC))
    )
