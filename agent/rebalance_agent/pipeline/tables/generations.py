"""Computes table `generations` from events: one row for each generation or epoch, with the parts of events joined.

A row with ``closes_episode`` describes the whole episode, as its event does. The other generations of a cooperative or
reconciled episode have no stall and no follow-ups, and have only the moves of their own step. So the cost of episodes
is the sum over the closing rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import cast

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql.types import StringType

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.table_schema import DRIFT_DAYS, GROUP
from rebalance_agent.pipeline.tables.schemas import EVENTS, GENERATIONS
from rebalance_agent.pipeline.tables.whole_generations import require_whole

__all__ = ["EVENT_CHARACTERS_MAX", "generations", "joined_body"]

EVENT_CHARACTERS_MAX = 64 << 20
"""Maximum number of characters of JSON in all parts of an event together; enough for a quarter of a million members."""

_COPIED = tuple(
    field.name
    for field in fields(GenerationEvent)
    if field.name in GENERATIONS.schema.names and field.name not in EVENTS.schema.names
)
"""Fields of an event's JSON that are copied to columns of the same name."""

_EVENT = ", ".join(
    (
        *(f"{name} {GENERATIONS.schema[name].dataType.simpleString()}" for name in _COPIED),
        "phases STRUCT<started_ms: BIGINT, joined_ms: BIGINT, completed_ms: BIGINT>",
        "stall STRUCT<basis: STRING, seconds: DOUBLE, lower_seconds: DOUBLE, partition_seconds: DOUBLE>",
        "members ARRAY<STRUCT<member_id: STRING, client_id: STRING>>",
    )
)
"""SQL schema of the fields that are read from an event's JSON."""

_COMPLETE = " AND ".join(f"`{field.name}` IS NOT NULL" for field in GENERATIONS.schema if not field.nullable)
"""SQL: whether a row can be stored."""

_ROLLOUT = "started_ms BIGINT, first_generation BIGINT, last_generation BIGINT"

_ONE_EVENT = ("cluster_id", "group", "generation", "timestamp", "day", "revision", "parts")
"""Columns with the same value in all parts of an event."""


def generations(events: DataFrame) -> DataFrame:
    """Return the rows of table ``generations`` for rows of table ``events`` (each event once, in its highest revision).

    An event with missing parts is left out until the parts arrive. An event whose parts are too large together
    (`EVENT_CHARACTERS_MAX`, `joined_body`) and an event that cannot be a row are also left out. The expectations count
    the latter: `ingest` rejects such events, but earlier releases did not.
    """
    whole = _whole(events.where(F.col("kind") == GenerationEvent.KIND))
    parsed = whole.withColumn("event", F.from_json("body", _EVENT)).withColumns(
        {name: F.col("event")[name] for name in _COPIED}
    )
    rows = parsed.withColumns(_derived(F.col("event"))).where(F.expr(_COMPLETE))
    return _with_rollout(rows, events).select(*GENERATIONS.schema.names)


def joined_body(bodies: Sequence[str]) -> str | None:
    """Return the JSON of an event from the JSON of its parts, in order.

    Return None if the parts do not belong together, or if the joined event exceeds a limit of `event_from_json`.
    """
    parts = [json.loads(body) for body in bodies]
    members = [member for part in parts for member in part["members"]]
    whole = {**parts[0], "members": members, "part": 0, "parts": 1}
    if [part["part"] for part in parts] != list(range(len(parts))) or not _is_whole(whole):
        return None
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()


def _is_whole(data: Mapping[str, object]) -> bool:
    """Return whether the joined event can be read and is consistent."""
    try:
        require_whole(cast("GenerationEvent", event_from_json(data)))
    except InvalidInputError:
        return False
    return True


_join = F.udf(joined_body, StringType())


