"""``rebalance-agent verify``: compares published events and counters with the records of ``__consumer_offsets``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping

from rebalance_agent.audit.audit_report import AuditReport, Difference
from rebalance_agent.cli.command_parser import add_command, moment_ms, number
from rebalance_agent.cli.inputs.cluster_flags import add_cluster_flags
from rebalance_agent.cli.inputs.groups_access import quiet_logs
from rebalance_agent.cli.output_flag import add_output_flag, as_csv, as_text
from rebalance_agent.cli.verify_reports import verified
from rebalance_agent.errors import RebalanceAgentError
from rebalance_agent.ui.words import printable

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Reads __consumer_offsets, the coordinators' own log, and compares every published event with this log. Each generation,
aborted generation and deletion must have exactly one event, with the same members, assignments and moves, and with
stalls that agree with the records. With --tables, `verify` checks the pipeline's tables instead: each generation
must have exactly one row, members and moves must agree with the records, and each row of `group_hours` must be the sum
of the rows of its generations. With --lifetime, `verify` also compares an observer's counters with the sums of the
events that the observer published.

`verify` shares no code with the observer, except the code that reads records and events and computes event ids. It
only reads, and joins no group.
"""

EXAMPLES = """\
examples:
  rebalance-agent verify --bootstrap-servers localhost:9092
  rebalance-agent verify --bootstrap-servers localhost:9092 --since 2026-05-04T09:00:00Z --json | jq .differences
  rebalance-agent verify --bootstrap-servers localhost:9092 --output csv >differences.csv
  curl -s localhost:29308/metrics >metrics.txt
  rebalance-agent verify --bootstrap-servers localhost:9092 --lifetime metrics.txt events.ndjson
  rebalance-agent verify --bootstrap-servers localhost:9092 --tables s3a://bucket/rebalances
  rebalance-agent verify --records offsets.ndjson.gz --events events.ndjson

Rebalances before --since need no event. If compaction has removed the records of an event, the event cannot be
compared; the summary counts such events. Tables must be complete up to
their newest event, and `generations` up to the last run of `pipeline aggregate`.

With --output csv, the summary goes to stderr.

exit codes: 0 no difference, 1 differences, 2 wrong usage, a file that cannot be read, no response, or nothing to
compare (without --allow-empty)
"""

SHOWN_MAX = 200
"""Maximum number of differences in the text; the other forms contain all differences that were kept."""

CSV_COLUMNS = ("group", "generation", "what", "places", "table")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its flags."""
    text = "compare published events with the coordinators' own log"
    parser = add_command(subparsers, "verify", text, DESCRIPTION, EXAMPLES)
    cluster = add_cluster_flags(parser, "a cluster")
    cluster.add_argument("--events-topic", metavar="TOPIC", help="topic of the events (default: as for `observe`)")
    files = parser.add_argument_group("files, plain or .gz")
    files.add_argument(
        "--records", metavar="FILE", help="records in the form that `decode` reads, instead of a cluster's records"
    )
    files.add_argument(
        "--events",
        metavar="FILE",
        action="append",
        default=[],
        help="events (NDJSON) instead of the topic; repeatable",
    )
    files.add_argument(
        "--lifetime",
        metavar=("METRICS", "EVENTS"),
        nargs=2,
        action="append",
        default=[],
        help="an observer's last scrape, and the events that it published (its events_file); repeatable",
    )
    tables = parser.add_argument_group("the pipeline's tables (with its packages: kafka-rebalance-agent[pipeline])")
    tables.add_argument(
        "--tables",
        metavar="DIR",
        help="tables `events`, `generations`, `members` and `group_hours` of this folder instead of the topic",
    )
    tables.add_argument("--spark", action="append", metavar="KEY=VALUE", help="Spark property; repeatable")
    what = parser.add_argument_group("what is compared")
    what.add_argument(
        "--groups",
        metavar="PATTERN",
        help="regular expression for the whole names of groups to compare (default: the groups that `observe` shows)",
    )
    what.add_argument(
        "--since",
        type=moment_ms,
        metavar="TIME",
        help="only rebalances since this time: ISO 8601, or epoch milliseconds (default: the time of the first "
        "remaining event)",
    )
    what.add_argument(
        "--grace-seconds",
        type=number(0, sys.float_info.max, "seconds, 0 or more"),
        default=30.0,
        metavar="S",
        help="how long after its record an event may be published (default 30)",
    )
    what.add_argument(
        "--complete",
        action="store_true",
        help="assume that the topic was never compacted, so that missing offsets are transaction markers",
    )
    what.add_argument("--allow-empty", action="store_true", help="do not fail if records and events contain no group")
    add_output_flag(parser, "text", csv_rows="difference", json_help="short for --output json: one object")
    parser.set_defaults(run=run, exit_codes={RebalanceAgentError: 2})


def run(options: argparse.Namespace) -> int:
    """Verify, and return the exit code."""
    quiet_logs()
    reports = verified(options)
    titles = {name: f"table {name}: " if options.tables else "" for name in reports}
    if options.output == "csv":
        print(as_csv(CSV_COLUMNS, _csv_rows(reports, tables=bool(options.tables))))
        for name, report in reports.items():
            print(titles[name] + report.summary(), file=sys.stderr)
    elif options.output == "text":
        for name, report in reports.items():
            _print(report, titles[name])
    else:
        print(as_text(_as_json(reports), options.output))
    return 0 if all(report.clean for report in reports.values()) else 1


def _print(report: AuditReport, title: str) -> None:
    for difference in _by_group(report)[:SHOWN_MAX]:
        print(printable(str(difference)))
    if report.found > SHOWN_MAX:
        print(f"... and {report.found - SHOWN_MAX} more")
    print(title + report.summary())


def _by_group(report: AuditReport) -> list[Difference]:
    return sorted(report.differences, key=lambda line: (line.group, line.number))


def _csv_rows(reports: Mapping[str, AuditReport], *, tables: bool) -> Iterator[dict[str, object]]:
    """Yield a row for each difference, by group and generation; ``table`` is empty if no ``tables`` were compared."""
    for name, report in reports.items():
        for difference in _by_group(report):
            yield _difference_json(difference) | {"table": name if tables else None}


def _as_json(reports: Mapping[str, AuditReport]) -> dict[str, object]:
    """Return the report on events, which contains the reports on other tables; ``clean`` covers all reports."""
    events, *others = map(_report_json, reports.values())
    tables = dict(zip([*reports][1:], others, strict=True))
    clean = all(report.clean for report in reports.values())
    return events | {"clean": clean} | ({"tables": tables} if tables else {})


def _report_json(report: AuditReport) -> dict[str, object]:
    return {
        "clean": report.clean,
        "summary": report.summary(),
        "agreed": report.agreed,
        "groups": len(report.groups),
        "copies": report.copies,
        "pending": report.pending,
        "unjudged": report.unjudged,
        "found": report.found,
        "differences": list(map(_difference_json, report.differences)),
    }


def _difference_json(difference: Difference) -> dict[str, object]:
    return {
        "group": difference.group,
        "generation": difference.number,
        "what": difference.what,
        "places": list(map(str, difference.positions)),
    }
