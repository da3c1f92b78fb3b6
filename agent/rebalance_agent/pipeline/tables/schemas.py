"""Defines every table of the pipeline.

Column names follow the JSON of events. Times are timestamps in UTC, durations are seconds. Unknown values are null;
there are no substitutes such as 0 or -1.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    TimestampType,
)

from rebalance_agent.pipeline.table_schema import Table, columns
from rebalance_agent.pipeline.tables import advice_schemas, change_schemas
from rebalance_agent.pipeline.tried_releases import AWAITS_RELEASE

__all__ = [
    "BASELINES",
    "EVENTS",
    "EVENTS_REJECTED",
    "EXPECTATIONS",
    "GENERATIONS",
    "GROUP_HOURS",
    "MEMBERS",
    "TABLES",
]

_TEXT, _INT, _LONG, _DOUBLE, _FLAG = StringType(), IntegerType(), LongType(), DoubleType(), BooleanType()
_TIME, _DAY, _BYTES, _TEXTS = TimestampType(), DateType(), BinaryType(), ArrayType(StringType())


EVENTS = Table(
    "events",
    columns(
        (
            (_TEXT, "event_id kind cluster_id group"),
            (_INT, "schema_version revision part parts"),
            (_TIME, "timestamp"),
            (_TEXT, "body origin"),
            (_TIME, "ingested_at"),
            (_DAY, "day"),
        ),
        ((_LONG, "generation"), (_TEXT, "source topic"), (_INT, "partition"), (_LONG, "offset")),
    ),
    keys=("event_id",),
    rank=("origin <> 'backfill'", "revision"),  # the log contains fewer facts than an observer's event
    partitioned_by=("day",),
    keeps_changes=True,
)
"""Every event once: ``body`` is its JSON as published, ``origin`` is ``ingest``, ``files`` or ``backfill``.

``topic``, ``partition`` and ``offset`` show where the event was read; they are null for files. ``day`` is the day of
``timestamp``.
"""

EVENTS_REJECTED = Table(
    "events_rejected",
    columns(
        ((_TEXT, "rejected_id reason"), (_TIME, "ingested_at")),
        ((_BYTES, "key value"), (_TEXT, "topic"), (_INT, "partition"), (_LONG, "offset"), (_TEXT, "file")),
    ),
    keys=("rejected_id",),
    rank=(f"NOT ( {AWAITS_RELEASE} )",),  # the reason shows the last release that has tried
)
"""Records that this release cannot read as events: the raw bytes and the reason.

``rejected_id`` is a digest of location and value. If a value is too long, only its beginning is kept, and the reason
states this. """

GENERATIONS = Table(
    "generations",
    columns(
        (
            (_TEXT, "event_id cluster_id group group_type"),
            (_LONG, "generation episode_generation"),
            (_FLAG, "closes_episode"),
            (_INT, "followups"),
            (_TEXT, "epoch_kind"),
            (_TIME, "completed_at"),
            (_TEXT, "protocol source origin"),
            (_INT, "revision"),
            (_TEXT, "trigger"),
            (_TEXTS, "causes"),
            (_INT, "member_count partition_count assigned unassigned"),
            (_FLAG, "noop"),
            (MapType(_TEXT, _INT), "topics"),
            (_TEXT, "body"),
            (_DAY, "day"),
        ),
        (
            (_LONG, "previous_generation"),
            (_TIME, "started_at"),
            (_TEXT, "assignor"),
            (_DOUBLE, "join_seconds sync_seconds assignor_wait_seconds reconcile_seconds"),
            (_DOUBLE, "stall_seconds stall_upper_seconds"),
            (_TEXT, "stall_basis"),
            (_DOUBLE, "stalled_partition_seconds"),
            (_INT, "moved revoked lost lost_min needed excess"),
            (_DOUBLE, "skew_ratio"),
            (_INT, "imbalance"),
            (_TEXT, "slowest_member_id slowest_client_id"),
            (_DOUBLE, "slowest_seconds slowest_lower_seconds"),
            (_TEXTS, "flapping"),
            (_TEXT, "rollout"),
        ),
    ),
    keys=("event_id",),
    partitioned_by=("day",),
)
"""One row for each generation or epoch, with the parts of its event joined; ``event_id`` is the id of the first part.

