"""What `verify` reads of the pipeline's tables. Imported only where tables are to be read: Spark reads them."""

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
from rebalance_agent.cli.pipeline.pipeline_flags import ProgressLines, pairs
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.model.events import AbortedEvent, Event, GenerationEvent
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

__all__ = ["EventsOfTables", "told_by_tables"]

TIMES = {
    "timestamp_ms": "unix_millis(timestamp)",
    "completed_ms": "unix_millis(completed_at)",
    "started_ms": "unix_millis(started_at)",
    "hour_ms": "unix_millis(hour)",
}
"""Columns that a row of the ledger has in milliseconds."""

GENERATION = frozenset((GenerationEvent.KIND,))

_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EventsOfTables:
    """A ledger over ``events``, and one over ``generations``, of one cluster; records are still to be posted to both.

    ``reach_ms``: up to when `aggregate` had events the last time that it made ``generations``; None: nobody knows.
    """

    cluster_id: str
    events: Ledger
    generations: Ledger
    reach_ms: int | None


def told_by_tables(options: argparse.Namespace, cluster_id: str | None, shows: Callable[[str], bool]) -> EventsOfTables:
    """Read them; without a ``cluster_id`` they must be of one cluster alone.

    Raises:
        InvalidInputError: there are no events of that cluster.
        PipelineError: Spark or a table is not as it has to be.
    """
    settings = SessionSettings(more=pairs("--spark", options.spark))
    progress = ProgressLines("verify", every_s=0)
    with open_session(settings, "rebalance-agent verify") as spark:
        tables = DeltaTables(spark, options.tables)
        cluster = _cluster(tables, cluster_id, options.tables)

        def rows(name: str, *columns: str) -> Iterator[_Row]:
            progress.tell(f"table {name}")
            return (row for row in _rows(tables, name, cluster, columns) if shows(row["group"]))

        reach_ms = _reach_ms(tables, cluster)
        made_ms = -math.inf if reach_ms is None else reach_ms - options.grace_seconds * 1000
        events, generations = Ledger(cluster, shows, once=True), Ledger(cluster, shows, kinds=GENERATION, once=True)
        rosters, hours = TableRows(), GroupHourCheck()
        for row in rows("events", *EVENT_COLUMNS, "body"):
            event = _tell(events, "events", row, EVENT_COLUMNS) if row["kind"] in KINDS else None
            if isinstance(event, AbortedEvent):
                hours.abort(event, must=event.timestamp_ms <= made_ms)
        for row in rows("generations", *GENERATION_COLUMNS, "body"):
            event = _tell(generations, "generations", row, GENERATION_COLUMNS)
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


def _cluster(tables: DeltaTables, wanted: str | None, folder: str) -> str:
    found = sorted(row[0] for row in tables.read("events").select("cluster_id").distinct().collect() if row[0])
    if wanted is None and len(found) == 1:
        return str(found[0])
    if wanted in found:
        return str(wanted)
    there = f"those there are of {', '.join(found)}" if found else "there are none at all"
    wants = "of one cluster alone, or of a cluster that is asked" if wanted is None else f"of {wanted}"
    raise InvalidInputError("--tables", f"{folder} must have events {wants}; {there}")


def _rows(tables: DeltaTables, name: str, cluster_id: str, columns: tuple[str, ...]) -> Iterator[_Row]:
    frame = tables.read(name)
    mine = frame.where(frame["cluster_id"] == cluster_id)
    chosen = mine.selectExpr(*(f"{TIMES[each]} AS {each}" if each in TIMES else f"`{each}`" for each in columns))
    for row in chosen.toLocalIterator(prefetchPartitions=True):
        yield row.asDict(recursive=True)


def _tell(ledger: Ledger, table: str, row: _Row, columns: tuple[str, ...]) -> Event | None:
    """Tell the ledger the row's event; None where there is none in it."""
    place = RecordPosition(f"{table} where event_id = {row['event_id']!r}")
    number = row["generation"] or 0
    try:
        event = event_from_json(json_object(row["body"]))
    except InvalidInputError as error:
        ledger.report.differ(Difference(row["group"], number, f"its body is no event: {error}", (place,)))
        return None
    for what in contradictions(event, {name: row[name] for name in columns}):
        ledger.report.differ(Difference(row["group"], number, what, (place,)))
    ledger.add_event(event, place)
    return event


def _reach_ms(tables: DeltaTables, cluster_id: str) -> int | None:
    checked, events = tables.read("expectations"), tables.read("events")
    made = checked.where(checked["table"] == "generations").selectExpr("unix_micros(max(ran_at))").first()
    if made is None or made[0] is None:
        return None
    there = events.where(events["cluster_id"] == cluster_id).where(f"unix_micros(ingested_at) <= {int(made[0])}")
    newest = there.selectExpr("unix_millis(max(timestamp))").first()
    return None if newest is None or newest[0] is None else int(newest[0])
