"""The board Agent: state of observers, sidecars and gateways."""

from __future__ import annotations

from dashboards.board import AGENT_UID, FLEET_UID, GROUP_UID, MEMBERS_UID, Annotation, Board, leads_to
from dashboards.goals import SNAPSHOT_AGE
from dashboards.grid import Row
from dashboards.panel import BAD, GOOD, Column, Look, Panel, above
from dashboards.query import ROLE, Query, quantile, rate_of, times_in
from dashboards.variables import cluster, instance, job

__all__ = ["AGENT"]

TARGET = 'job=~"$job", instance=~"$instance"'
"""Prometheus' own ``up`` has no label ``cluster``."""

NO = {"0": ("no", BAD), "1": ("yes", GOOD)}


def highest(metric: str, *by: str) -> str:
    """Return a gauge by agent."""
    return f"max by ({', '.join((*by, 'instance'))}) ({metric}{{{ROLE}}})"


def in_all(metric: str) -> str:
    """Return the increase in the time range, summed over agents."""
    return f"round(sum(increase({metric}{{{ROLE}}}[$__range])))"


def counted(metric: str, legend: str, *by: str) -> Query:
    """Return the increase since the previous point, summed over agents; by labels only if above 0."""
    asked = times_in(metric, ROLE, *(by or ("cluster",)), window="$__rate_interval", across="sum")
    return Query(f"{asked} > 0" if by else asked, legend)


def rate(metric: str, legend: str, *by: str) -> Query:
    """Return the counter's rate per second, summed over agents."""
    return Query(rate_of(metric, ROLE, *(by or ("cluster",))), legend)