``body`` is the JSON of the whole event, which `model.event_json` reads. ``rollout`` is the event id of the
generation's deploy. ``day`` is the day of the event.
"""

MEMBERS = Table(
    "members",
    columns(
        (
            (_TEXT, "event_id cluster_id group"),
            (_LONG, "generation"),
            (_TIME, "completed_at"),
            (_TEXT, "member_id client_id host"),
            (_INT, "partitions owned"),
            (_TEXTS, "topics"),
            (_DAY, "day"),
        ),
        (
            (_TEXT, "instance_id rack pod node workload image"),
            (_DOUBLE, "stop_seconds"),
            (_INT, "session_timeout_ms rebalance_timeout_ms"),
            (_TEXT, "process_id endpoint"),
            (_INT, "active_tasks standby_tasks warmup_tasks"),
            (MapType(_TEXT, _INT), "subtopologies"),
        ),
    ),
    keys=("event_id", "member_id"),
    partitioned_by=("day",),
)
"""One row for each member of a generation, with the number of ``partitions`` that it gets and that it ``owned``.

``owned`` is counted from the member's own subscription. ``subtopologies``: subtopology -> number of the member's active
tasks. This column, ``process_id``, ``endpoint`` and the numbers of tasks are null in groups of other types than
streams, and in events of earlier releases.
"""

GROUP_HOURS = Table(
    "group_hours",
    columns(
        (
            (_TEXT, "cluster_id group"),
            (_TIME, "hour"),
            (_LONG, "rebalances"),
            (MapType(_TEXT, _LONG), "by_trigger"),
            (_LONG, "noops followups aborted"),
            (_DOUBLE, "stalled_partition_seconds"),
            (_LONG, "moved moved_excess storms"),
            (_TEXTS, "flapping"),
            (_DAY, "day"),
        ),
        (
            (_DOUBLE, "stall_p50 stall_p95 stall_p99 stall_max partition_seconds availability skew_max"),
            (_TEXT, "slowest_client_id"),
            (_DOUBLE, "slowest_seconds"),
        ),
    ),
    keys=("cluster_id", "group", "hour"),
    partitioned_by=("day",),
)

BASELINES = Table(
    "baselines",
    columns(
        (
            (_TEXT, "cluster_id group"),
            (_INT, "hour_of_week"),
            (_TEXT, "scope"),
            (_LONG, "samples"),
            (_DOUBLE, "stall_p50"),
            (_TIME, "computed_at"),
        ),
        ((_DOUBLE, "stall_p95 stall_p99"),),
    ),
    keys=("cluster_id", "group", "hour_of_week"),
)
"""A group's normal stalls at an hour of the week; 0 is Monday, 00:00 to 01:00 UTC.

``scope``: whether the rebalances of that hour of the week, of that hour on all days, or of all hours are included
(`model.baseline.BaselineScope`). A percentile with too few ``samples`` is null.
"""

EXPECTATIONS = Table(
    "expectations",
    columns(
        ((_TEXT, "table expectation severity"), (_LONG, "checked failed"), (_TIME, "ran_at")), ((_TEXT, "example"),)
    ),
)
"""The results of each run's expectations: the number of rows ``checked`` and ``failed``."""

TABLES: Mapping[str, Table] = MappingProxyType(
    {
        table.name: table
        for table in (*globals().values(), *vars(change_schemas).values(), *vars(advice_schemas).values())
        if isinstance(table, Table)
    }
)
"""All tables above, in `change_schemas` and in `advice_schemas`, by name."""
