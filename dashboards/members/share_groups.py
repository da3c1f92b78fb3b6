"""Panels on share groups whose consumers connect through a gateway."""

from __future__ import annotations

from dashboards.parts.panel import Look, Panel
from dashboards.parts.query import GROUP, Query, bars_of, went_up, worst

__all__ = ["ACKNOWLEDGED", "DELIVERED"]

ACQUIRED_RECORDS = "kafka_rebalance_share_acquired_records_total"
ACKNOWLEDGED_RECORDS = "kafka_rebalance_share_acknowledged_records_total"
NOTHING = "no share consumer behind a gateway"


def most(metric: str, matchers: str, label: str) -> Query:
    """Return bars of the ten series that increased the most."""
    by = ("consumergroup", label)
    bars = bars_of(metric, matchers, *by, across="sum")
    return Query(
        f"({worst(10, bars, went_up(metric, matchers, *by, across='sum'), *by)}) > 0",
        f"{{{{consumergroup}}}} {{{{{label}}}}}",
    )


DELIVERED = Panel(
    24,
    "Share groups: records delivered again",
    "Are records of share groups delivered more than once? Each bar counts records by their delivery count, from 2 "
    "on. An earlier consumer released these records, or did not acknowledge them in time. The broker archives a "
    "record that is not accepted at its last delivery (by default the fifth). Only the ten highest series are shown.",
    (most(ACQUIRED_RECORDS, GROUP + ', delivery!="1"', "delivery"),),
    Look.COUNTS,
    width=12,
    empty=NOTHING,
)
ACKNOWLEDGED = Panel(
    25,
    "Share groups: acknowledgements",
    "What do consumers of share groups do with records? **accept**: the record was processed. **release**: it is to "
    "be delivered again. **reject**: it is archived. **renew**: the consumer needs more time. **gap**: offsets "
    "without a record. Only the ten highest series are shown.",
    (most(ACKNOWLEDGED_RECORDS, GROUP, "type"),),
    Look.COUNTS,
    width=12,
    empty=NOTHING,
)
