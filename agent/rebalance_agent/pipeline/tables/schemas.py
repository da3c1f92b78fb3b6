"""Defines every table of the pipeline: its columns, its key and its Delta partitioning.

Column names follow the JSON of events. Times are timestamps in UTC, durations are seconds. Unknown values are null;
there are no substitutes such as 0 or -1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

__all__ = [
    "BASELINES",
    "DRIFT_DAYS",
    "EVENTS",
    "EVENTS_REJECTED",
    "EXPECTATIONS",
    "FIDELITY",
    "GENERATIONS",
    "GROUP",
    "GROUP_HOURS",
    "MEMBERS",
    "RECOMMENDATIONS",
    "TABLES",
    "WHATIF",
    "Table",
]

GROUP = ("cluster_id", "group")
"""Columns that identify a group."""

DRIFT_DAYS = 1
"""Maximum days between the timestamps of an event's revisions: a rollout can end four hours after its first report."""

_TEXT, _INT, _LONG, _DOUBLE, _FLAG = StringType(), IntegerType(), LongType(), DoubleType(), BooleanType()
_TIME, _DAY, _BYTES, _TEXTS = TimestampType(), DateType(), BinaryType(), ArrayType(StringType())


@dataclass(frozen=True)
class Table:
    """A Delta table. ``keys``: the columns that identify a row; empty if rows are only appended.

    ``rank``: SQL expressions. Of two rows with the same key, a merge keeps the one of higher rank, and of equal ones
    the first; without a rank, the one written last. ``divided_by``: Delta's partition columns. A row and its
    replacement are at most `DRIFT_DAYS` apart in ``day``, so a merge reads only the folders of those days.
    """

    name: str
    schema: StructType
    keys: tuple[str, ...] = ()
    rank: tuple[str, ...] = ()
    divided_by: tuple[str, ...] = ()


def _columns(known: Mapping[str, DataType], perhaps: Mapping[str, DataType] | None = None) -> StructType:
    """Return a schema with the ``known`` columns (NOT NULL) first, then the nullable ones (``perhaps``)."""
    fields = [StructField(name, kind, nullable=False) for name, kind in known.items()]
    return StructType(fields + [StructField(name, kind, nullable=True) for name, kind in (perhaps or {}).items()])


_GROUP: Mapping[str, DataType] = {"cluster_id": _TEXT, "group": _TEXT}

EVENTS = Table(
    "events",
    _columns(
        {
            "event_id": _TEXT,
            "kind": _TEXT,
            **_GROUP,
            "schema_version": _INT,
            "revision": _INT,
            "part": _INT,
            "parts": _INT,
            "timestamp": _TIME,
            "body": _TEXT,
            "origin": _TEXT,
            "ingested_at": _TIME,
            "day": _DAY,
        },
        {"generation": _LONG, "source": _TEXT, "topic": _TEXT, "partition": _INT, "offset": _LONG},
    ),
    keys=("event_id",),
    rank=("origin <> 'backfill'", "revision"),  # the log holds less than what an observer saw live
    divided_by=("day",),
)
"""Every event once: ``body`` is its JSON as published, ``origin`` is ``ingest``, ``files`` or ``backfill``.

``topic``, ``partition`` and ``offset`` say where it was read; they are null for files. ``day`` is that of
``timestamp``.
"""

EVENTS_REJECTED = Table(
    "events_rejected",
    _columns(
        {"rejected_id": _TEXT, "reason": _TEXT, "ingested_at": _TIME},
        {"key": _BYTES, "value": _BYTES, "topic": _TEXT, "partition": _INT, "offset": _LONG, "file": _TEXT},
    ),
    keys=("rejected_id",),
    rank=("0",),
)
"""Records that this release cannot read as events: the raw bytes and the reason.

``rejected_id`` is a digest of location and value. A value that is too long is cut to its beginning, as the reason says.
"""

GENERATIONS = Table(
    "generations",
    _columns(
        {
            "event_id": _TEXT,
            **_GROUP,
            "group_type": _TEXT,
            "generation": _LONG,
            "episode_generation": _LONG,
            "closes_episode": _FLAG,
            "followups": _INT,
            "epoch_kind": _TEXT,
            "completed_at": _TIME,
            "protocol": _TEXT,
            "source": _TEXT,
            "origin": _TEXT,
            "revision": _INT,
            "trigger": _TEXT,
            "causes": _TEXTS,
            "member_count": _INT,
            "partition_count": _INT,
            "moved": _INT,
            "revoked": _INT,
            "assigned": _INT,
            "lost": _INT,
            "unassigned": _INT,
            "noop": _FLAG,
            "topics": MapType(_TEXT, _INT),
            "body": _TEXT,
        },
        {
            "previous_generation": _LONG,
            "started_at": _TIME,
            "assignor": _TEXT,
            "join_seconds": _DOUBLE,
            "sync_seconds": _DOUBLE,
            "reconcile_seconds": _DOUBLE,
            "stall_seconds": _DOUBLE,
            "stall_basis": _TEXT,
            "stalled_partition_seconds": _DOUBLE,
            "needed": _INT,
            "excess": _INT,
            "skew_ratio": _DOUBLE,
            "imbalance": _INT,
            "slowest_member_id": _TEXT,
            "slowest_client_id": _TEXT,
            "slowest_seconds": _DOUBLE,
            "flapping": _TEXTS,
            "rollout": _TEXT,
        },
    ),
    keys=("event_id",),
)
"""One row for each generation or epoch, with the parts of its event joined; ``event_id`` is that of the first part.

``body`` is the JSON of the whole event, which `model.event_json` reads. ``rollout`` is the event id of its deploy.
"""

