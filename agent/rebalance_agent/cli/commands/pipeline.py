"""``rebalance-agent pipeline STAGE``: runs one stage and imports only that stage's modules."""

from __future__ import annotations

import argparse
import importlib
import sys

from rebalance_agent.cli.command_parser import AnyText, CommandParser, refuse
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.visible_names import did_you_mean

__all__ = ["STAGES", "add_parser", "run"]

STAGES = {
    "ingest": "read published events from Kafka or files into the events table",
    "backfill": "add the records of __consumer_offsets from before the agent ran to the same table",
    "aggregate": "compute generations, members, hours and baselines from the events, and check them",
    "whatif": "replay every group's history with every strategy, and write recommendations",
    "report": "write one HTML file with the results",
    "run": "run all stages on files of events, without Kafka",
    "synthesize": "write a synthetic history of a fleet, to try the pipeline",
    "maintain": "merge small files of the tables, and remove old files and rows",
    "jars": "print the paths of the jars that spark-submit needs",
}
"""Stage -> its help text; the module ``cli.pipeline.STAGE`` defines the stage's flags."""

DESCRIPTION = """\
Analyses the history of a fleet's rebalances on Spark: normal durations, costs, and the effect of other assignors.
"""

EPILOG = """\
stages:
{stages}
`rebalance-agent pipeline STAGE --help` explains a stage. Exit codes of every stage: 0 done, 1 done with findings or
failed, 2 wrong usage or input, 130 Ctrl-C, 143 SIGTERM.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command; a stage's flags are parsed when that stage runs."""
    width = max(map(len, STAGES))
    stages = "".join(f"  {name:<{width}}  {text}\n" for name, text in STAGES.items())
    parser = subparsers.add_parser(
        "pipeline",
        help="analyse the rebalance history of all groups with Spark",
        usage="%(prog)s STAGE [...]",
        description=DESCRIPTION,
        epilog=EPILOG.format(stages=stages),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("stage", type=AnyText(STAGES), metavar="STAGE", help="one of the stages below")
    rest = parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    rest.required = False  # otherwise the error about a missing stage would also name this argument
    parser.set_defaults(run=run, parser=parser)


def run(args: argparse.Namespace) -> int:
    """Run the stage, and return its exit code."""
    if args.stage not in STAGES:
        meant = did_you_mean(args.stage, STAGES) or f"; the stages are {', '.join(STAGES)}"
        args.parser.error(f"there is no stage {args.stage!r}{meant}")
    module = importlib.import_module(f"rebalance_agent.cli.pipeline.{args.stage}")
    parser = CommandParser(prog="rebalance-agent pipeline")
    stages = parser.add_subparsers()
    module.add_parser(stages)
    options, unknown = parser.parse_known_args([args.stage, *args.rest])
    if unknown:
        refuse(unknown[0], stages.choices[args.stage])
    try:
        return int(options.run(options))
    except InvalidInputError as error:
        print(f"rebalance-agent pipeline {args.stage}: {error}", file=sys.stderr)
        return 2
    finally:
        sys.stdout.flush()
