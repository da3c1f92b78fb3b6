"""What recommended changes save, on the Fleet board; the pipeline publishes these numbers."""

from __future__ import annotations

from dashboards.fleet.queries import TO_GROUP
from dashboards.parts.panel import Column, Look, Panel
from dashboards.parts.query import GROUP, Query, gauge

__all__ = ["OPEN", "SAVED", "SAVINGS"]

_SAVED = "kafka_rebalance_advice_weekly_saved_partition_seconds"
_MEASURED = gauge(_SAVED, GROUP + ', saving="measured"')
_PREDICTED = gauge(_SAVED, GROUP + ', saving="predicted"')
_OPEN = gauge("kafka_rebalance_advice_weekly_open_partition_seconds", GROUP)
_NOTHING = "no pipeline publishes recommended changes"

SAVED = Panel(
    27,
    "Saved per week",
    "How much stall do the recommended changes save that groups made? Partition-seconds per week, all groups: the "
    "stall before each change minus the stall after it, as measured by the pipeline.",
    (Query(f"sum({_MEASURED})", now=True),),
    Look.NUMBER,
    unit="s",
    width=4,
    decimals=1,
    least=None,
    empty=_NOTHING,
)
OPEN = Panel(
    28,
    "Could be saved per week",
    "How much stall would the recommended changes save that groups have not made? Partition-seconds per week, all "
    "groups, according to the predictions.",
    (Query(f"sum({_OPEN})", now=True),),
    Look.NUMBER,
    unit="s",
    width=4,
    decimals=1,
    empty=_NOTHING,
)
SAVINGS = Panel(
    29,
    "Recommended changes",
    "Which groups save the most by recommended changes, and which could? Partition-seconds of stall per week. Saved: "
    "the measured saving of the changes that the group made; Predicted: the prediction for the same changes; Could be "
    "saved: the prediction for changes that it has not made. The report of the pipeline lists the changes. Clicking a "
    "group opens its board.",
    (Query(_MEASURED, rows=True), Query(_PREDICTED, rows=True), Query(_OPEN, rows=True)),
    Look.TABLE,
    width=16,
    empty=_NOTHING,
    sort_by=("Could be saved", "Saved"),
    columns=(
        Column("cluster", "Cluster", width=75),
        Column("consumergroup", "Group", link=TO_GROUP),
        Column("Value #A", "Saved", "s", 1, width=110),
        Column("Value #B", "Predicted", "s", 1, width=110),
        Column("Value #C", "Could be saved", "s", 1, width=130),
    ),
)
