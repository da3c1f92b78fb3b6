"""``rebalance-agent pipeline report``: writes the tables as one HTML file."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from pathlib import Path

from rebalance_agent.cli.command_parser import whole_number
from rebalance_agent.cli.inputs.pipeline_flags import ProgressLines, add_tables_flags, open_tables, stage_parser
from rebalance_agent.cli.output_flag import summary_text
from rebalance_agent.clock import SystemClock
from rebalance_agent.pipeline.report.queries.collect import collect
from rebalance_agent.pipeline.report.report_page import page
from rebalance_agent.pipeline.report.report_rows import DETAILS_MAX

__all__ = ["add_parser", "run", "write_report"]

DESCRIPTION = """\
Writes one HTML file that opens in any browser without network. It shows the cost of the fleet's rebalances, when and
why they happened, storms, deploys, a table of all groups, and for the worst groups their stalls, owners, skew, the
predicted results of other strategies, and the recommendation.
"""

EPILOG = """\
examples:
  rebalance-agent pipeline report --tables tables --out report.html
  rebalance-agent pipeline report --tables tables --out - > report.html

The output ends with the result: groups, pictures, bytes.

exit codes: 0 done, 1 there is nothing to report, 2 wrong usage
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the stage and its flags."""
    parser = stage_parser(subparsers, "report", DESCRIPTION, EPILOG)
    add_tables_flags(parser)
    parser.add_argument("--out", required=True, metavar="FILE", help="the file to write; - is standard output")
    parser.add_argument(
        "--details",
        type=whole_number(0, DETAILS_MAX),
        default=20,
        metavar="N",
        help=f"how many of the worst groups get pictures (default 20, at most {DETAILS_MAX})",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the report, and return the exit code."""
    progress = ProgressLines("report")
    try:
        with open_tables(options, "report", progress) as tables:
            made_at = dt.datetime.fromtimestamp(SystemClock().now_ms() / 1000, dt.UTC)
            report = collect(tables, made_at, details=options.details)
        html = page(report).encode()
        if not options.dry_run:
            write_report(html, options.out)
    except OSError as error:
        print(f"rebalance-agent pipeline report: {options.out}: {error.strerror}", file=sys.stderr)
        return 2
    counts = {"groups": report.groups_in_all, "details": len(report.details), "bytes": len(html)}
    summary = summary_text({**counts, "seconds": round(progress.seconds, 3)}, options.output)
    print(summary, file=sys.stderr if options.out == "-" else sys.stdout)
    return 0


def write_report(html: bytes, out: str) -> None:
    """Replace the file ``out`` atomically, so that readers see the old or the new one; ``-`` is standard output."""
    if out == "-":
        sys.stdout.buffer.write(html)
        return
    path = Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_bytes(html)
    unfinished.replace(path)
