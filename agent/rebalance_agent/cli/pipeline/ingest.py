"""``rebalance-agent pipeline ingest``: adds published events to the table `events`, each exactly once."""

from __future__ import annotations

import argparse
import sys
import threading

from rebalance_agent.cli.command_parser import number, whole_number
from rebalance_agent.cli.inputs.cluster_settings import cluster_settings
from rebalance_agent.cli.inputs.pipeline_flags import (
    ProgressLines,
    add_kafka_flags,
    add_tables_flags,
    open_tables,
    require_events,
    stage_parser,
)
from rebalance_agent.cli.output_flag import summary_text
from rebalance_agent.clock import SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.pipeline.ingest.event_times import TOPIC_AGE_DAYS, ReadAt
from rebalance_agent.pipeline.ingest.ingest_events import (
    Ingested,
    checkpoint_of,
    count_rows,
    decoded,
    events_of_files,
    events_of_topic,
    ingest_batch,
    retry_rejected,
    stored_events,
)
from rebalance_agent.pipeline.ingest.streaming import StreamSettings, ingest_stream
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.runtime.processes.signals import stop_on_signals

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Reads the topic rebalance-events, or files of events, into the table `events`: each event once, even if it was published
or read several times. A revision with better evidence replaces the stored event. Records that this release cannot read
are written to `events_rejected` with the reason and their bytes; records that an older release rejected as too new are
read again.

A run continues where the last one ended (the checkpoint). Without --every, it reads the present records and exits, so
it can be a cron job.
"""

EXAMPLES = """\
examples:
  rebalance-agent pipeline ingest --bootstrap-servers localhost:9092 --tables tables
  rebalance-agent pipeline ingest --config observer.yaml --tables s3a://bucket/rebalances --every 60
  rebalance-agent pipeline ingest --events folder-of-ndjson --tables tables

The output ends with the result: events, rejected, seconds.

exit codes: 0 done or stopped by a signal, 1 failed, 2 wrong usage or input
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the stage and its flags."""
    parser = stage_parser(subparsers, "ingest", DESCRIPTION, EXAMPLES)
    add_tables_flags(parser)
    parser.add_argument(
        "--events",
        metavar="DIR",
        help="read the event files in DIR (*.ndjson, *.jsonl, rotated, or compressed with gzip) instead of Kafka",
    )
    parser.add_argument(
        "--topic", metavar="TOPIC", help="topic to read (default: the setting events_topic, rebalance-events)"
    )
    parser.add_argument(
        "--every",
        type=number(0, 86_400, "a number of seconds, at most 86400"),
        metavar="SECONDS",
        help="keep running, with a batch at this interval",
    )
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="folder of the checkpoint (default: TABLES/_checkpoints/ingest-CLUSTER-TOPIC)",
    )
    parser.add_argument(
        "--records",
        type=whole_number(1, 10_000_000),
        default=100_000,
        metavar="N",
        help="maximum number of records in a batch (default 100000)",
    )
    parser.add_argument(
        "--allow-loss",
        action="store_true",
        help="continue if records were deleted from the topic before they were read",
    )
    parser.add_argument(
        "--max-age-days",
        type=whole_number(1, 36_500),
        metavar="N",
        help=f"reject events that are older than N days (default: {TOPIC_AGE_DAYS} for a topic, no limit for files)",
    )
    add_kafka_flags(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Ingest, and return the exit code."""
    progress = ProgressLines("ingest")
    kafka = None if options.events else cluster_settings(options)
    if options.events:
        require_events(options.events)
    properties = kafka[1] if kafka else None
    with open_tables(options, "ingest", None if kafka else progress, properties) as tables:
        if kafka is None:
            done = _files(tables, options)
        else:
            settings, properties = kafka
            done = _topic(tables, options, options.topic or settings.events_topic, properties, progress)
    summary = {"events": done.events, "rejected": done.rejected, "seconds": round(progress.seconds, 3)}
    print(summary_text(summary, options.output))
    return 0


def _files(tables: DeltaTables, options: argparse.Namespace) -> Ingested:
    records = events_of_files(tables.spark, options.events)
    clock, age = SystemClock(), options.max_age_days
    if options.dry_run:
        return count_rows(decoded(records, ReadAt(clock.now_ms(), age)))
    retry_rejected(tables, clock, age)
    return ingest_batch(tables, records, "files", clock, age)


def _topic(
    tables: DeltaTables, options: argparse.Namespace, topic: str, properties: dict[str, str], progress: ProgressLines
) -> Ingested:
    if not topic:
        raise InvalidInputError("--topic", "is missing: the setting events_topic is empty")
    clock, age = SystemClock(), options.max_age_days or TOPIC_AGE_DAYS
    if options.dry_run:
        return count_rows(decoded(stored_events(tables.spark, properties, topic), ReadAt(clock.now_ms(), age)))
    stop = threading.Event()
    retry_rejected(tables, clock, age)
    records = events_of_topic(
        tables.spark, properties, topic, records_max=options.records, lossless=not options.allow_loss
    )
    checkpoint = options.checkpoint or checkpoint_of(tables, properties, topic)
    # Spark installs its own signal handler when it starts; it has started by now, so this handler replaces Spark's.
    with stop_on_signals(stop, _stopping):
        return ingest_stream(
            tables,
            records,
            StreamSettings(checkpoint, options.every, age),
            clock,
            stop,
            lambda done: progress.print_line(f"{done.events:,} events, {done.rejected:,} rejected"),
        )


def _stopping() -> None:
    print("stopping after this batch; a second signal stops at once", file=sys.stderr, flush=True)