NUMBERS = (
    Panel(
        1,
        "Agents down",
        "How many agents do not answer Prometheus? Their groups are missing on the other boards.",
        (Query(f"sum(up{{{TARGET}}} == bool 0)", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        empty="no agent is a target",
    ),
    Panel(
        2,
        "Parts not ready",
        "How many parts of agents are not ready? The chart of parts below shows which ones.",
        (Query(f"sum(rebalance_agent_ready{{{ROLE}}} == bool 0)", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        empty="no agent answers",
    ),
    Panel(
        3,
        "Degraded modes",
        "How many degraded modes are active because of missing rights? The chart of modes shows which ones; "
        "docs/security.md has the commands that grant the rights.",
        (Query(f"sum(rebalance_agent_degraded{{{ROLE}}})", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(1),
        empty="no agent answers",
    ),
    Panel(
        4,
        "Behind the offsets topic",
        "Does the observer keep up with the offsets topic? The number of records that it has not read yet; their "
        "changes are missing on the boards.",
        (Query(f"max(rebalance_agent_tail_lag_records{{{ROLE}}})", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(1_000, 100_000),
        decimals=0,
        empty="no observer reads the topic",
    ),
    Panel(
        5,
        "Events lost",
        "Were events lost in the time range? The history then has gaps; the metrics do not.",
        (Query(in_all("rebalance_agent_events_dropped_total"), now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        decimals=0,
        empty="no agent answers",
    ),
    Panel(
        6,
        "Records not understood",
        "How many records could not be decoded in the time range? Report one, with the output of rebalance-agent "
        "decode.",
        (Query(in_all("rebalance_agent_decode_errors_total"), now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        decimals=0,
        empty="no observer reads the topic",
    ),
)

READY = Panel(
    7,
    "Parts that work",
    "Which part of which agent was ready at which time? Red means not ready; /readyz of the agent shows the cause.",
    (Query(f"min by (job, instance, part) (rebalance_agent_ready{{{ROLE}}})", "{{job}} {{instance}} {{part}}"),),
    Look.STATES,
    "bool_yes_no",
    width=12,
    least=None,
    mappings=NO,
    empty="no agent answers",
)
BUILDS = Panel(
    8,
    "Agents",
    "Which versions run, and are they configured? Configured no: the agent is idle, because it has no bootstrap "
    "servers.",
    (
        Query(
            f"max by (job, instance, role, version, python) (rebalance_agent_build_info{{{ROLE}}})",
            rows=True,
        ),
        Query(f"max by (job, instance) (rebalance_agent_configured{{{ROLE}}})", rows=True),
    ),
    Look.TABLE,
    width=12,
    empty="no agent answers",
    columns=(
        Column("role", "Role", width=100),
        Column("job", "Job"),
        Column("instance", "Instance"),
        Column("version", "Version", width=100),
        Column("python", "Python", width=90),
        Column("Value #B", "Configured", "bool_yes_no", None, ((None, BAD), (1, GOOD)), width=110),
    ),
)
DEGRADED = Panel(
    9,
    "Which modes",
    "Which degraded modes are active because of missing rights, and since when? A line at 1 is an active mode.",
    (Query(f"{highest('rebalance_agent_degraded', 'mode')} > 0", "{{instance}} {{mode}}"),),
    empty="no degraded mode",
    decimals=0,
)
LAG = Panel(
    10,
    "Tail of the offsets topic",
    "Is the observer behind the end of the topic, and does it catch up? A peak after a start is normal, because it "
    "reads old records. A group that causes more work than its share is named: its records wait.",
    (
        Query(highest("rebalance_agent_tail_lag_records"), "{{instance}}"),
        Query(f"{highest('rebalance_agent_group_over_budget', 'consumergroup')}", "{{consumergroup}} waits"),
    ),
    thresholds=above(1_000, 100_000),
    decimals=0,
    empty="no observer reads the topic",
)
READ = Panel(
    11,
    "Read from Kafka",
    "How many records does the observer read? Most of them are offset commits, which it skips. replayed: records "
    "that it read again after a start or a takeover.",
    (
        rate("rebalance_agent_read_records_total", "records"),
        rate("rebalance_agent_replayed_records_total", "replayed"),
    ),
    unit="cps",
    empty="no observer reads the topic",
)
BYTES = Panel(
    12,
    "Bytes",
    "How many bytes do agents read and write? Read from the offsets topic, written as snapshots, and forwarded by "
    "gateways.",
    (
        rate("rebalance_agent_read_bytes_total", "read"),
        rate("rebalance_agent_snapshot_written_bytes_total", "snapshots"),
        rate("rebalance_agent_gateway_bytes_total", "gateways' {{direction}}", "direction"),
    ),
    unit="Bps",
    empty="no agent answers",
)
POLLS = Panel(
    13,
    "Polls",
    "How long do the observer's polls of Kafka take, and when did each last succeed? p95 at each point, and the time "
    "since the last success. If that time grows, the poll fails.",
    (
        Query(f"{quantile(0.95, 'rebalance_agent_poll_duration_seconds', ROLE, 'poll')} >= 0", "p95 {{poll}}"),
        Query(
            f"time() - max by (poll) (rebalance_agent_last_poll_timestamp_seconds{{{ROLE}}})",
            "age {{poll}}",
        ),
        Query(highest("rebalance_agent_observation_age_seconds"), "oldest observation {{instance}}"),
    ),
    unit="s",
    thresholds=above(60, 300),
    empty="no observer polls",
)
EVENTS = Panel(
    14,
    "Events",
    "Are events received and published? received: from members; published: to each sink; dropped: lost events by "
    "place.",
    (
        counted("rebalance_agent_events_received_total", "received {{kind}}", "kind"),
        counted("rebalance_agent_events_published_total", "published {{kind}} to {{sink}}", "kind", "sink"),
        counted("rebalance_agent_events_dropped_total", "dropped {{where}}", "where"),
    ),
    step="1m",
    empty="no agent answers",
)
UNREAD = Panel(
    15,
    "Not understood",
    "Which records and events did the agent skip, because they are unknown or broken? Unknown versions and tagged "
    "fields come from a newer Kafka: upgrade the agent.",
    (
        counted("rebalance_agent_decode_errors_total", "broken, key version {{key_version}}", "key_version"),
        counted("rebalance_agent_unknown_records_total", "unknown {{unknown}}", "unknown"),
        counted("rebalance_agent_unknown_tagged_fields_total", "unknown tagged fields"),
        counted("rebalance_agent_events_malformed_total", "events malformed"),
        counted("rebalance_agent_baselines_malformed_total", "baselines malformed"),
        counted("rebalance_agent_over_budget_records_total", "over budget, {{outcome}}", "outcome"),
    ),
    step="1m",
    empty="no observer reads the topic",
)
REFUSED = Panel(
    16,
    "Refused and cut",
    "Do agents reject requests or close connections? Rejected posts by HTTP status (401: a wrong token; 413, 429: too "
    "much), connections that the agent closed, and those that a gateway closed. unreachable: no broker accepted the "
    "connection; tls: the handshake failed; other reasons: clients that do not use Kafka's protocol, or too many.",
    (
        counted("rebalance_agent_requests_rejected_total", "status {{status}}", "status"),
        counted("rebalance_agent_connections_cut_total", "cut: {{reason}}", "reason"),
        counted("rebalance_agent_gateway_refused_total", "gateway: {{reason}}", "reason"),
    ),
    step="1m",
    empty="none counted",
)
SNAPSHOTS = Panel(
    17,
    "Snapshots",
    "How many records would a restart read again? The age of the newest snapshot of any partition. With snapshot "
    "problems, the next start reads the topic from its beginning.",
    (
        Query(
            f"time() - max by (instance) (rebalance_agent_last_snapshot_timestamp_seconds{{{ROLE}}} > 0)",
            "age {{instance}}",
        ),
    ),
    unit="s",
    thresholds=SNAPSHOT_AGE,
    empty="no snapshot",
)
PROBLEMS = Panel(
    18,
    "Trouble with Kafka",
    "Were there problems with connections, snapshots or ownership? reconnects: connections to the cluster that were "
    "lost and established again; changes of ownership: replicas that started or stopped.",
    (
        counted("rebalance_agent_reconnects_total", "reconnects"),
        counted("rebalance_agent_snapshot_problems_total", "snapshot {{problem}}", "problem"),
        counted("rebalance_agent_ownership_changes_total", "ownership changes"),
    ),
    step="1m",
    empty="no agent answers",
)
SHARE = Panel(
    19,
    "Bounds and shares",
    "Does an agent reach its limits? Owned offsets partitions (each needs an owner), series that are folded into "
    "others, names that are too long for labels, groups without series because the page is full, and partitions "
    "without lag because there are too many.",
    (
        Query(highest("rebalance_agent_owned_partitions"), "{{instance}} owns partitions"),
        Query(highest("rebalance_agent_series_folded"), "{{instance}} series folded"),
        Query(highest("rebalance_agent_names_shortened"), "{{instance}} names shortened"),
        Query(highest("rebalance_agent_groups_left_out"), "{{instance}} groups without series"),
        Query(highest("rebalance_agent_loads_left_out_partitions"), "{{instance}} without lag"),
    ),
    decimals=0,
    empty="no agent answers",
)
CONNECTIONS = Panel(
    20,
    "Gateways: connections",
    "How many connections do gateways have, and are they stable? If many are opened per second, a client reconnects "
    "repeatedly. Clients cannot reach a shut broker through the gateway.",
    (
        Query(f"sum(rebalance_agent_gateway_connections{{{ROLE}}})", "open"),
        rate("rebalance_agent_gateway_connections_opened_total", "opened per second"),
        Query(f"max(rebalance_agent_gateway_brokers{{{ROLE}}})", "brokers"),
        Query(f"sum(rebalance_agent_gateway_brokers_shut{{{ROLE}}})", "brokers shut"),
    ),
    empty="no gateway is scraped",
    colours={"brokers shut": "red"},
)
DELAY = Panel(
    21,
    "Gateways: delay p99",
    "How much latency do gateways add? pass: frames that are forwarded unread; read: frames that are parsed, by API.",
    (
        Query(
            f"{quantile(0.99, 'rebalance_agent_gateway_pass_seconds', ROLE, 'direction')} >= 0", "pass {{direction}}"
        ),
        Query(f"{quantile(0.99, 'rebalance_agent_gateway_read_seconds', ROLE, 'api')} >= 0", "read {{api}}"),
    ),
    unit="s",
    width=12,
    thresholds=above(0.01, 0.1),
    empty="no gateway is scraped",
)
FRAMES = Panel(
    23,
    "Gateways: what became of strategies",
    "Do groups use the strategy of their gateway? assigned: yes; not_chosen: a member without a gateway does not "
    "offer it; misfit, foreign: it does not match the client; failed: the frame was forwarded unchanged.",
    (counted("rebalance_agent_gateway_group_frames_total", "{{outcome}}", "outcome"),),
    Look.COUNTS,
    width=12,
    step="1m",
    empty="no gateway with a rule for a group is scraped",
    colours={"assigned": "green", "assign_failed": "red", "failed": "red"},
)
SEATS = Panel(
    22,
    "Gateways: seats",
    "What do gateways do about seats, and how many rebalances does it spare (at least)? predicted and observe: on "
    "would do it; refused: by the coordinator, which is harmless; failed: see the gateway's log. docs/seats.md "
    "explains each act.",
    (
        counted("rebalance_agent_gateway_seats_rebalances_spared_total", "rebalances spared, {{mode}}", "mode"),
        counted("rebalance_agent_gateway_acts_total", "{{act}} {{outcome}}", "act", "outcome"),
    ),
    Look.COUNTS,
    step="1m",
    empty="no group has seats",
    colours={"rebalances spared, on": "green"},
)
COST = Panel(
    24,
    "Gateways: time of vacant seats",
    "For how long do partitions stand still because their seat is vacant? At most so many seconds times partitions, "
    "counted when the seat is taken or given up. In mode observe: what on would have cost.",
    (counted("rebalance_agent_gateway_seats_partition_seconds_total", "{{mode}}", "mode"),),
    Look.COUNTS,
    "s",
    step="1m",
    empty="no group has seats",
)
VACANT = Panel(
    25,
    "Gateways: waiting",
    "Does anything wait now? Seats without a consumer, which the gateway keeps by heartbeats, and JoinGroups that "
    "wait for a predecessor.",
    (
        Query(highest("rebalance_agent_gateway_seats_vacant"), "{{instance}} vacant seats"),
        Query(highest("rebalance_agent_gateway_seats_held_joins"), "{{instance}} JoinGroups held"),
    ),
    decimals=0,
    empty="no group has seats",
)

AGENT = Board(
    AGENT_UID,
    "Kafka rebalances / Agent",
    "State of the agents: observers, sidecars and gateways.",
    (
        cluster("rebalance_agent_build_info"),
        job("rebalance_agent_build_info", "agents"),
        instance("rebalance_agent_build_info"),
    ),
    (
        Row(4, NUMBERS),
        Row(8, (READY, BUILDS)),
        Row(9, (DEGRADED, LAG, POLLS)),
        Row(9, (READ, BYTES, EVENTS)),
        Row(9, (UNREAD, REFUSED, PROBLEMS)),
        Row(9, (SNAPSHOTS, SHARE, CONNECTIONS)),
        Row(9, (DELAY, FRAMES)),
        Row(9, (SEATS, COST, VACANT)),
    ),
    (
        leads_to(FLEET_UID, "Fleet"),
        leads_to(GROUP_UID, "Group"),
        leads_to(MEMBERS_UID, "Members"),
    ),
    (
        Annotation(
            "Takeovers and reconnects",
            f"sum by (instance) (increase(rebalance_agent_ownership_changes_total{{{ROLE}}}[$__rate_interval])) > 0 "
            f"or sum by (instance) (increase(rebalance_agent_reconnects_total{{{ROLE}}}[$__rate_interval])) > 0",
            "Took over, or reconnected",
            "{{instance}}",
            "purple",
            on=True,
            moments=False,
        ),
    ),
)
