"""``rebalance-agent pipeline maintain``: merges small files of the tables, and removes old versions and rows."""

from __future__ import annotations

import argparse
import datetime as dt

from rebalance_agent.cli.command_parser import whole_number
from rebalance_agent.cli.inputs.pipeline_flags import ProgressLines, add_tables_flags, open_tables, stage_parser
from rebalance_agent.cli.output_flag import summary_text
from rebalance_agent.clock import SystemClock
from rebalance_agent.pipeline.increments.processed import remove_old_files
from rebalance_agent.pipeline.table_schema import DRIFT_DAYS
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.schemas import TABLES

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Merges the small files of frequent batches, and removes files of table versions older than a week. With --keep-days, it
also deletes older rows of `events`, and rows of days after tomorrow, which an earlier release accepted. The next
`aggregate` then removes the rows that were computed from the deleted events. Without --keep-days, no row is deleted.
"""

EXAMPLES = """\
examples:
  rebalance-agent pipeline maintain --tables tables
  rebalance-agent pipeline maintain --tables s3a://bucket/rebalances --keep-days 400

The output ends with the result: files before and after, rows deleted.

exit codes: 0 done, 1 failed, 2 wrong usage or input
"""

DATED = {"events": "day", "events_rejected": "ingested_at", "expectations": "ran_at"}
"""Table -> the column with the time of a row. All other tables are computed from these tables."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the stage and its flags."""
    parser = stage_parser(subparsers, "maintain", DESCRIPTION, EXAMPLES)
    add_tables_flags(parser)
    parser.add_argument(
        "--keep-days",
        type=whole_number(1, 36_500),
        metavar="N",
        help="delete older rows, and rows of future days (default: keep all)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Maintain the tables, and return the exit code."""
    progress = ProgressLines("maintain", every_s=0)
    with open_tables(options, "maintain", progress) as tables:
        if options.dry_run:
            print(summary_text({"files": {name: tables.files(name) for name in TABLES}}, options.output))
            return 0
        deleted = _expire(tables, options.keep_days) if options.keep_days else 0
        before = after = 0
        for name in TABLES:
            progress.print_line(name)
            had, has = tables.compact(name)
            before, after = before + had, after + has
        remove_old_files(tables)
    summary = {"files_before": before, "files_after": after, "rows_deleted": deleted}
    print(summary_text(summary, options.output))
    return 0


def _expire(tables: DeltaTables, days: int) -> int:
    """Delete the rows outside the days to keep; return their number. Later days than ingest accepts are not kept."""
    today = dt.datetime.fromtimestamp(SystemClock().now_ms() / 1000, dt.UTC).date()
    first, last = today - dt.timedelta(days), today + dt.timedelta(DRIFT_DAYS)
    return sum(tables.keep_days(name, column, first, last) for name, column in DATED.items())
