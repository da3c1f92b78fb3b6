"""The objective of a service's groups: availability, error budget, and the groups that use it."""

from __future__ import annotations

from dataclasses import replace

from dashboards.fleet.findings import GRAVEST
from dashboards.fleet.groups import MOSTLY
from dashboards.fleet.lag import GROUP_LAG_AGE
from dashboards.fleet.numbers import NUMBERS as OF_FLEET
from dashboards.fleet.queries import COMPLETED, LINE_TO_GROUP, NAME, STALLED, TO_GROUP, WHOLE
from dashboards.parts.goals import ALLOWED, AVAILABILITY, BURN_FAST, GOAL
from dashboards.parts.panel import COUNT, Column, Look, Panel, above
from dashboards.parts.query import GROUP, Query, count_in, gauge, times_in, went_up, worst

__all__ = ["BURN", "NUMBERS", "WHICH"]

GROUPS, AVAILABLE, _, _, REBALANCES, UNOWNED = OF_FLEET
USED = above(0.5, 1)
DEPLOYING = gauge("kafka_rebalance_rollout_in_progress", GROUP)

NUMBERS = (
    replace(
        GROUPS,
        question="How many consumer groups match the regular expression above? 0 means that no group matches, or that "
        "no observer is scraped.",
        empty="no groups match",
    ),
    AVAILABLE,
    Panel(
        3,
        "Budget used",
        f"What share of the error budget did stalls use? With an objective of {GOAL}, {100 * ALLOWED:.1f} % of all "
        "partition-seconds in the time range may be stalled (lower bound); at 100 %, all of this budget is used. For "
        "a monthly budget, choose 30 days.",
        (
            Query(
                f"sum({count_in(STALLED, GROUP)}) / sum({count_in(WHOLE, GROUP)}) / {ALLOWED:g}",
                now=True,
            ),
        ),
        Look.NUMBER,
        unit="percentunit",
        width=4,
        thresholds=USED,
        decimals=0,
        empty="no partitions observed",
    ),
    REBALANCES,
    UNOWNED,
    Panel(
        4,
        "Lag age",
        "How old is the oldest record that a group has not read yet? Only groups in lag_groups have this age.",
        (Query(f"max({gauge(GROUP_LAG_AGE, GROUP)})", now=True),),
        Look.NUMBER,
        unit="s",
        width=4,
        thresholds=above(60, 300),
        decimals=0,
        empty="lag_groups matches no groups",
    ),
)
WHICH = Panel(
    7,
    "Groups that use the budget, and why",
    "Which groups use the most of their error budget, and why? **Budget**: stalled partition-seconds (lower bound) of "
    f"the time range, divided by the stalled partition-seconds that an objective of {GOAL} allows; each group has its "
    "own budget. **Lost**: the stalled partition-seconds, summed over all partitions. **Main trigger**: the most "
    "frequent trigger; if several triggers are about equally frequent, the most serious of them. **Lag age**: age of "
    "the oldest unread record, for groups in lag_groups. **Other problem**: the most serious other problem. Clicking a "
    "group opens its board.",
    (
        Query(f"{count_in(STALLED, GROUP)} / {count_in(WHOLE, GROUP)} / {ALLOWED:g}", rows=True),
        Query(f"1 - {count_in(STALLED, GROUP)} / {count_in(WHOLE, GROUP)}", rows=True),
        Query(count_in(STALLED, GROUP), rows=True),
        Query(times_in(COMPLETED, GROUP), rows=True),
        Query(MOSTLY, rows=True),
        Query(gauge(GROUP_LAG_AGE, GROUP), rows=True),
        Query(GRAVEST, rows=True),
    ),
    Look.TABLE,
    width=24,
    empty="no groups match",
    sort_by=("Budget",),
    columns=(
        Column("cluster", "Cluster", width=75),
        Column("consumergroup", "Group", link=TO_GROUP),
        Column("Value #A", "Budget", "percentunit", 0, USED, width=90),
        Column("Value #B", "Availability", "percentunit", 2, AVAILABILITY, width=108),
        Column("Value #C", "Lost", "s", 1, width=90),
        Column("Value #D", "Rebalances", COUNT, 0, width=92),
        Column("trigger", "Main trigger", width=170),
        Column("Value #F", "Lag age", "s", 0, width=90),
        Column("finding", "Other problem", width=130),
    ),
)
BURN = Panel(
    24,
    "Burn rate of the last hour",
    "How fast do stalls use the budget? Each line is the stalled partition-seconds of the last hour (lower bound), "
    "divided by the partition-seconds that the objective allows. At 1, the budget lasts exactly for its period; at 2, "
    f"for half of it. The alert on a fast burn fires above {BURN_FAST}. The ten groups with the most stalled "
    "partition-seconds are shown.",
    (
        Query(
            worst(
                10,
                f"({count_in(STALLED, GROUP, window='1h')} / {count_in(WHOLE, GROUP, window='1h')} / {ALLOWED:g})",
                went_up(STALLED, GROUP),
            ),
            NAME,
        ),
    ),
    width=12,
    thresholds=above(1, BURN_FAST),
    decimals=2,
    empty="no partitions observed",
    links=(LINE_TO_GROUP,),
)
