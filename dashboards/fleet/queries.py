"""Queries and links of the Fleet board."""

from __future__ import annotations

from dashboards.parts.board import GROUP_UID, MEMBERS_UID
from dashboards.parts.panel import Link
from dashboards.parts.query import GROUP, bars_of, gauge
from rebalance_agent.model.episode import TRIGGER_PRECEDENCE

__all__ = [
    "BY_PARTITIONS",
    "COMPLETED",
    "GRAVITY",
    "LINE_TO_GROUP",
    "NAME",
    "NOT_THE_FIRST",
    "RUNNING",
    "RUNS",
    "SKEW",
    "STALLED",
    "STALLED_UPPER",
    "TIMEOUT",
    "TO_GROUP",
    "TO_MEMBER",
    "TRIGGER",
    "WHOLE",
    "lately",
]

COMPLETED = "kafka_rebalance_completed_total"
STALLED = "kafka_rebalance_stalled_partition_seconds_total"
STALLED_UPPER = "kafka_rebalance_stalled_partition_seconds_upper_total"
WHOLE = "kafka_rebalance_partition_seconds_total"
SKEW = "kafka_rebalance_assignment_skew_ratio"
TRIGGER = ("cluster", "consumergroup", "trigger")
NOT_THE_FIRST = GROUP + ', trigger!="group_started"'
BY_PARTITIONS = GROUP + ', weight="partitions"'
TIMEOUT = gauge("kafka_rebalance_timeout_seconds", GROUP)
NAME = "{{cluster}} {{consumergroup}}"
GRAVITY = " or ".join(
    f'label_replace(vector({2 - at / len(TRIGGER_PRECEDENCE):.2f}), "trigger", "{trigger}", "", "")'
    for at, trigger in enumerate(TRIGGER_PRECEDENCE)
)
"""A factor between 1 and 2 for the count of each trigger; the most serious trigger has the highest factor."""

RUNS = ("group_type", "assignor", "rebalance_protocol", "source")
RUNNING = gauge("kafka_rebalance_in_progress_seconds", GROUP)
TO_GROUP = Link(
    "Open this group",
    f"/d/{GROUP_UID}?var-consumergroup=${{__data.fields.Group:percentencode}}"
    "&${datasource:queryparam}&${cluster:queryparam}&${job:queryparam}&${across:queryparam}"
    "&${__url_time_range}",
)
TO_MEMBER = Link(
    "Open the reports of this member",
    f"/d/{MEMBERS_UID}?var-consumergroup=${{__data.fields.Group:percentencode}}"
    "&var-client_id=${__data.fields.Member:percentencode}"
    "&${datasource:queryparam}&${cluster:queryparam}&${__url_time_range}",
)
LINE_TO_GROUP = Link(TO_GROUP.title, TO_GROUP.url.replace("__data.fields.Group", "__field.labels.consumergroup"))


def lately(counter: str, *by: str) -> str:
    """Return the increase since the previous point."""
    return bars_of(counter, GROUP, *by)