MEMBERS = Table(
    "members",
    _columns(
        {
            "event_id": _TEXT,
            **_GROUP,
            "generation": _LONG,
            "completed_at": _TIME,
            "member_id": _TEXT,
            "client_id": _TEXT,
            "host": _TEXT,
            "partitions": _INT,
            "owned": _INT,
            "topics": _TEXTS,
        },
        {
            "instance_id": _TEXT,
            "rack": _TEXT,
            "pod": _TEXT,
            "node": _TEXT,
            "workload": _TEXT,
            "image": _TEXT,
            "stop_seconds": _DOUBLE,
            "session_timeout_ms": _INT,
            "rebalance_timeout_ms": _INT,
        },
    ),
    keys=("event_id", "member_id"),
)
"""One row for each member of a generation, with the number of ``partitions`` assigned to it and ``owned`` before.

``owned`` is counted from the member's own subscription.
"""

GROUP_HOURS = Table(
    "group_hours",
    _columns(
        {
            **_GROUP,
            "hour": _TIME,
            "rebalances": _LONG,
            "by_trigger": MapType(_TEXT, _LONG),
            "noops": _LONG,
            "followups": _LONG,
            "aborted": _LONG,
            "stalled_partition_seconds": _DOUBLE,
            "moved": _LONG,
            "moved_excess": _LONG,
            "storms": _LONG,
            "flapping": _TEXTS,
        },
        {
            "stall_p50": _DOUBLE,
            "stall_p95": _DOUBLE,
            "stall_p99": _DOUBLE,
            "stall_max": _DOUBLE,
            "partition_seconds": _DOUBLE,
            "availability": _DOUBLE,
            "skew_max": _DOUBLE,
            "slowest_client_id": _TEXT,
            "slowest_seconds": _DOUBLE,
        },
    ),
    keys=("cluster_id", "group", "hour"),
)

BASELINES = Table(
    "baselines",
    _columns(
        {
            **_GROUP,
            "hour_of_week": _INT,
            "scope": _TEXT,
            "samples": _LONG,
            "stall_p50": _DOUBLE,
            "computed_at": _TIME,
        },
        {"stall_p95": _DOUBLE, "stall_p99": _DOUBLE},
    ),
    keys=("cluster_id", "group", "hour_of_week"),
)
"""A group's normal stalls at an hour of the week; 0 is Monday, 00:00 to 01:00 UTC.

``scope`` says which rebalances are included: those of that hour of the week, of that hour on all days, or of all hours
(`model.baseline.BaselineScope`). A percentile with too few ``samples`` is null.
"""

WHATIF = Table(
    "whatif",
    _columns(
        {**_GROUP, "strategy": _TEXT, "protocol": _TEXT, "generations": _LONG},
        {
            "refused": _TEXT,
            "moved": _LONG,
            "needed": _LONG,
            "excess": _LONG,
            "skew_mean": _DOUBLE,
            "skew_max": _DOUBLE,
            "imbalance_mean": _DOUBLE,
            "stalled_partition_seconds": _DOUBLE,
            "recorded_assignor": _TEXT,
            "recorded_protocol": _TEXT,
            "recorded_moved": _LONG,
            "recorded_excess": _LONG,
            "recorded_skew_mean": _DOUBLE,
            "recorded_skew_max": _DOUBLE,
            "recorded_imbalance_mean": _DOUBLE,
            "recorded_stalled_partition_seconds": _DOUBLE,
            "modelled_stalled_partition_seconds": _DOUBLE,
        },
    ),
    keys=("cluster_id", "group", "strategy"),
)
"""A group's history replayed with a strategy, and the recorded figures. ``refused``: why it could not be replayed.

A model predicts the stalls of strategies. ``modelled_stalled_partition_seconds`` is its prediction for the recorded
history; the difference to the recorded value shows how accurate the model is.
"""

FIDELITY = Table(
    "fidelity",
    _columns(
        {
            **_GROUP,
            "assignor": _TEXT,
            "implementation": _TEXT,
            "checked": _LONG,
            "same_moves": _LONG,
            "same_skew": _LONG,
            "same_assignment": _LONG,
            "not_comparable": _LONG,
            "agreeing": _LONG,
        },
        {"reason": _TEXT, "difference": _TEXT},
    ),
    keys=("cluster_id", "group", "assignor", "implementation"),
)
"""How many recorded assignments a replay, one step at a time, reproduces; ``difference``: the first that it does not.

Of those that are ``not_comparable`` (see ``reason``), ``agreeing`` are the same nevertheless.
"""

RECOMMENDATIONS = Table(
    "recommendations",
    _columns(
        {**_GROUP, "static_membership": _FLAG, "sentence": _TEXT},
        {"strategy": _TEXT, "protocol": _TEXT, "saved_partition_seconds": _DOUBLE, "saved_moves": _LONG},
    ),
    keys=("cluster_id", "group"),
)

EXPECTATIONS = Table(
    "expectations",
    _columns(
        {"table": _TEXT, "expectation": _TEXT, "severity": _TEXT, "checked": _LONG, "failed": _LONG, "ran_at": _TIME},
        {"example": _TEXT},
    ),
)
"""The results of each run's expectations: the number of rows ``checked`` and ``failed``."""

TABLES: Mapping[str, Table] = MappingProxyType(
    {
        table.name: table
        for table in (
            EVENTS,
            EVENTS_REJECTED,
            GENERATIONS,
            MEMBERS,
            GROUP_HOURS,
            BASELINES,
            WHATIF,
            FIDELITY,
            RECOMMENDATIONS,
            EXPECTATIONS,
        )
    }
)
"""All tables by name."""
