"""Reads the tables of `verify` with Spark. It is imported only for --tables, so `verify` needs no Spark otherwise."""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rebalance_agent.audit.audit_report import Difference
from rebalance_agent.audit.audited_group import RecordPosition
from rebalance_agent.audit.group_hour_check import HOUR_COLUMNS, GroupHourCheck
from rebalance_agent.audit.ledger import Ledger
from rebalance_agent.audit.published_events import KINDS
from rebalance_agent.audit.table_rows import (
    EVENT_COLUMNS,
    GENERATION_COLUMNS,
    MEMBER_COLUMNS,
    TableRows,
    contradictions,
)
from rebalance_agent.cli.inputs.pipeline_flags import ProgressLines, pairs
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.model.events import AbortedEvent, Event, GenerationEvent
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

__all__ = ["EventsOfTables", "events_of_tables"]

TIMES = {
    "timestamp_ms": "unix_millis(timestamp)",
    "completed_ms": "unix_millis(completed_at)",
    "started_ms": "unix_millis(started_at)",
    "hour_ms": "unix_millis(hour)",
}
"""Column of an audited row -> its SQL expression: epoch milliseconds of a table's timestamp."""

GENERATION = frozenset((GenerationEvent.KIND,))

_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EventsOfTables:
    """Ledgers of the tables ``events`` and ``generations`` of one cluster, to which the records must still be added.

    ``reach_ms``: time of the newest event (epoch ms) when `aggregate` last wrote ``generations``; None if unknown.
    """

    cluster_id: str
    events: Ledger
    generations: Ledger
    reach_ms: int | None


def events_of_tables(
    options: argparse.Namespace, cluster_id: str | None, shows: Callable[[str], bool]
) -> EventsOfTables:
    """Read the tables. Without a ``cluster_id``, the tables must have events of one cluster only.

    Raises:
        InvalidInputError: the tables have no events of that cluster.
        PipelineError: Spark or a table cannot be used.
    """
    settings = SessionSettings(more=pairs("--spark", options.spark))
    progress = ProgressLines("verify", every_s=0)
    with open_session(settings, "rebalance-agent verify") as spark:
        tables = DeltaTables(spark, options.tables)
        cluster = _cluster(tables, cluster_id, options.tables)

        def rows(name: str, *columns: str) -> Iterator[_Row]:
            progress.print_line(f"table {name}")
            return (row for row in _rows(tables, name, cluster, columns) if shows(row["group"]))

        reach_ms = _reach_ms(tables, cluster)
        made_ms = -math.inf if reach_ms is None else reach_ms - options.grace_seconds * 1000
        events, generations = Ledger(cluster, shows, once=True), Ledger(cluster, shows, kinds=GENERATION, once=True)
        rosters, hours = TableRows(), GroupHourCheck()
        for row in rows("events", *EVENT_COLUMNS, "body"):
            event = _add_event(events, "events", row, EVENT_COLUMNS) if row["kind"] in KINDS else None
            if isinstance(event, AbortedEvent):
                hours.abort(event, must=event.timestamp_ms <= made_ms)
        for row in rows("generations", *GENERATION_COLUMNS, "body"):
            event = _add_event(generations, "generations", row, GENERATION_COLUMNS)
            if isinstance(event, GenerationEvent):
                rosters.add_event(event)
                hours.add(event)
        for row in rows("members", "event_id", "group", "generation", *MEMBER_COLUMNS):
            rosters.add_row(row["event_id"], row["group"], row["generation"], row)
        of_hours = hours.differences(
            rows("group_hours", "group", "hour_ms", *HOUR_COLUMNS), events.published.first_ms or 0
        )
        for difference in itertools.chain(rosters.differences(), of_hours):
            generations.report.differ(difference)
        generations.report.hours = hours.agreed
        return EventsOfTables(cluster, events, generations, reach_ms)


def _cluster(tables: DeltaTables, cluster_id: str | None, folder: str) -> str:
    present = sorted(row[0] for row in tables.read("events").select("cluster_id").distinct().collect() if row[0])
    if cluster_id is None and len(present) == 1:
        return str(present[0])
    if cluster_id in present:
        return str(cluster_id)
    actual = f"the table has events of {', '.join(present)}" if present else "the table has no events"
    required = (
        "of only one cluster, or of the cluster of --bootstrap-servers" if cluster_id is None else f"of {cluster_id}"
    )
    raise InvalidInputError("--tables", f"{folder} must have events {required}; {actual}")


def _rows(tables: DeltaTables, name: str, cluster_id: str, columns: tuple[str, ...]) -> Iterator[_Row]:
    frame = tables.read(name)
    of_cluster = frame.where(frame["cluster_id"] == cluster_id)
    chosen = of_cluster.selectExpr(*(f"{TIMES[name]} AS {name}" if name in TIMES else f"`{name}`" for name in columns))
    for row in chosen.toLocalIterator(prefetchPartitions=True):
        yield row.asDict(recursive=True)


def _add_event(ledger: Ledger, table: str, row: _Row, columns: tuple[str, ...]) -> Event | None:
    """Add the row's event to the ledger and return it; None if the row has no valid event."""
    position = RecordPosition(f"{table} where event_id = {row['event_id']!r}")
    number = row["generation"] or 0
    try:
        event = event_from_json(json_object(row["body"]))
    except InvalidInputError as error:
        ledger.report.differ(Difference(row["group"], number, f"its body is not an event: {error}", (position,)))
        return None
    for what in contradictions(event, {name: row[name] for name in columns}):
        ledger.report.differ(Difference(row["group"], number, what, (position,)))
    ledger.add_event(event, position)
    return event


def _reach_ms(tables: DeltaTables, cluster_id: str) -> int | None:
    checked, events = tables.read("expectations"), tables.read("events")
    made = checked.where(checked["table"] == "generations").selectExpr("unix_micros(max(ran_at))").first()
    if made is None or made[0] is None:
        return None
    there = events.where(events["cluster_id"] == cluster_id).where(f"unix_micros(ingested_at) <= {int(made[0])}")
    newest = there.selectExpr("unix_millis(max(timestamp))").first()
    return None if newest is None or newest[0] is None else int(newest[0])
