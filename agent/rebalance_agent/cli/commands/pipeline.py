"""``rebalance-agent pipeline STAGE``: runs one stage and imports only that stage's modules."""

from __future__ import annotations

import argparse
import difflib
import importlib
import sys

from rebalance_agent.errors import InvalidInputError

__all__ = ["STAGES", "add_parser", "run"]

STAGES = {
    "ingest": "published events from Kafka or files into the table of events",
    "backfill": "what __consumer_offsets still holds of the time before the agent, into the same table",
    "aggregate": "generations, members, hours, baselines from the events, and what is checked of them",
    "whatif": "every group's history through every strategy, and a recommendation for each",
    "report": "one HTML file of all that",
    "run": "all stages on files of events, without Kafka",
    "synthesize": "the history of a fleet that never lived, to try the pipeline with",
    "maintain": "join small files of the tables, and remove what is too old",
    "jars": "print the paths of the jars that spark-submit needs",
}
"""Stage -> its help text; the module ``cli.pipeline.STAGE`` has its flags."""

DESCRIPTION = """\
The history of a fleet's rebalances on Spark: what is normal, what it costs, what another assignor would have done.
"""

EPILOG = """\
stages:
{stages}
`rebalance-agent pipeline STAGE --help` explains a stage. Exit codes of every stage: 0 done, 1 done with findings or
failed, 2 wrong usage or input, 130 Ctrl-C.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command; a stage's flags are parsed when that stage runs."""
    width = max(map(len, STAGES))
    stages = "".join(f"  {name:<{width}}  {text}\n" for name, text in STAGES.items())
    parser = subparsers.add_parser(
        "pipeline",
        help="the history of a fleet's rebalances on Spark",
        usage="%(prog)s STAGE [...]",
        description=DESCRIPTION,
        epilog=EPILOG.format(stages=stages),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("stage", metavar="STAGE", help="one of those below")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(run=run, parser=parser)


def run(args: argparse.Namespace) -> int:
    """Run the stage, and return its exit code."""
    if args.stage not in STAGES:
        close = difflib.get_close_matches(args.stage, STAGES, 1)
        meant = f"; is it {close[0]}?" if close else ""
        args.parser.error(f"there is no stage {args.stage!r}{meant} The stages are {', '.join(STAGES)}")
    module = importlib.import_module(f"rebalance_agent.cli.pipeline.{args.stage}")
    parser = argparse.ArgumentParser(prog="rebalance-agent pipeline")
    module.add_parser(parser.add_subparsers())
    options = parser.parse_args([args.stage, *args.rest])
    try:
        return int(options.run(options))
    except InvalidInputError as error:
        print(f"rebalance-agent pipeline {args.stage}: {error}", file=sys.stderr)
        return 2
    finally:
        sys.stdout.flush()
