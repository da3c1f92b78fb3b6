"""``rebalance-agent pipeline backfill``: adds events from before the agent started, from __consumer_offsets."""

from __future__ import annotations

import argparse
import datetime as dt
from collections.abc import Sequence
from pathlib import Path

from rebalance_agent.cli.inputs.cluster_settings import cluster_settings
from rebalance_agent.cli.inputs.json_fields import as_name, as_number, as_object, parse_json, shown
from rebalance_agent.cli.inputs.pipeline_flags import (
    ProgressLines,
    add_kafka_flags,
    add_tables_flags,
    open_tables,
    stage_parser,
)
from rebalance_agent.cli.output_flag import summary_text
from rebalance_agent.clock import SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.partitions import PARTITION_MAX
from rebalance_agent.pipeline.ingest.backfill import (
    Gaps,
    PartitionRange,
    keep,
    ranges,
    records_of_files,
    records_of_topic,
    replayed,
    topic_now,
)
from rebalance_agent.pipeline.ingest.log_rows import GroupPatterns
from rebalance_agent.runtime.settings.roles import HIDDEN_GROUPS
from rebalance_agent.tracking.log_replay import LogFacts
from rebalance_agent.ui.words import printable

__all__ = ["add_parser", "facts_in", "print_gaps", "print_ranges", "run"]

DESCRIPTION = """\
Reads the remaining records of __consumer_offsets, decodes them as the observer does, and adds events to the table
`events` for the generations that compaction has not removed. The events have the same ids as an observer's events. The
command never replaces an observer's event: only an observer can record when a rebalance began and what members
reported.

--records reads files instead: Parquet, or JSON lines in the format of `rebalance-agent decode`, with key, value,
timestamp, and partition and offset if known. --cluster-id must then be the cluster id of the observer's events.
--topics is a JSON file {"topics": {name: partitions}, "ids": {name: topic id}}; without --topics, partition counts come
from assignments.
"""

EXAMPLES = """\
examples:
  rebalance-agent pipeline backfill --bootstrap-servers localhost:9092 --tables tables
  rebalance-agent pipeline backfill --records dump --cluster-id bwHjK5GfTQijoU_nyFb1ug --tables tables

It prints the range that it read and where generations are missing. The output ends with the result: records, events,
rejected, missing_generations, seconds.

exit codes: 0 done, 1 failed, 2 wrong usage or input
"""

PRINTED_MAX = 10
"""Maximum number of partitions, and of groups, that get a line each; one line summarises the rest."""

_FACTS_BYTES_MAX = 64 << 20
"""Maximum number of bytes of the --topics file, which has about a hundred bytes for each topic of a cluster."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the stage and its flags."""
    parser = stage_parser(subparsers, "backfill", DESCRIPTION, EXAMPLES)
    add_tables_flags(parser)
    parser.add_argument("--records", metavar="DIR", help="files of records instead of the topic")
    parser.add_argument("--cluster-id", default="", metavar="ID", help="id of the cluster of these records")
    parser.add_argument("--topics", metavar="FILE", help="JSON file with the topics of that cluster")
    parser.add_argument(
        "--groups-allow", default=".*", metavar="PATTERN", help="groups to read; must match the whole name"
    )
    parser.add_argument(
        "--groups-deny", default=HIDDEN_GROUPS, metavar="PATTERN", help="groups to omit; must match the whole name"
    )
    add_kafka_flags(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Backfill, and return the exit code."""
    progress = ProgressLines("backfill", every_s=0)
    properties = None if options.records else cluster_settings(options)[1]
    facts = _facts_of(options) if options.records else LogFacts("")
    with open_tables(options, "backfill", progress, properties) as tables:
        if properties is None:
            records = records_of_files(tables.spark, options.records)
        else:
            now = topic_now(properties)
            facts, records = now.facts, records_of_topic(tables.spark, properties, now)
        partitions = ranges(records)
        print_ranges(partitions, progress)
        rows = replayed(records, facts, GroupPatterns(options.groups_allow, options.groups_deny))
        kept, missing = keep(tables, rows, SystemClock(), write=not options.dry_run)
        print_gaps(missing, progress)
    summary = {
        "records": sum(partition.records for partition in partitions),
        "events": kept.events,
        "rejected": kept.rejected,
        "missing_generations": sum(gap.missing for gap in missing),
        "seconds": round(progress.seconds, 3),
    }
    print(summary_text(summary, options.output))
    return 0


def print_ranges(partitions: Sequence[PartitionRange], progress: ProgressLines) -> None:
    """Print the range of offsets and times that was read from each partition."""
    for extent in partitions[:PRINTED_MAX]:
        offsets = "" if extent.first_offset is None else f"offsets {extent.first_offset} to {extent.last_offset}, "
        progress.print_line(
            f"partition {extent.partition}: {extent.records:,} records, {offsets}"
            f"{_time(extent.first_ms)} to {_time(extent.last_ms)}"
        )
    if len(partitions) > PRINTED_MAX:
        rest = sum(partition.records for partition in partitions[PRINTED_MAX:])
        progress.print_line(f"and {len(partitions) - PRINTED_MAX} more partitions with {rest:,} records")


def print_gaps(missing: Sequence[Gaps], progress: ProgressLines) -> None:
    """Print the groups with missing generations."""
    for gap in missing[:PRINTED_MAX]:
        progress.print_line(
            f"group {printable(gap.group)}: {gap.missing:,} generations are missing "
            f"between the {gap.present:,} that are present"
        )
    if len(missing) > PRINTED_MAX:
        progress.print_line(f"and {len(missing) - PRINTED_MAX} more groups with gaps")


def _time(epoch_ms: int) -> str:
    try:
        moment = dt.datetime.fromtimestamp(epoch_ms / 1000, dt.UTC)
    except (ValueError, OverflowError, OSError):
        return f"{epoch_ms} ms"  # outside the range of the calendar
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _facts_of(options: argparse.Namespace) -> LogFacts:
    if not options.topics:
        return LogFacts(options.cluster_id)
    path = Path(options.topics)
    try:
        with path.open("rb") as file:
            text = file.read(_FACTS_BYTES_MAX + 1)
    except OSError as error:
        raise InvalidInputError("--topics", f"cannot read {path}: {error.strerror}") from None
    if len(text) > _FACTS_BYTES_MAX:
        raise InvalidInputError("--topics", f"{path} is larger than {_FACTS_BYTES_MAX} bytes")
    try:
        return facts_in(text, options.cluster_id)
    except InvalidInputError as error:
        form = '{"topics": {name: partitions}, "ids": {name: topic id}}'
        raise InvalidInputError("--topics", f"{path} must be {form}: {error}") from None


def facts_in(text: bytes, cluster_id: str) -> LogFacts:
    """Return the facts in the text of the ``--topics`` file.

    Raises:
        InvalidInputError: the text does not have the form of this file.
    """
    fields = as_object("file", parse_json(text), required=("topics",))
    counts, ids = as_object("topics", fields["topics"]), as_object("ids", fields.get("ids", {}))
    return LogFacts(
        cluster_id,
        {name: as_number(f"topics.{shown(name)}", count, 0, PARTITION_MAX) for name, count in counts.items()},
        {name: as_name(f"ids.{shown(name)}", identity) for name, identity in ids.items()},
    )
