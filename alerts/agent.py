"""Alerts on the agent itself: other alerts depend on its observer."""

from __future__ import annotations

from alerts.rule import Alert, Board, RuleGroup

__all__ = ["AGENT", "BLINDING"]

BLINDING = ("admin-only", "groups-hidden", "topics-hidden")
"""Degraded modes in which other alerts lack their data."""

_SEEN = 'count by (cluster) (last_over_time(rebalance_agent_build_info{role="observer"}[$memory]))'
"""By cluster, not by job: while one observer of a cluster answers, a missing one must not silence alerts."""

DOWN = Alert(
    "RebalanceAgentDown",
    f"""
    ({_SEEN} unless count by (cluster) (rebalance_agent_build_info{{role="observer"}}))
    or
    (absent(rebalance_agent_build_info{{role="observer"}}) unless on () {_SEEN})
    """,
    "No observer of the consumer groups answers",
    "No observer{{ with $labels.cluster }} of cluster {{ . }}{{ end }} has answered for $for. Alerts on consumer "
    "groups cannot fire.",
    "Check whether an observer runs, and whether Prometheus can scrape it.",
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
    "Observer {{ $labels.instance }} has no current data",
    "Observer {{ $labels.instance }} has had no current data for $for: {{ $labels.reason }}.",
    "Its /readyz shows the cause.",
    Board.AGENT,
)

UNDECODABLE = Alert(
    "RebalanceAgentUndecodable",
    """
    round($across by (cluster, job, key_version) (increase(rebalance_agent_decode_errors_total[$window]))) >= $records
    """,
    "Observer cannot decode records of the offsets topic",
    "Records with key version {{ $labels.key_version }} that could not be decoded within $window: "
    "{{ $value | humanize }}. Data of their groups may be wrong.",
    "Report one of them, with the output of rebalance-agent decode.",
    Board.AGENT,
)

DEGRADED = Alert(
    "RebalanceAgentDegraded",
    f"""
    max by (cluster, job, mode) (rebalance_agent_degraded{{mode=~"{"|".join(BLINDING)}"}}) == 1
    """,
    "Observer lacks a permission",
    "The observer of job {{ $labels.job }} has been in mode {{ $labels.mode }} for $for. Alerts that need the missing "
    "data cannot fire.",
    "Run rebalance-agent check: it prints the command that grants the permission.",
    Board.AGENT,
)

DROPPING = Alert(
    "RebalanceAgentDroppingEvents",
    """
    round(sum by (cluster, job, where) (increase(rebalance_agent_events_dropped_total[$window]))) >= $events
    """,
    "Events are lost",
    "Events that were lost within $window ({{ $labels.where }}): {{ $value | humanize }}. History and exact stalls "
    "have gaps.",
    "Repair the receiver of the events; no restart is needed.",
    Board.AGENT,
)

SNAPSHOT = Alert(
    "RebalanceAgentSnapshotOld",
    """
    time() - max by (cluster, job, instance) (rebalance_agent_last_snapshot_timestamp_seconds > 0) > $seconds
      and max by (cluster, job, instance) (rebalance_agent_owned_partitions) > 0
    """,
    "Observer {{ $labels.instance }} writes no snapshots",
    "The last snapshot of observer {{ $labels.instance }} is {{ $value | humanizeDuration }} old. After a day it is "
    "not used: the next start reads the whole offsets topic, and does not report rebalances that ended in between.",
    "Its log shows the cause; the most frequent one is that events cannot be published.",
    Board.AGENT,
)

TENANT = Alert(
    "RebalanceAgentTenantOverBudget",
    """
    max by (cluster, job, consumergroup) (rebalance_agent_group_over_budget) == 1
    """,
    "Group {{ $labels.consumergroup }} causes more work than its share",
    "The records of group {{ $labels.consumergroup }} have had to wait for $for: it rebalances too often, its "
    "assignments are too large, or it is one of thousands of new groups that do not commit. Its own figures are late, "
    "and rebalances are missing in them; those of other groups are not affected.",
    "Find out who runs it and why it rebalances, or exclude it with groups_deny.",
    Board.AGENT,
)

ACTS_WRONG = Alert(
    "RebalanceAgentGatewayActsWrong",
    """
    count by (cluster, job) (rebalance_agent_gateway_seats_wrong_groups > 0)
    """,
    "Gateways of job {{ $labels.job }} have stopped handing seats over",
    "Gateways of job {{ $labels.job }} that only observe the seats of a group from now on: {{ $value | humanize }}. "
    "That group rebalanced after each of three handovers in a row, or several times for each of three joint "
    "admissions. Until the gateway restarts, it rebalances as without seats.",
    "The gateway's log has the group's name (seats_acts_wrong). Find the cause of its rebalances.",
    Board.AGENT,
)

AGENT = RuleGroup(
    "kafka-rebalance-agent",
    "The agent itself: other alerts depend on its observer.",
    (DOWN, BLIND, UNDECODABLE, DEGRADED, DROPPING, SNAPSHOT, TENANT, ACTS_WRONG),
)
