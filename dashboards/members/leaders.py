"""The panels on reports of leaders about assign() and its result."""

from __future__ import annotations

from dashboards.members.queries import MEMBER, NAME, WHO, counted, highest_worst, mean_worst
from dashboards.parts.goals import SHARES
from dashboards.parts.panel import Look, Panel, above
from dashboards.parts.query import Query, gauge

__all__ = ["ASSIGN", "ERRORS", "SKEW"]

ASSIGN = Panel(
    14,
    "Duration of assign()",
    "How long does the leader's assign() take? The group waits for it in the sync phase; if it takes seconds, there "
    "are many topics or the assignor is slow. Each point is the mean since the previous point; the ten assignors with "
    "the most time are shown.",
    (
        mean_worst(
            "kafka_rebalance_member_assign_seconds", "{{consumergroup}} {{assignor}}", "consumergroup", "assignor"
        ),
    ),
    Look.DOTS,
    "s",
    thresholds=above(0.5, 5),
    empty="no assign() in this time range",
)
ERRORS = Panel(
    15,
    "Assignor errors",
    "Does the assignor fail, or is it unable to decode members' user data? Each member with unreadable user data "
    "counts, and is treated as a member without user data; the cause is different versions or a wrong setting. "
    "**missing standbys**: the group has too few members or processes for the copies that its setting requires.",
    (
        counted(
            "kafka_rebalance_member_assign_failures_total",
            "{{consumergroup}} {{assignor}} failed",
            *("consumergroup", "assignor"),
        ),
        counted(
            "kafka_rebalance_member_user_data_errors_total",
            "{{consumergroup}} {{assignor}} user data",
            *("consumergroup", "assignor"),
        ),
        Query(
            f"{gauge('kafka_rebalance_member_missing_standbys', MEMBER, 'consumergroup')} > 0",
            "{{consumergroup}} missing standbys",
        ),
    ),
    Look.COUNTS,
    empty="none in this time range",
)
SKEW_OF = "kafka_rebalance_member_assignment_skew_ratio"
SKEW = Panel(
    16,
    "Skew of leaders' assignments",
    "Is the leader's assignment even? Each line is the load of the most loaded member divided by its share under the "
    "strategy; 1 is best. Only members that were leaders have a line. The ten leaders with the highest skew are "
    "shown.",
    (highest_worst(SKEW_OF, MEMBER, gauge(SKEW_OF, MEMBER, *WHO), NAME, *WHO),),
    thresholds=SHARES,
    decimals=2,
    least=1,
    empty="no leaders report",
)
