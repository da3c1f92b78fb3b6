"""Alerts on the agent itself; all other alerts depend on its observers."""

from __future__ import annotations

from alerts.rule import Alert, Board, RuleGroup

__all__ = ["AGENT", "BLINDING"]

BLINDING = ("admin-only", "groups-hidden", "topics-hidden")
"""Degraded modes in which other alerts do not get their data."""

_SEEN = 'count by (cluster) (last_over_time(rebalance_agent_build_info{role="observer"}[$memory]))'
"""By cluster, not by job: while one observer of a cluster responds, a missing one must not inhibit other alerts."""

DOWN = Alert(
    "RebalanceAgentDown",
    f"""
    ({_SEEN} unless count by (cluster) (rebalance_agent_build_info{{role="observer"}}))
    or
    (absent(rebalance_agent_build_info{{role="observer"}}) unless on () {_SEEN})
    """,
    "No observer responds",
    "No observer{{ with $labels.cluster }} of cluster {{ . }}{{ end }} has responded for $for, so alerts on consumer "
    "groups cannot fire.",
    "Check whether an observer is running, and whether Prometheus can scrape it.",
    Board.AGENT,
)

BLIND = Alert(
    "RebalanceAgentBlind",
    """
    label_replace(
      min by (cluster, job, instance, part) (
        rebalance_agent_ready and on (job, instance) rebalance_agent_build_info{role="observer"}
      ) == 0,
      "reason", "its part $1 is not ready", "part", "(.*)"
    )
    or
    label_replace(
      rebalance_agent_tail_lag_records > $records
        and rebalance_agent_tail_lag_records > $behind_seconds * rate(rebalance_agent_read_records_total[$window]),
      "reason", "it is far behind the end of the offsets topic", "", ""
    )
    """,
    "Observer {{ $labels.instance }} has no up-to-date data",
    "Observer {{ $labels.instance }} has had no up-to-date data for $for: {{ $labels.reason }}.",
    "The observer's /readyz shows the cause.",
    Board.AGENT,
)

UNDECODABLE = Alert(
    "RebalanceAgentUndecodable",
    """
    round($across by (cluster, job, key_version) (increase(rebalance_agent_decode_errors_total[$window]))) >= $records
    """,
    "An observer cannot decode records of the offsets topic",
    "The observers could not decode $count(record) with key version {{ $labels.key_version }} in the last $window. "
    "The data of the affected groups may be wrong.",
    "Report a bug, with the output of rebalance-agent decode for one of these records.",
    Board.AGENT,
)

DEGRADED = Alert(
    "RebalanceAgentDegraded",
    f"""
    max by (cluster, job, mode) (rebalance_agent_degraded{{mode=~"{"|".join(BLINDING)}"}}) == 1
    """,
    "An observer lacks a permission",
    "The observer of job {{ $labels.job }} has been in degraded mode {{ $labels.mode }} for $for. Alerts that need "
    "the missing data cannot fire.",
    "Run rebalance-agent check; it prints the command that grants the missing permission.",
    Board.AGENT,
)

DROPPING = Alert(
    "RebalanceAgentDroppingEvents",
    """
    round(sum by (cluster, job, where) (increase(rebalance_agent_events_dropped_total[$window]))) >= $events
    """,
    "Rebalance events are lost",
    "Job {{ $labels.job }} reported $count(lost event) in the last $window (lost in: {{ $labels.where }}). The event "
    "history has gaps, and some stalls are not exact.",
    "Fix the receiver of the events; no restart is needed.",
    Board.AGENT,
)

SNAPSHOT = Alert(
    "RebalanceAgentSnapshotOld",
    """
    time() - max by (cluster, job, instance) (rebalance_agent_last_snapshot_timestamp_seconds > 0) > $seconds
      and max by (cluster, job, instance) (rebalance_agent_owned_partitions) > 0
    """,
    "Observer {{ $labels.instance }} is not writing snapshots",
    "For {{ $value | humanizeDuration }}, the brokers have not acknowledged a snapshot of observer "
    "{{ $labels.instance }}. If the last snapshot is older than a day, the next start does not use it: the "
    "observer then reads the whole offsets topic, and does not report rebalances that ended before its start.",
    "The observer's log shows the cause; most often, the state topic cannot be written.",
    Board.AGENT,
)

TENANT = Alert(
    "RebalanceAgentTenantOverBudget",
    """
    max by (cluster, job, consumergroup) (rebalance_agent_group_over_budget) == 1
    """,
    "$group uses more than its share of the observer",
    "For $for, the observer has processed the records of consumer group $group with a delay. The group rebalances too "
    "often, its assignments are too large, or it is one of thousands of new groups that do not commit. The group's "
    "data is delayed, and some of its rebalances are missing; other groups are not affected.",
    "Find the owner of the group and the cause of its rebalances, or exclude the group with the setting groups_deny.",
    Board.AGENT,
)

ACTS_WRONG = Alert(
    "RebalanceAgentGatewayActsWrong",
    """
    count by (cluster, job) (rebalance_agent_gateway_seats_wrong_groups > 0)
    """,
    "Gateways of job {{ $labels.job }} only observe the seats of a group",
    "In $count(gateway) of job {{ $labels.job }}, the seats of at least one group are now only observed, because "
    "they did not avoid rebalances. Three times in a row, the handover of a seat caused a rebalance, or consumers that "
    "the gateway admitted together caused more than one rebalance. Until the gateway restarts, the group rebalances "
    "like a group without seats.",
    "To find the group, search the gateway's log for seats_acts_wrong. Then find the cause of the group's rebalances.",
    Board.AGENT,
)

AGENT = RuleGroup(
    "kafka-rebalance-agent",
    "The agent itself. All other alerts depend on its observers.",
    (DOWN, BLIND, UNDECODABLE, DEGRADED, DROPPING, SNAPSHOT, TENANT, ACTS_WRONG),
)
