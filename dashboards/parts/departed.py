"""The members that failed or keep leaving, on the Fleet and Group boards."""

from __future__ import annotations

from dashboards.parts.panel import COUNT, Column, Link, Look, Panel, above
from dashboards.parts.query import Query, gauge

__all__ = ["departed"]

_MEMBERS_MAX = 20


def departed(number: int, matchers: str, to_member: Link, *columns: Column, width: int) -> Panel:
    """Return the table. ``columns``: the columns before the member's, one for each further label."""
    labels = (*(column.field for column in columns), "client_id", "host", "how")
    return Panel(
        number,
        "Members that failed or keep leaving",
        "Which members cause the rebalances? The table lists members that failed, and members that departed at least "
        "three times, with at most 15 minutes between two departures. A member is listed for an hour after its last "
        f"departure; at most five members per group are listed, and {_MEMBERS_MAX} in total. **Times**: how often the "
        "member departed. **How**: how it departed the last time; failed: removed by the coordinator, or its process "
        "ended; expelled: removed because it joined, or revoked its partitions, too late; left: its consumer was "
        "closed; unknown: there is no evidence. Departures in deploys do not count.",
        (
            Query(
                f"topk({_MEMBERS_MAX}, {gauge('kafka_rebalance_departures', matchers, *labels)})",
                rows=True,
            ),
        ),
        Look.TABLE,
        width=width,
        empty="none in the last hour",
        sort_by=("Times",),
        columns=(
            *columns,
            Column("client_id", "Member", link=to_member),
            Column("host", "Host", width=95),
            Column("how", "How", width=75),
            Column("Value", "Times", COUNT, 0, above(1, 3), width=58),
        ),
    )
