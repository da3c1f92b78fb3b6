"""Group: what one consumer group went through, what began it and what it cost."""

from __future__ import annotations

from dashboards.board import AGENT_UID, FLEET_UID, GROUP_UID, MEMBERS_UID, Annotation, Board, leads_to
from dashboards.goals import AVAILABILITY, DURATION, GOAL, SHARES
from dashboards.grid import Row
from dashboards.panel import BAD, GOOD, NEUTRAL, WARN, Column, Link, Look, Panel, above, below
from dashboards.query import ONE_GROUP, ROLE, Query, count_in, gauge, quantile, times_in
from dashboards.variables import ACROSS, cluster, instance, job, one_group

__all__ = ["ONE"]

COMPLETED = "kafka_rebalance_completed_total"
STALLED = "kafka_rebalance_stalled_partition_seconds_total"
WHOLE = "kafka_rebalance_partition_seconds_total"
STALL = "kafka_rebalance_stall_seconds"
SKEW = "kafka_rebalance_assignment_skew_ratio"
RUNNING = gauge("kafka_rebalance_in_progress_seconds", ONE_GROUP)

STATES = (
    ("Stable", GOOD),
    ("PreparingRebalance", BAD),
    ("CompletingRebalance", WARN),
    ("Assigning", BAD),
    ("Reconciling", WARN),
    ("NotReady", "purple"),
    ("Empty", NEUTRAL),
)
"""In the broker's spelling; a state's number on the board is its place here, from 1."""

STATE = " or ".join(
    f'max by (cluster, consumergroup) (kafka_rebalance_group_state{{{ONE_GROUP}, state="{state}"}} == 1) * {number}'
    for number, (state, _) in enumerate(STATES, 1)
)

TO_MEMBER = Link(
    "What this member saw of itself",
    f"/d/{MEMBERS_UID}?var-client_id=${{__data.fields.Client:percentencode}}"
    "&${datasource:queryparam}&${cluster:queryparam}&${consumergroup:queryparam}&from=${__from}&to=${__to}",
)
LINE_TO_MEMBER = Link(TO_MEMBER.title, TO_MEMBER.url.replace("__data.fields.Client", "__field.labels.client_id"))


def of(metric: str, legend: str, *by: str) -> Query:
    """The gauge as a line."""
    return Query(gauge(metric, ONE_GROUP, *by), legend)


def counted(metric: str, legend: str, *by: str) -> Query:
    """The counter as bars."""
    return Query(times_in(metric, ONE_GROUP, *by, window="$__rate_interval"), legend)


NUMBERS = (
    Panel(
        1,
        "Availability",
        "Of the time in which this group's partitions were to be consumed, how much were they? Over the time range; "
        f"the alerts' goal is {GOAL}.",
        (Query(f"1 - {count_in(STALLED, ONE_GROUP)} / {count_in(WHOLE, ONE_GROUP)}", now=True),),
        Look.NUMBER,
        "percentunit",
        width=3,
        thresholds=AVAILABILITY,
        decimals=2,
        most=1,
        empty="unknown",
    ),
    Panel(
        2,
        "Rebalances",
        "How often did the group rebalance in the time range? A cooperative rebalance with its follow-ups is one.",
        (Query(f"{times_in(COMPLETED, ONE_GROUP)}", now=True),),
        Look.NUMBER,
        width=3,
        decimals=0,
        empty="unknown",
    ),
    Panel(
        3,
        "Running for",
        "Does a rebalance run now, and for how long? Past the members' rebalance timeout (5 minutes unless set) it is "
        "stuck.",
        (Query(RUNNING, now=True),),
        Look.NUMBER,
        "s",
        width=3,
        thresholds=DURATION,
        decimals=0,
        empty="unknown",
    ),
    Panel(
        4,
        "Last rebalance",
        "How long ago did the last rebalance end? Under a minute again and again is a storm.",
        (
            Query(
                f"time() - {gauge('kafka_rebalance_last_completed_timestamp_seconds', ONE_GROUP)}",
                now=True,
            ),
        ),
        Look.NUMBER,
        "s",
        width=3,
        decimals=0,
        empty="none seen",
    ),
    Panel(
        5,
        "Members",
        "How many members has the group? None: nobody consumes.",
        (Query(gauge("kafka_rebalance_members", ONE_GROUP), now=True),),
        Look.NUMBER,
        width=3,
        thresholds=((None, BAD), (1, NEUTRAL)),
        decimals=0,
        empty="unknown",
    ),
    Panel(
        6,
        "Without owner",
        "How many subscribed partitions does nobody consume? Above 0 in a Stable group is an outage.",
        (Query(gauge("kafka_rebalance_partitions_unassigned", ONE_GROUP), now=True),),
        Look.NUMBER,
        width=3,
        thresholds=above(bad=1),
        decimals=0,
        empty="unknown",
    ),
    Panel(
        7,
        "Skew",
        "Does a member have more than its strategy promises it? The highest load over what is promised: 1 is best.",
        (Query(gauge(SKEW, ONE_GROUP + ', weight="partitions"'), now=True),),
        Look.NUMBER,
        width=3,
        thresholds=SHARES,
        decimals=2,
        empty="unknown",
    ),
    Panel(
        8,
        "Record size",
        "Does the group come near what one record of the offsets topic may hold? At 100 % a classic group can no "
        "longer rebalance: fewer members or shorter topic lists help, or a larger max.message.bytes.",
        (
            Query(
                f"{gauge('kafka_rebalance_group_metadata_bytes', ONE_GROUP)} / on (cluster) group_left "
                f"{gauge('rebalance_agent_offsets_message_max_bytes', ROLE, 'cluster')}",
                now=True,
            ),
        ),
        Look.NUMBER,
        "percentunit",
        width=3,
        thresholds=above(0.5, 0.8),
        decimals=0,
        most=1,
        empty="no classic group, or unknown limit",
    ),
)

