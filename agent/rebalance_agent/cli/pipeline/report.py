"""``rebalance-agent pipeline report``: writes an HTML report of all time, or of one week as a page, text and CSV."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rebalance_agent.cli.command_parser import whole_number
from rebalance_agent.cli.inputs.pipeline_flags import ProgressLines, add_tables_flags, open_tables, stage_parser
from rebalance_agent.cli.output_flag import summary_text
from rebalance_agent.cli.pipeline.check_results import add_check_flags, check_code, print_broken
from rebalance_agent.cli.pipeline.weekly_files import (
    add_weekly_flags,
    refuse_weekly_flags,
    week_of,
    week_settings,
    weekly_files,
)
from rebalance_agent.clock import SystemClock
from rebalance_agent.pipeline.report.queries.collect import collect
from rebalance_agent.pipeline.report.report_page import page
from rebalance_agent.pipeline.report.report_rows import DETAILS_MAX
from rebalance_agent.pipeline.tables.expectations import newest
from rebalance_agent.pipeline.weekly.queries.collect_week import collect_week
from rebalance_agent.pipeline.weekly.weekly_summary import summarize

__all__ = ["add_parser", "run", "write_report"]

DESCRIPTION = """\
Writes one HTML file, which opens in any browser without a network. It shows the cost of the fleet's rebalances, when
and why they happened, storms, deploys, and a table of all groups. For the worst groups, it also shows stalls, owners,
skew, the predicted results of other strategies, and the recommendation.

With --weekly, this stage compares a week with the week before, and writes a short page (weekly.html), a text to paste
into a mail or chat (weekly.txt), and each table as CSV (weekly-*.csv): availability and stall budget, the consumer
groups whose stall changed most, deploys by team, members that began to flap, members without a partition, and consumer
groups near a limit.

`aggregate` and `whatif` check expectations about the tables. After this stage has written the files, it prints the
expectations that were broken in the last check of each table. The exit code is then 1, or 0 with --keep-going.
"""

DETAILS = 20
"""Default number of groups with charts of their own."""

_Written = tuple[Mapping[str, object], Sequence[Any]]

EPILOG = """\
examples:
  rebalance-agent pipeline report --tables tables --out report.html
  rebalance-agent pipeline report --tables tables --out - > report.html
  rebalance-agent pipeline report --tables tables --weekly --out weekly
  rebalance-agent pipeline report --tables tables --weekly --until 2026-06-14 --member-cost 0.12EUR --out weekly
  rebalance-agent pipeline report --tables tables --weekly --team-rule '^[^.]+\\.([^.]+)' --out -    # only the text

The output ends with the result: groups, details, bytes; with --weekly: week, groups, files, bytes; and the number of
broken expectations.

exit codes: 0 done, 1 there is nothing to report, or an expectation is broken, 2 wrong usage
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the stage and its flags."""
    parser = stage_parser(subparsers, "report", DESCRIPTION, EPILOG)
    add_tables_flags(parser)
    parser.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="the file to write; - is standard output. With --weekly, a folder; - writes only the text",
    )
    parser.add_argument(
        "--details",
        type=whole_number(0, DETAILS_MAX),
        metavar="N",
        help=f"number of groups with their own charts: the groups with the most stall (default {DETAILS}, at most "
        f"{DETAILS_MAX})",
    )
    add_check_flags(parser)
    add_weekly_flags(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the report or the weekly page, and return the exit code."""
    progress = ProgressLines("report")
    try:
        counts, results = (_write_week if options.weekly else _write_all)(options, progress)
    except OSError as error:
        print(f"rebalance-agent pipeline report: {options.out}: {error.strerror}", file=sys.stderr)
        return 2
    failed = print_broken(results, strict=options.strict)
    summary = summary_text({**counts, "broken": failed, "seconds": round(progress.seconds, 3)}, options.output)
    print(summary, file=sys.stderr if options.out == "-" else sys.stdout)
    return check_code(failed, options)


def _write_all(options: argparse.Namespace, progress: ProgressLines) -> _Written:
    """Write the report of all time, and return a summary of the report, and the results of the last checks."""
    refuse_weekly_flags(options)
    details = DETAILS if options.details is None else options.details
    with open_tables(options, "report", progress) as tables:
        report = collect(tables, _now(), details=details)
        results = newest(tables.read("expectations")).collect()
    html = page(report).encode()
    if not options.dry_run:
        write_report(html, options.out)
    return {"groups": report.groups_in_all, "details": len(report.details), "bytes": len(html)}, results


def _write_week(options: argparse.Namespace, progress: ProgressLines) -> _Written:
    """Write the files of the weekly page, or its text to standard output; return the same as `_write_all`."""
    settings, now = week_settings(options), _now()
    week = week_of(options, now)
    with open_tables(options, "report", progress) as tables:
        summary = summarize(collect_week(tables, week, now), settings)
        results = newest(tables.read("expectations")).collect()
    files = weekly_files(summary)
    if options.out == "-":
        files = {"weekly.txt": files["weekly.txt"]}
    for name, content in () if options.dry_run else files.items():
        write_report(content, "-" if options.out == "-" else str(Path(options.out, name)))
    size = sum(map(len, files.values()))
    return {"week": week.name, "groups": len(summary.groups), "files": len(files), "bytes": size}, results


def _now() -> dt.datetime:
    return dt.datetime.fromtimestamp(SystemClock().now_ms() / 1000, dt.UTC)


def write_report(content: bytes, out: str) -> None:
    """Replace the file ``out`` atomically, so that readers see the old or the new file; ``-`` is standard output."""
    if out == "-":
        sys.stdout.buffer.write(content)
        return
    path = Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_bytes(content)
    unfinished.replace(path)
