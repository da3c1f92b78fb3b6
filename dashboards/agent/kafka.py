"""The panels on reads from Kafka, snapshots, and problems with Kafka."""

from __future__ import annotations

from dashboards.agent.queries import counted, highest, rate
from dashboards.parts.goals import SNAPSHOT_AGE
from dashboards.parts.panel import Look, Panel, above
from dashboards.parts.query import ROLE, Query, quantile

__all__ = ["BYTES", "LAG", "POLLS", "PROBLEMS", "READ", "SNAPSHOTS"]

LAG = Panel(
    10,
    "Tail of the offsets topic",
    "Is the observer behind the end of the offsets topic, and does it catch up? A peak after a start is normal, "
    "because the observer reads old records. **waits**: a group that causes more work, or takes more memory, than "
    "its share; its records are processed later, or its rebalances are not reported (alert "
    "RebalanceAgentTenantOverBudget).",
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
    "How many records does the observer read? Most of them are offset commits, which it skips. **replayed**: records "
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
    "How many bytes do agents read and write? The lines show the bytes that are read from the offsets topic, the "
    "bytes that are written as snapshots, and the bytes that gateways forward.",
    (
        rate("rebalance_agent_read_bytes_total", "read"),
        rate("rebalance_agent_snapshot_written_bytes_total", "snapshots"),
        rate("rebalance_agent_gateway_bytes_total", "gateways' {{direction}}", "direction"),
    ),
    unit="Bps",
    empty="no agents respond",
)
POLLS = Panel(
    13,
    "Polls",
    "How long do the observer's polls of Kafka take, and when did each last succeed? **p95**: 95th percentile of the "
    "poll's duration. **age**: time since the poll last succeeded; if the age keeps growing, the poll fails. "
    "**oldest observation**: how long the oldest record or poll has waited to be processed.",
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
    empty="no observers poll",
)
SNAPSHOTS = Panel(
    17,
    "Snapshots",
    "How much would a restart have to read again? Each line is the age of an observer's newest snapshot of "
    "any partition. If that snapshot cannot be used, for example because it is older than a day, the next start reads "
    "the offsets topic from its beginning.",
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
    "Kafka problems",
    "Were there problems with connections, snapshots or ownership? **reconnects**: connections to the cluster that "
    "were lost and established again. **snapshot**: snapshots that could not be read or written. **ownership "
    "changes**: how often partitions of the offsets topic moved between observers, because a replica started or "
    "stopped.",
    (
        counted("rebalance_agent_reconnects_total", "reconnects"),
        counted("rebalance_agent_snapshot_problems_total", "snapshot {{problem}}", "problem"),
        counted("rebalance_agent_ownership_changes_total", "ownership changes"),
    ),
    Look.COUNTS,
    empty="no agents respond",
)