TIMELINE = Panel(
    9,
    "State",
    "In which state was the group when? Consumption stops in red (eager members wait for each other to join) and in "
    "orange (they wait for the assignment); cooperative members go on in both with what they keep.",
    (Query(STATE, "state"),),
    Look.STATES,
    width=16,
    thresholds=((None, NEUTRAL),),
    least=None,
    empty="the group is not known in this time",
    mappings={str(number): state for number, state in enumerate(STATES, 1)},
)
RUNS = Panel(
    10,
    "What it runs",
    "Which assignor and protocol does the group use, and how is it known? Eager stops every partition in each "
    "rebalance. Known by admin: no stalls, for the offsets topic may not be read.",
    (
        Query(
            gauge(
                "kafka_rebalance_group_info",
                ONE_GROUP,
                *("cluster", "group_type", "assignor", "rebalance_protocol", "source"),
            ),
            rows=True,
        ),
    ),
    Look.TABLE,
    empty="the group is not known now",
    columns=(
        Column("assignor", "Assignor"),
        Column("rebalance_protocol", "Protocol", width=110),
        Column("group_type", "Type", width=90),
        Column("source", "Known by", width=100),
        Column("cluster", "Cluster", width=100),
    ),
)
TRIGGERS = Panel(
    11,
    "Rebalances by trigger",
    "What began the rebalances? Each bar counts those that ended since the bar before. member_failed: a session timed "
    "out; member_gone: left or failed, nobody told which; rejoin: the same members came again, often after "
    "max.poll.interval.ms.",
    (
        Query(
            f"{times_in(COMPLETED, ONE_GROUP, 'trigger', window='$__rate_interval')} > 0",
            "{{trigger}}",
        ),
    ),
    Look.COUNTS,
    step="1m",
    empty="no rebalance in this time",
    colours={"member_failed": "red", "rejoin": "orange", "group_started": "green"},
)
STALLS = Panel(
    12,
    "Stall of each rebalance",
    "How long did the longest-waiting partition stand still, and is that normal at this hour? mean and p95 of the "
    "rebalances at each point, by how well they are known: exact by members' reports, bound is at most that. normal "
    "lines come from the group's history, where the pipeline runs.",
    (
        Query(
            f"sum by (basis) (increase({STALL}_sum{{{ONE_GROUP}}}[$__rate_interval])) "
            f"/ (sum by (basis) (increase({STALL}_count{{{ONE_GROUP}}}[$__rate_interval])) > 0)",
            "mean, {{basis}}",
        ),
        Query(f"{quantile(0.95, STALL, ONE_GROUP, 'basis')} >= 0", "p95, {{basis}}"),
        of("kafka_rebalance_stall_baseline_seconds", "normal {{percentile}}", "percentile"),
    ),
    Look.DOTS,
    "s",
    thresholds=above(10, 60),
    step="1m",
    empty="no rebalance in this time",
)
PHASES = Panel(
    13,
    "Phases of the last rebalance",
    "Where did the last rebalance take its time? join: the wait for the slowest member; sync: the leader's assign(); "
    "reconcile: until all members had what the coordinator assigned (groups of type consumer, share and streams).",
    tuple(of(f"kafka_rebalance_last_{phase}_seconds", phase) for phase in ("join", "sync", "reconcile")),
    unit="s",
    thresholds=above(10, 60),
    empty="no rebalance seen",
)
MOVES = Panel(
    14,
    "Partitions that moved",
    "What did the rebalances do to the partitions? moved ones changed their owner; needless of them moved beyond the "
    "fewest that the balance needs; revoked were given up (an eager group gives up all); lost belonged to members "
    "that vanished.",
    (
        counted("kafka_rebalance_partitions_moved_total", "moved"),
        counted("kafka_rebalance_partitions_moved_excess_total", "needless"),
        counted("kafka_rebalance_partitions_revoked_total", "revoked"),
        counted("kafka_rebalance_partitions_assigned_total", "assigned"),
        counted("kafka_rebalance_partitions_lost_total", "lost"),
    ),
    step="1m",
    empty="no rebalance in this time",
    colours={"needless": "orange", "lost": "red"},
)
SLOWEST = Panel(
    15,
    "Slowest member",
    "Which member did the others wait for, and how long? It is told for an hour after each rebalance. The same name "
    "again and again: look at its callbacks on the board Members, or at its host.",
    (of("kafka_rebalance_slowest_member_seconds", "{{client_id}} {{host}}", "client_id", "host"),),
    Look.DOTS,
    "s",
    thresholds=above(10, 60),
    empty="no rebalance in the last hour",
    links=(LINE_TO_MEMBER,),
)
STANDING = Panel(
    16,
    "Partitions standing still",
    "How many partitions stood still at a time? Partition-seconds lost per second; the line is how many there are, so "
    "an eager rebalance reaches it. no owner: outside rebalances, since the group is Empty or was assigned too little.",
    (
        Query(f"$across by (cluster, consumergroup) (rate({STALLED}{{{ONE_GROUP}}}[$__rate_interval]))", "standing"),
        Query(
            "$across by (cluster, consumergroup, reason) "
            f"(rate(kafka_rebalance_unowned_partition_seconds_total{{{ONE_GROUP}}}[$__rate_interval]))",
            "no owner, {{reason}}",
        ),
        of("kafka_rebalance_partitions", "subscribed"),
    ),
    empty="unknown",
    colours={"standing": "red", "subscribed": "blue"},
)
LOADS = Panel(
    17,
    "Partitions by member",
    "Who had how many partitions over time? A jump is a rebalance; a member that vanishes and comes back is flapping. "
    "Of members with the same client id and host it is the highest. A click on one opens what it saw of itself.",
    (of("kafka_rebalance_owner_partitions", "{{client_id}} {{host}}", "client_id", "host"),),
    Look.AREAS,
    width=12,
    empty="no member",
    links=(LINE_TO_MEMBER,),
)
OWNERS = Panel(
    18,
    "Owners now",
    "Who has how many partitions now? Members counts those that share a client id and host; they show as one, with "
    "the highest load. _folded stands for members beyond the agent's limit. A click on a client opens what it saw of "
    "itself, if it reports.",
    (
        Query(gauge("kafka_rebalance_owner_partitions", ONE_GROUP, "client_id", "host"), rows=True),
        Query(gauge("kafka_rebalance_owner_members", ONE_GROUP, "client_id", "host"), rows=True),
    ),
    Look.TABLE,
    width=12,
    empty="no member",
    sort_by="Partitions",
    columns=(
        Column("client_id", "Client", link=TO_MEMBER),
        Column("host", "Host"),
        Column("Value #A", "Partitions", "short", 0, width=110),
        Column("Value #B", "Members", "short", 0, width=110),
    ),
)
SKEWS = Panel(
    19,
    "Skew by weight",
    "Is the work shared evenly? By partitions: load over what the strategy promises. By lag and by rate (groups that "
    "lag_groups names): over a bound that no assignment beats, so a little above 1 may be unavoidable.",
    (of(SKEW, "by {{weight}}", "weight"),),
    thresholds=SHARES,
    decimals=2,
    least=1,
    empty="unknown",
)
UNEVEN = Panel(
    20,
    "What is wrong with the assignment",
    "By how many partitions is the assignment wrong? imbalance: the highest load above its target, 0 is optimal; "
    "without owner; co-partition breaks: numbers whose topics have different owners though declared to be read side "
    "by side.",
    (
        of("kafka_rebalance_assignment_imbalance_partitions", "imbalance"),
        of("kafka_rebalance_partitions_unassigned", "without owner"),
        of("kafka_rebalance_copartition_breaks", "co-partition breaks"),
    ),
    thresholds=above(1),
    decimals=0,
    empty="unknown",
)
MEMBERS = Panel(
    21,
    "Membership",
    "How did the membership change? idle ones have nothing though they should; flapping ones leave and come back again "
    "and again; deploy is 1 while members are being replaced one after the other.",
    (
        of("kafka_rebalance_members", "members"),
        of("kafka_rebalance_static_members", "static"),
        of("kafka_rebalance_idle_members", "idle"),
        of("kafka_rebalance_flapping_members", "flapping"),
        of("kafka_rebalance_rollout_in_progress", "deploy"),
    ),
    decimals=0,
    empty="unknown",
    colours={"idle": "orange", "flapping": "red"},
)
GENERATIONS = Panel(
    22,
    "Generation",
    "How fast does the generation go up? One step for each rebalance, more for cooperative ones; it falls to 1 when a "
    "group was deleted and made anew.",
    (of("kafka_rebalance_generation", "generation"),),
    decimals=0,
    least=None,
    empty="unknown",
)
FOR_NOTHING = Panel(
    23,
    "Rebalances for nothing",
    "Do rebalances fail, repeat, or change nothing? aborted: begun and never completed; assign_error: the leader's "
    "assign() raised; no-op: everyone kept what they had; follow-up: second step of a cooperative one; polled: changes "
    "of a group of which only polls tell.",
    (
        counted("kafka_rebalance_failed_total", "{{reason}}", "reason"),
        counted("kafka_rebalance_noop_total", "no-op"),
        counted("kafka_rebalance_followups_total", "follow-up"),
        counted("rebalance_agent_polled_changes_total", "polled"),
    ),
    Look.COUNTS,
    step="1m",
    empty="unknown",
    colours={"aborted": "orange", "assign_error": "red"},
)
TOPICS = Panel(
    24,
    "Topics on few members",
    "Which topics are crowded onto few members? Owners over the owners it could have, the worst topics only; none is "
    "good. A topic with most of the traffic at 30 % makes its few owners slow.",
    (of("kafka_rebalance_topic_spread_ratio", "{{topic}}", "topic"),),
    unit="percentunit",
    thresholds=below(0.3, 0.7),
    most=1,
    empty="every topic is spread as far as it goes",
)
UNREAD = Panel(
    25,
    "How long records wait",
    "For how long has the group had no members, and have records waited? without members: age of an Empty group. lag: "
    "age of the oldest record to read, for the group and its worst topics; no progress: longest time that a committed "
    "offset (of a partition with an owner) stayed though records came. Both for the groups that lag_groups names.",
    (
        of("kafka_rebalance_group_empty_seconds", "without members"),
        of("kafka_rebalance_group_lag_seconds", "lag"),
        of("kafka_rebalance_topic_lag_seconds", "lag, {{topic}}", "topic"),
        of("kafka_rebalance_stuck_partition_seconds", "no progress"),
    ),
    unit="s",
    width=24,
    thresholds=above(60, 300),
    empty="unknown",
    colours={"without members": "red", "no progress": "orange"},
)

