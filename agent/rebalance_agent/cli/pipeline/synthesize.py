"""``rebalance-agent pipeline synthesize``: generates the history of a synthetic fleet for trying out the pipeline."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
from pathlib import Path

from rebalance_agent.cli.command_parser import add_command
from rebalance_agent.cli.output_flag import add_output_flag, summary_text
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.testing.synthetic.event_files import SynthesisResult, synthesize
from rebalance_agent.testing.synthetic.fleet_plan import DAYS_MAX, GROUPS_MAX, FleetPlan

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Writes a synthetic history of a fleet: the events that an observer would have published for groups of all types and
many strategies, with daily load, deploys, crashes, storms, scaling, new partitions and slow members. The coordinator's
model, the library's strategies and the observer's own tracker produce this history.

The files are events-*.ndjson.gz, one event per line; the same arguments produce the same bytes.
"""

EXAMPLES = """\
examples:
  rebalance-agent pipeline synthesize --groups 50 --days 14 --seed 1 --out history
  rebalance-agent pipeline run --events history --tables tables

The output ends with the result: the numbers of groups, days, generations and events, the events by kind, the
generations by type of group, and the files, bytes and seconds.

exit codes: 0 done, 2 wrong usage, or the folder already has events or cannot be written
"""

PROGRESS_EVERY_S = 2.0
"""Seconds between lines of progress."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its flags."""
    text = "write a synthetic history of a fleet, to try the pipeline without a cluster"
    parser = add_command(subparsers, "synthesize", text, DESCRIPTION, EXAMPLES)
    parser.add_argument(
        "--groups", type=int, default=50, metavar="N", help=f"number of groups, at most {GROUPS_MAX:,} (default: 50)"
    )
    parser.add_argument(
        "--days", type=int, default=14, metavar="D", help=f"number of days, at most {DAYS_MAX:,} (default: 14)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="seed of the random numbers (default: 1)")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder for the files; must not contain events"
    )
    parser.add_argument(
        "--since", type=_day, metavar="YYYY-MM-DD", help="first day of the history, a Monday (default: 2026-06-01)"
    )
    parser.add_argument(
        "--processes",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="number of processes (default: one per core)",
    )
    add_output_flag(parser, "table", csv_rows="run", default="json")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Generate the files, and return the exit code."""
    try:
        since = {} if args.since is None else {"since_ms": args.since}
        fleet = FleetPlan(args.groups, args.days, args.seed, **since)
        progress = _Progress(fleet, SystemClock())
        made = synthesize(fleet, args.out, args.processes, progress.print_line)
    except InvalidInputError as error:
        print(f"rebalance-agent pipeline synthesize: --{error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"rebalance-agent pipeline synthesize: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    print(summary_text(progress.summary(made), args.output), flush=True)
    return 0


class _Progress:
    """Prints the progress on standard error every `PROGRESS_EVERY_S` seconds."""

    def __init__(self, fleet: FleetPlan, clock: Clock) -> None:
        self._fleet = fleet
        self._clock = clock
        self._since = self._printed = clock.monotonic()

    def print_line(self, made: SynthesisResult) -> None:
        now = self._clock.monotonic()
        if now - self._printed < PROGRESS_EVERY_S:
            return
        self._printed = now
        rate = made.generations / max(now - self._since, 0.001)
        print(
            f"{made.groups:,} of {self._fleet.groups:,} groups, {made.generations:,} generations, {rate:,.0f}/s",
            file=sys.stderr,
            flush=True,
        )

    def summary(self, made: SynthesisResult) -> dict[str, object]:
        return {
            "groups": made.groups,
            "days": self._fleet.days,
            "generations": made.generations,
            "events": made.events,
            "kinds": dict(sorted(made.kinds.items())),
            "types": dict(sorted(made.types.items())),
            "files": made.files,
            "bytes": made.bytes,
            "seconds": round(self._clock.monotonic() - self._since, 1),
        }


def _day(text: str) -> int:
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day such as 2026-06-01") from None
    midnight = dt.datetime.combine(day, dt.time(), dt.UTC)
    return int(midnight.timestamp()) * 1000
