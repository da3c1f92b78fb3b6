"""``rebalance-agent pipeline jars``: fetches and verifies the jars that ``spark-submit`` needs."""

from __future__ import annotations

import argparse

from rebalance_agent.cli.inputs.pipeline_flags import stage_parser
from rebalance_agent.pipeline.spark.spark_jars import spark_jars

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Fetches and verifies the jars that the pipeline needs in addition to Spark's own: Spark's Kafka source and Delta. Prints
their paths, separated by commas.
"""

EXAMPLES = """\
example:
  spark-submit --jars "$(rebalance-agent pipeline jars)" ...

exit codes: 0 done, 1 a jar cannot be fetched
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the stage."""
    stage_parser(subparsers, "jars", DESCRIPTION, EXAMPLES).set_defaults(run=run)


def run(_options: argparse.Namespace) -> int:
    """Print the jars' paths, and return the exit code."""
    print(",".join(str(jar) for jar in spark_jars()))
    return 0