ONE = Board(
    GROUP_UID,
    "Kafka rebalances / Group",
    "What one consumer group went through: states, triggers, stalls and their phases, moves, and how evenly it works.",
    (
        cluster("kafka_rebalance_group_info"),
        job("kafka_rebalance_group_info", "observers"),
        instance("kafka_rebalance_group_info"),
        one_group("kafka_rebalance_group_info"),
        ACROSS,
    ),
    (
        Row(4, NUMBERS),
        Row(5, (TIMELINE, RUNS)),
        Row(9, (TRIGGERS, STALLS, PHASES)),
        Row(9, (MOVES, SLOWEST, STANDING)),
        Row(9, (LOADS, OWNERS)),
        Row(9, (SKEWS, UNEVEN, MEMBERS)),
        Row(8, (GENERATIONS, FOR_NOTHING, TOPICS)),
        Row(8, (UNREAD,)),
    ),
    (
        leads_to(FLEET_UID, "Fleet", "job", "across"),
        leads_to(MEMBERS_UID, "Members", "consumergroup"),
        leads_to(AGENT_UID, "Agent"),
    ),
    (
        Annotation(
            "Rebalances",
            f"{gauge('kafka_rebalance_last_completed_timestamp_seconds', ONE_GROUP)} * 1000",
            "Rebalance",
            "{{consumergroup}}",
            "blue",
            on=True,
        ),
    ),
)
