"""What recommended changes save, on the Fleet and Service boards; the pipeline publishes these numbers."""

from __future__ import annotations

from dashboards.fleet.queries import TO_GROUP
from dashboards.parts.panel import Column, Look, Panel
from dashboards.parts.query import GROUP, Query, gauge

__all__ = ["SAVINGS", "TOTAL_SAVINGS"]

_SAVED = "kafka_rebalance_advice_weekly_saved_partition_seconds"
_MEASURED = gauge(_SAVED, GROUP + ', saving="measured"')
_PREDICTED = gauge(_SAVED, GROUP + ', saving="predicted"')
_OPEN = gauge("kafka_rebalance_advice_weekly_open_partition_seconds", GROUP)
_NOTHING = "no pipeline publishes recommended changes"
_MEANING = (
    "The unit is partition-seconds of stall per week. **{saved}**: the measured saving of the changes that groups "
    "made. **{predicted}**: the prediction for the same changes. **{open}**: the prediction for the changes that "
    "groups have not made. The pipeline recommends the changes; its report lists them."
)

SAVINGS = Panel(
    28,
    "Savings by group",
    "Which groups save the most with recommended changes, and which groups could save the most? "
    + _MEANING.format(saved="Saved", predicted="Predicted", open="Could be saved")
    + " Clicking a group opens its board.",
    (Query(_MEASURED, rows=True), Query(_PREDICTED, rows=True), Query(_OPEN, rows=True)),
    Look.TABLE,
    width=24,
    empty=_NOTHING,
    sort_by=("Could be saved",),
    columns=(
        Column("cluster", "Cluster", width=75),
        Column("consumergroup", "Group", link=TO_GROUP),
        Column("Value #A", "Saved", "s", 1, width=110),
        Column("Value #B", "Predicted", "s", 1, width=110),
        Column("Value #C", "Could be saved", "s", 1, width=130),
    ),
)
TOTAL_SAVINGS = Panel(
    29,
    "Savings of all groups",
    "How much do recommended changes save, and how much more could they save? "
    + _MEANING.format(saved="saved", predicted="predicted", open="could be saved"),
    (
        Query(f"sum({_MEASURED})", "saved"),
        Query(f"sum({_PREDICTED})", "predicted"),
        Query(f"sum({_OPEN})", "could be saved"),
    ),
    unit="s",
    width=10,
    least=None,
    empty=_NOTHING,
)
