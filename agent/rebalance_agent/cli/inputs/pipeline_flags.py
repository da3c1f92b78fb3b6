"""Defines flags for tables, Spark and Kafka, and prints progress on stderr; all stages of the pipeline use it."""

from __future__ import annotations

import argparse
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from rebalance_agent.cli.command_parser import whole_number
from rebalance_agent.cli.inputs.cluster_flags import add_cluster_flags
from rebalance_agent.cli.output_flag import add_output_flag
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.pipeline.spark.kafka_options import source_options
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session, submitted
from rebalance_agent.pipeline.spark.task_progress import report_tasks
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

__all__ = [
    "ProgressLines",
    "add_kafka_flags",
    "add_tables_flags",
    "open_tables",
    "pairs",
    "require_events",
    "stage_parser",
]


PARTITIONS_MAX = 10_000
"""Maximum number of partitions of a shuffle. Each task writes a block for each partition, so the cost grows
quadratically."""


def stage_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], name: str, description: str, epilog: str
) -> argparse.ArgumentParser:
    """Add the parser of a stage; ``description`` and ``epilog`` keep their line breaks."""
    return subparsers.add_parser(
        name,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_tables_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tables and of Spark."""
    parser.add_argument(
        "--tables", required=True, metavar="DIR", help="folder of the tables, or an address such as s3a://bucket/folder"
    )
    parser.add_argument("--dry-run", action="store_true", help="count what would be read and written, without writing")
    add_output_flag(parser, "table", csv_rows="run", default="json")
    spark = parser.add_argument_group("Spark (under spark-submit, only --spark applies)")
    spark.add_argument(
        "--master", metavar="URL", help="Spark's master (default: local[*], all processors of this machine)"
    )
    spark.add_argument(
        "--driver-memory", type=_size, default="2g", metavar="SIZE", help="memory of a local Spark (default 2g)"
    )
    spark.add_argument(
        "--partitions",
        type=whole_number(1, PARTITIONS_MAX),
        metavar="N",
        help="partitions of shuffles (default: one per processor)",
    )
    spark.add_argument("--spark", action="append", metavar="KEY=VALUE", help="Spark property; repeatable")
    spark.add_argument("--ui", action="store_true", help="serve Spark's own web page while the stage runs")


def _size(text: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,6}[mMgG]", text):
        raise argparse.ArgumentTypeError("must be a size such as 512m or 4g")
    return text


def add_kafka_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of a Kafka cluster, as for `observe`."""
    add_cluster_flags(parser, "Kafka (flags, environment variables and file as for `observe`)")


def pairs(flag: str, entries: list[str] | None) -> dict[str, str]:
    """Return the ``KEY=VALUE`` entries of a repeatable flag as a dict.

    Raises:
        InvalidInputError: an entry has no ``=`` or no key.
    """
    properties = {}
    for entry in entries or ():
        key, equals, value = entry.partition("=")
        if not (equals and key):
            raise InvalidInputError(flag, f"must be KEY=VALUE, not {entry!r}")
        properties[key] = value
    return properties


@contextmanager
def open_tables(
    options: argparse.Namespace,
    stage: str,
    progress: ProgressLines | None = None,
    kafka: Mapping[str, str] | None = None,
) -> Iterator[DeltaTables]:
    """Open the tables that the flags name, in a Spark session for the block; ``progress`` prints Spark's tasks.

    ``kafka``: client properties of the cluster that the stage reads or writes.

    Raises:
        InvalidInputError: Spark's Java client cannot use these properties.
    """
    if kafka:
        source_options(kafka)  # before Spark's jars are downloaded and Java starts
    more: Mapping[str, str] = pairs("--spark", options.spark)
    settings = SessionSettings(options.master, options.driver_memory, options.partitions, options.ui, more, kafka or {})
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # ignores broken pipes to a stopped Spark
    with (
        open_session(settings, f"rebalance-agent {stage}") as spark,
        report_tasks(spark, progress.print_line) if progress else nullcontext(),
    ):
        yield DeltaTables(spark, options.tables)


def require_events(folder: str) -> None:
    """Refuse a local folder of events that does not exist, before Spark's jars are downloaded and Java starts.

    Under ``spark-submit``, a path without a scheme may be on another file system. Spark also accepts patterns.

    Raises:
        InvalidInputError: the folder does not exist.
    """
    if not (re.search(r":/|[*?\[{]", folder) or submitted() or Path(folder).exists()):
        raise InvalidInputError("--events", f"there is no {folder}")


class ProgressLines:
    """Prints progress on stderr, at most one line per ``every_s`` seconds."""

    def __init__(self, stage: str, every_s: float = 2.0, clock: Clock | None = None) -> None:
        """Start the clock. ``stage``: the name with which each line begins."""
        self._stage, self._every_s, self._clock = stage, every_s, clock or SystemClock()
        self._begun = self._clock.monotonic()
        self._last = float("-inf")

    @property
    def seconds(self) -> float:
        """Seconds since this object was created."""
        return self._clock.monotonic() - self._begun

    def print_line(self, text: str, *, always: bool = False) -> None:
        """Print ``text`` if ``always`` is True or the last line was printed at least ``every_s`` ago."""
        now = self._clock.monotonic()
        if always or now - self._last >= self._every_s:
            self._last = now
            print(f"{self._stage}: {text}", file=sys.stderr, flush=True)
