"""``rebalance-agent pipeline run``: runs all stages on files of events, without Kafka."""

from __future__ import annotations

import argparse
import dataclasses
import datetime as dt
import sys

from rebalance_agent.cli.inputs.pipeline_flags import (
    ProgressLines,
    add_tables_flags,
    open_tables,
    require_events,
    stage_parser,
)
from rebalance_agent.cli.output_flag import summary_text
from rebalance_agent.cli.pipeline.check_results import add_check_flags, check_code, print_broken
from rebalance_agent.cli.pipeline.report import write_report
from rebalance_agent.clock import SystemClock
from rebalance_agent.pipeline.ingest.event_times import ReadAt
from rebalance_agent.pipeline.ingest.ingest_events import (
    count_rows,
    decoded,
    events_of_files,
    ingest_batch,
    retry_rejected,
)
from rebalance_agent.pipeline.report.queries.collect import collect
from rebalance_agent.pipeline.report.report_page import page
from rebalance_agent.pipeline.stages import ADVISED, advise, aggregate, fidelity_summary, judge
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Runs all stages on files of events, without Kafka: ingest, aggregate, whatif, and the report if --report is set. After a
second run on the same files or on more files, the result is the same as after one run on all files.
"""

EXAMPLES = """\
examples:
  rebalance-agent pipeline run --events history --tables tables
  rebalance-agent pipeline run --events history --tables tables --report report.html | tail -n 1 | jq .fidelity

The output ends with the result:
  events       rows of the table, each event once       generations   rows of that table
  rejected     rows of events_rejected                  groups        that have generations
  broken       expectations that do not hold            seconds       of the whole run
  fidelity     moves, skew: share of the checked decisions for which a replay gives the recorded value

exit codes: 0 done, 1 failed, or an expectation is broken, 2 wrong usage or input
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the stage and its flags."""
    parser = stage_parser(subparsers, "run", DESCRIPTION, EXAMPLES)
    add_tables_flags(parser)
    parser.add_argument("--events", required=True, metavar="DIR", help="files of events: *.ndjson, *.ndjson.gz")
    parser.add_argument("--report", metavar="FILE", help="also write the report to this file")
    add_check_flags(parser)
    parser.add_argument("--full", action="store_true", help="compute all days again, not only those that changed")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run all stages, and return the exit code."""
    require_events(options.events)
    progress = ProgressLines("run", every_s=0)
    clock = SystemClock()
    try:
        with open_tables(options, "run", progress) as tables:
            progress.print_line("events")
            records = events_of_files(tables.spark, options.events)
            if options.dry_run:
                rows = decoded(records, ReadAt(clock.now_ms()))
                print(summary_text(dataclasses.asdict(count_rows(rows)), options.output))
                return 0
            retry_rejected(tables, clock)
            ingest_batch(tables, records, "files", clock)
            now_ms = clock.now_ms()
            aggregate(tables, now_ms, progress.print_line, full=options.full)
            failed = print_broken(judge(tables, now_ms, progress.print_line), strict=options.strict)
            advise(tables, progress.print_line)
            failed += print_broken(judge(tables, now_ms, progress.print_line, ADVISED), strict=options.strict)
            if options.report:
                progress.print_line("report")
                _report(tables, options.report, now_ms)
            summary = _summary(tables) | {"broken": failed, "seconds": round(progress.seconds, 3)}
    except OSError as error:
        print(f"rebalance-agent pipeline run: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    print(summary_text(summary, options.output))
    return check_code(failed, options)


def _report(tables: DeltaTables, out: str, now_ms: int) -> None:
    write_report(page(collect(tables, dt.datetime.fromtimestamp(now_ms / 1000, dt.UTC))).encode(), out)


def _summary(tables: DeltaTables) -> dict[str, object]:
    groups = tables.read("generations").select("cluster_id", "group").distinct().count()
    return {
        "events": tables.read("events").count(),
        "rejected": tables.read("events_rejected").count(),
        "generations": tables.read("generations").count(),
        "groups": groups,
        "fidelity": fidelity_summary(tables),
    }
