"""``rebalance-agent verify``: hold what was published against the coordinators' own log, and counters against both."""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import replace

from rebalance_agent.cli.groups_access import direct_settings, quiet_logs
from rebalance_agent.cli.verify_files import events_in, records_in, scrape_in
from rebalance_agent.clock import SystemClock
from rebalance_agent.collectors.names import NameFilter
from rebalance_agent.errors import InvalidInputError, RebalanceAgentError
from rebalance_agent.exposition.telling.words import printable
from rebalance_agent.ledger.counters import Lifetime, check_lifetime
from rebalance_agent.ledger.ledger import Ledger, Window
from rebalance_agent.ledger.report import Report
from rebalance_agent.ledger.sheets import Place
from rebalance_agent.ledger.told import GroupFact
from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.runtime.settings import ObserverSettings
from rebalance_agent.runtime.sources import load
from rebalance_agent.runtime.verifying import VerifiedCluster

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Reads __consumer_offsets, the coordinators' own log, and holds every event that was published against it: each
generation, aborted generation and deletion told once and none invented, members, assignments and moves the same, stalls
within what the records show. With --lifetime also an observer's counters: the sums of the events that it published.

It shares no code with the observer but for reading records and events. It only reads, and joins no group.
"""

EXAMPLES = """\
examples:
  rebalance-agent verify --bootstrap-servers localhost:9092
  rebalance-agent verify --bootstrap-servers localhost:9092 --since 2026-05-04T09:00:00Z --json | jq .differences
  curl -s localhost:29308/metrics >metrics.txt
  rebalance-agent verify --bootstrap-servers localhost:9092 --lifetime metrics.txt events.ndjson
  rebalance-agent verify --records offsets.ndjson.gz --events events.ndjson

From before --since nothing has to be told; by default that is the first event (or, where retention has deleted some,
the first that is left). Records that compaction took cannot be judged: the summary counts what that leaves open.

