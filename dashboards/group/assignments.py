"""The panels on the group's assignment."""

from __future__ import annotations

from dashboards.group.queries import LINE_TO_MEMBER, SKEW, TO_MEMBER, of
from dashboards.parts.goals import SHARES
from dashboards.parts.panel import COUNT, Column, Look, Panel, above, below
from dashboards.parts.query import ONE_GROUP, Query, gauge

__all__ = ["LOADS", "OWNERS", "SKEWS", "TOPICS", "UNEVEN"]

LOADS = Panel(
    17,
    "Partitions by member",
    "How many partitions did each member have over time? A step is a rebalance; a member that repeatedly disappears "
    "and returns is flapping. If several members have the same client id and host, their highest count is shown. "
    "Clicking a member opens the Members board.",
    (of("kafka_rebalance_owner_partitions", "{{client_id}} {{host}}", "client_id", "host"),),
    Look.AREAS,
    width=9,
    empty="no members",
    links=(LINE_TO_MEMBER,),
)
OWNERS = Panel(
    18,
    "Current owners",
    "How many partitions does each member have now? **Members**: number of members with the same client id and host; "
    "their row shows the highest partition count of these members. **_folded**: the sum of the members beyond the "
    "agent's limit. **Seat taken by**: the consumer that now has the member's seat, if a gateway handed the seat "
    "over and Kafka still shows the seat's first consumer. Clicking a client opens the Members board, if the client "
    "reports.",
    (
        Query(gauge("kafka_rebalance_owner_partitions", ONE_GROUP, "client_id", "host"), rows=True),
        Query(gauge("kafka_rebalance_owner_members", ONE_GROUP, "client_id", "host"), rows=True),
        Query(
            gauge(
                "kafka_rebalance_seat_taken_timestamp_seconds",
                ONE_GROUP,
                *("client_id", "host", "occupant_client_id", "occupant_host"),
            ),
            rows=True,
        ),
    ),
    Look.TABLE,
    width=15,
    empty="no members",
    sort_by=("Partitions",),
    columns=(
        Column("client_id", "Client", link=TO_MEMBER),
        Column("host", "Host", width=105),
        Column("Value #A", "Partitions", COUNT, 0, width=95),
        Column("Value #B", "Members", COUNT, 0, width=95),
        Column("occupant_client_id", "Seat taken by"),
        Column("occupant_host", "On host", width=150),
    ),
)
SKEWS = Panel(
    19,
    "Skew by weight",
    "Is the load of members even? **by partitions**: the load of the most loaded member divided by its share under "
    "the group's strategy; 1 is best. **by lag** and **by rate** (only groups in lag_groups): the highest load of a "
    "member, divided by a load that no assignment can go below. The best possible assignment can therefore have a "
    "value slightly above 1.",
    (of(SKEW, "by {{weight}}", "weight"),),
    thresholds=SHARES,
    decimals=2,
    least=1,
    empty="unknown",
)
UNEVEN = Panel(
    20,
    "Assignment problems",
    "By how many partitions does the assignment differ from the optimum? **imbalance**: how many partitions the most "
    "loaded member has above its target; 0 is optimal. **without owner**: subscribed partitions without an owner. "
    "**co-partition breaks**: partition numbers with different owners in topics that are configured as "
    "co-partitioned.",
    (
        of("kafka_rebalance_assignment_imbalance_partitions", "imbalance"),
        of("kafka_rebalance_partitions_unassigned", "without owner"),
        of("kafka_rebalance_copartition_breaks", "co-partition breaks"),
    ),
    thresholds=above(1),
    decimals=0,
    empty="unknown",
)
TOPICS = Panel(
    24,
    "Topics on few members",
    "Which topics are on few members? A topic's line is the number of its owners divided by the possible number of "
    "owners. Only the worst topics are shown; an empty panel is good. If a topic has most of the traffic, a low "
    "value means that few members do most of the work. **hosts**: the same ratio for hosts, as a mean over all "
    "topics. **not on one host**: share of the topics that are on several hosts.",
    (
        of("kafka_rebalance_topic_spread_ratio", "{{topic}}", "topic"),
        of("kafka_rebalance_host_spread_ratio", "hosts"),
        Query(f"1 - {gauge('kafka_rebalance_topics_on_one_host_ratio', ONE_GROUP)}", "not on one host"),
    ),
    unit="percentunit",
    thresholds=below(0.3, 0.7),
    most=1,
    empty="every topic is on all possible members",
)