def _whole(events: DataFrame) -> DataFrame:
    """Return the events with their parts joined under the id of the first part."""
    columns = ("event_id", "source", "origin", "body")
    # Few groups are so large that their events are split; only the split events are shuffled.
    # Sizes are summed in a window, which can be larger than memory, before the bodies are collected in one row.
    whole = Window.partitionBy(*_ONE_EVENT)
    pieces = (
        events.where("parts > 1")
        .withColumns({"found": F.count("*").over(whole), "size": F.sum(F.length("body")).over(whole)})
        .where((F.col("found") == F.col("parts")) & (F.col("size") <= EVENT_CHARACTERS_MAX))
        .groupBy(*_ONE_EVENT)
        .agg(F.sort_array(F.collect_list(F.struct("part", *columns))).alias("pieces"))
    )
    first = F.col("pieces")[0]
    joined = pieces.select(
        *_ONE_EVENT[:-1],
        *(first[name].alias(name) for name in columns[:-1]),
        _join(F.transform("pieces", lambda piece: piece["body"])).alias("body"),
    )
    return events.where("parts = 1").select(*joined.columns).unionByName(joined)


def _derived(event: Column) -> dict[str, Column]:
    phases, stall, members = event["phases"], event["stall"], event["members"]
    classic = event["group_type"] == GroupType.CLASSIC.value
    join = _seconds(phases["started_ms"], phases["joined_ms"])
    sync = _seconds(phases["joined_ms"], phases["completed_ms"])
    slowest = F.filter(members, lambda member: member["member_id"] == event["slowest_member_id"])
    return {
        "completed_at": F.timestamp_millis(phases["completed_ms"]),
        "started_at": F.timestamp_millis(phases["started_ms"]),
        "join_seconds": F.when(classic, join),
        "sync_seconds": F.when(classic, sync),
        "reconcile_seconds": F.when(~classic, sync),
        "stall_seconds": stall["lower_seconds"],
        "stall_upper_seconds": stall["seconds"],
        "stall_basis": stall["basis"],
        "stalled_partition_seconds": stall["partition_seconds"],
        "member_count": F.size(members),
        "partition_count": F.aggregate(F.map_values(event["topics"]), F.lit(0), lambda total, count: total + count),
        "excess": F.when(event["needed"].isNotNull(), F.greatest(event["moved"] - event["needed"], F.lit(0))),
        "slowest_client_id": F.coalesce(event["slowest_client_id"], F.get(slowest, F.lit(0))["client_id"]),
    }


def _seconds(begin_ms: Column, end_ms: Column) -> Column:
    """Return the seconds between two timestamps; 0 if the clocks disagree, null if one is unknown."""
    return F.when(begin_ms.isNotNull() & end_ms.isNotNull(), F.greatest(end_ms - begin_ms, F.lit(0)) / 1000)


def _with_rollout(rows: DataFrame, events: DataFrame) -> DataFrame:
    """Add column ``rollout``: the event id of the generation's deploy, or the first id if two observers reported it."""
    rollouts = (
        events.where(F.col("kind") == RolloutEvent.KIND)
        .withColumn("rollout", F.from_json("body", _ROLLOUT))
        .groupBy(*GROUP)
        .agg(F.sort_array(F.collect_list(F.struct("rollout.*", "timestamp", "event_id"))).alias("rollouts"))
    )

    def holds(deploy: Column) -> Column:
        started = F.timestamp_millis(deploy["started_ms"])
        # If the two times of an event differ, its rows must still be found by day: see `increments.reach`.
        first, last = F.date_sub(F.to_date(started), DRIFT_DAYS), F.date_add(F.to_date(deploy["timestamp"]), DRIFT_DAYS)
        return (
            F.col("day").between(first, last)
            & F.col("generation").between(deploy["first_generation"], deploy["last_generation"])
            & (F.col("completed_at") >= started)
            & (F.col("completed_at") <= deploy["timestamp"])
        )

    matching = F.filter("rollouts", holds)
    return rows.join(rollouts, [*GROUP], "left").withColumn("rollout", F.get(matching, F.lit(0))["event_id"])
