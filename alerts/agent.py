"""Is the watcher well: what it does not see, no other alert can tell."""

from __future__ import annotations

from alerts.rule import Alert, Board, RuleGroup

__all__ = ["AGENT", "BLINDING"]

BLINDING = ("admin-only", "groups-hidden", "topics-hidden")
"""Degraded modes in which other alerts cannot see what they are for."""

_SEEN = 'count by (cluster) (last_over_time(rebalance_agent_build_info{role="observer"}[$memory]))'
"""By cluster, not by job: while any observer answers, the others' absence must not silence what it sees."""

DOWN = Alert(
    "RebalanceAgentDown",
    f"""
    ({_SEEN} unless count by (cluster) (rebalance_agent_build_info{{role="observer"}}))
    or
    (absent(rebalance_agent_build_info{{role="observer"}}) unless on () {_SEEN})
    """,
    "Nobody watches the consumer groups",
    "No observer{{ with $labels.cluster }} of cluster {{ . }}{{ end }} has answered for $for: alerts on consumer "
    "groups cannot fire.",
    "See whether one runs, and whether Prometheus reaches it.",
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
    "Observer {{ $labels.instance }} does not see what happens",
    "Observer {{ $labels.instance }} has been blind for $for: {{ $labels.reason }}.",
    "Its /readyz says what is missing.",
    Board.AGENT,
)

UNDECODABLE = Alert(
    "RebalanceAgentUndecodable",
    """
    round($across by (cluster, job, key_version) (increase(rebalance_agent_decode_errors_total[$window]))) >= $records
    """,
    "Observer cannot read records of the offsets topic",
    "Records with key version {{ $labels.key_version }} that did not decode within $window: {{ $value | humanize }}. "
    "Their groups may be shown wrongly.",
    "Report one, with what rebalance-agent decode prints of it.",
    Board.AGENT,
)

DEGRADED = Alert(
    "RebalanceAgentDegraded",
    f"""
    max by (cluster, job, mode) (rebalance_agent_degraded{{mode=~"{"|".join(BLINDING)}"}}) == 1
    """,
    "Observer lacks a right",
    "The observer of job {{ $labels.job }} has been {{ $labels.mode }} for $for: alerts that need what it may not see "
    "cannot fire.",
    "rebalance-agent check prints the command that grants it.",
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
    "Mend what takes them; nothing has to be restarted.",
    Board.AGENT,
)

SNAPSHOT = Alert(
    "RebalanceAgentSnapshotOld",
    """
    time() - max by (cluster, job, instance) (rebalance_agent_last_snapshot_timestamp_seconds > 0) > $seconds
      and max by (cluster, job, instance) (rebalance_agent_owned_partitions) > 0
    """,
    "Observer {{ $labels.instance }} writes no snapshots",
    "The last snapshot of observer {{ $labels.instance }} is {{ $value | humanizeDuration }} old. After a day it "
    "counts for nothing: the next start reads the whole offsets topic, and rebalances that ended meanwhile are not "
    "told.",
    "Its log says what hinders it; most often events that cannot be published.",
    Board.AGENT,
)

AGENT = RuleGroup(
    "kafka-rebalance-agent",
    "Is the watcher well: what it does not see, no other alert can tell.",
    (DOWN, BLIND, UNDECODABLE, DEGRADED, DROPPING, SNAPSHOT),
)