exit codes: 0 no difference, 1 differences, 2 wrong usage, a file that cannot be read, or nobody answers
"""

SHOWN_MAX = 200
"""Differences that are printed; with --json all that were kept."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its flags."""
    parser = subparsers.add_parser(
        "verify",
        help="hold the published events against the coordinators' own log",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    cluster = parser.add_argument_group("a cluster")
    cluster.add_argument("--bootstrap-servers", metavar="HOST:PORT,...", help="short for --kafka bootstrap.servers=...")
    cluster.add_argument("--kafka", metavar="KEY=VALUE", action="append", help="Kafka client property; repeatable")
    cluster.add_argument("--config", metavar="FILE", help="settings as `observe` takes them")
    cluster.add_argument("--events-topic", metavar="TOPIC", help="where the events are (default: as `observe`)")
    files = parser.add_argument_group("files, plain or .gz")
    files.add_argument("--records", metavar="FILE", help="records instead of a cluster's, as `decode` takes them")
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
    what = parser.add_argument_group("what is judged")
    what.add_argument("--groups", metavar="PATTERN", help="whole names of groups (default: as `observe` shows them)")
    what.add_argument("--since", type=_time, metavar="TIME", help="ISO 8601, or milliseconds since the epoch")
    what.add_argument(
        "--grace-seconds",
        type=_seconds,
        default=30.0,
        metavar="S",
        help="how long after a record its event may come",
    )
    what.add_argument(
        "--complete", action="store_true", help="nothing was compacted: missing offsets are ends of transactions"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Verify; the exit code."""
    quiet_logs()
    try:
        report = _verified(options)
    except RebalanceAgentError as error:
        print(f"rebalance-agent verify: {printable(str(error))}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(_as_json(report)))
    else:
        for each in sorted(report.differences, key=lambda each: (each.group, each.number))[:SHOWN_MAX]:
            print(printable(str(each)))
        if report.found > SHOWN_MAX:
            print(f"... and {report.found - SHOWN_MAX} more")
        print(report.summary())
    return 0 if report.clean else 1


def _verified(options: argparse.Namespace) -> Report:
    if options.records:
        if options.bootstrap_servers or options.kafka or options.config:
            raise InvalidInputError("--records", "is instead of a cluster: leave out --bootstrap-servers")
        if not options.events:
            raise InvalidInputError("--events", "is missing: records in a file need events in a file")
        report = _of_files(options)
    else:
        report = _of_cluster(options)
    if options.groups and report.empty:
        raise InvalidInputError("--groups", f"neither records nor events are of a group like {options.groups!r}")
    for metrics, events in options.lifetime:
        _check_counters(metrics, events, options, report)
    return report


def _of_cluster(options: argparse.Namespace) -> Report:
    settings, properties = direct_settings(options)
    shows, clock = _shows(options, settings), SystemClock()
    cluster = VerifiedCluster(properties, clock)
    ledger = Ledger(cluster.cluster_id, shows)
    until_ms, whole_ms = clock.now_ms(), 0
    if options.events:
        for event, place in _events(options):
            ledger.tell(event, place)
    else:
        whole_ms = cluster.events(options.events_topic or settings.events_topic, ledger.tell)
    ledger.expect(_window(options, max(whole_ms, ledger.first_ms or 0), until_ms, cluster.names()))
    cluster.post(ledger)
    return ledger.close()


def _of_files(options: argparse.Namespace) -> Report:
    shows, told = _shows(options, load(ObserverSettings, None, {})), _events(options)
    first = next(told, None)
    cluster_id = first[0].cluster_id if first else ""
    ledger = Ledger(cluster_id, shows)
    for event, place in itertools.chain([first] if first else [], told):
        if event.cluster_id != cluster_id:
            raise InvalidInputError("--events", f"are of more than one cluster: {cluster_id}, {event.cluster_id}")
        ledger.tell(event, place)
    ledger.expect(_window(options, ledger.first_ms or 0, None, {}))
    for record in records_in(options.records):
        ledger.post(record)
    return ledger.close()


def _window(options: argparse.Namespace, since_ms: int, until_ms: int | None, names: dict[str, str]) -> Window:
    since_ms = since_ms if options.since is None else options.since
    return Window(since_ms, until_ms, round(options.grace_seconds * 1000), options.complete, names)


def _shows(options: argparse.Namespace, settings: ObserverSettings) -> NameFilter:
    if options.groups:
        try:
            return NameFilter(options.groups)
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidInputError("--groups", f"is no regular expression: {error}") from None
    return NameFilter(settings.groups_allow, settings.groups_deny)


def _events(options: argparse.Namespace) -> Iterator[tuple[GroupFact, Place]]:
    """What the files tell of groups; members' own events may be without a cluster."""
    for name in options.events:
        for event, place in events_in("--events", name):
            if isinstance(event, GroupFact):
                yield event, place


def _check_counters(metrics: str, events: str, options: argparse.Namespace, report: Report) -> None:
    scrape = scrape_in(metrics)
    told = [_slim(event) for event, _ in events_in("--lifetime", events)]
    settled_ms = round(options.grace_seconds * 1000)
    check_lifetime(Lifetime(metrics, scrape.counters, told, scrape.at_ms, settled_ms, scrape.amid), report)


def _slim(event: Event) -> Event:
    """Without all members but one, for only that there are any counts: a whole file of events is held at once."""
    return replace(event, members=event.members[:1]) if isinstance(event, GenerationEvent) else event


def _as_json(report: Report) -> dict[str, object]:
    return {
        "clean": report.clean,
        "summary": report.summary(),
        "agreed": report.agreed,
        "groups": len(report.groups),
        "copies": report.copies,
        "pending": report.pending,
        "unjudged": report.unjudged,
        "found": report.found,
        "differences": [
            {"group": each.group, "generation": each.number, "what": each.what, "places": list(map(str, each.places))}
            for each in report.differences
        ],
    }


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError("must be seconds, 0 or more")
    return seconds


def _time(text: str) -> int:
    try:
        if text.isascii() and text.isdigit():
            return int(text)
        at = dt.datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be such as 2026-05-04T09:00:00Z, or epoch milliseconds") from None
    return round((at if at.tzinfo else at.replace(tzinfo=dt.UTC)).timestamp() * 1000)
