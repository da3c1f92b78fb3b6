"""``rebalance-agent pipeline jars``: fetches and verifies the jars that ``spark-submit`` needs."""

from __future__ import annotations

import argparse

from rebalance_agent.cli.inputs.pipeline_flags import stage_parser
from rebalance_agent.pipeline.spark.spark_jars import LOGIN_LOCKS, spark_jars

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Fetches and verifies the jars that the pipeline needs in addition to Spark's own: Spark's Kafka source and Delta, and
with --login the library of a login. Prints their paths, separated by commas.
"""

EXAMPLES = """\
example:
  spark-submit --jars "$(rebalance-agent pipeline jars)" ...

exit codes: 0 done, 1 a jar cannot be fetched
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the stage."""
    parser = stage_parser(subparsers, "jars", DESCRIPTION, EXAMPLES)
    parser.add_argument(
        "--login", default="", choices=tuple(LOGIN_LOCKS), help="also the jar of this sasl.oauthbearer.method"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the jars' paths, and return the exit code."""
    print(",".join(str(jar) for jar in spark_jars(options.login)))
    return 0
