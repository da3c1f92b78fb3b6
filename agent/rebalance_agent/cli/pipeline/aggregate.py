"""``rebalance-agent pipeline aggregate``: computes tables from the events, and checks the tables."""

from __future__ import annotations

import argparse
from typing import Any

from rebalance_agent.cli.inputs.cluster_settings import cluster_settings
from rebalance_agent.cli.inputs.pipeline_flags import (
    ProgressLines,
    add_kafka_flags,
    add_tables_flags,
    open_tables,
    stage_parser,
)
from rebalance_agent.cli.output_flag import summary_text
from rebalance_agent.cli.pipeline.check_results import add_check_flags, check_code, print_broken
from rebalance_agent.clock import SystemClock
from rebalance_agent.pipeline.publishing.baseline_messages import baseline_messages
from rebalance_agent.pipeline.publishing.baselines_topic import BASELINES_TOPIC, publish_baselines
from rebalance_agent.pipeline.stages import aggregate, judge
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Computes the tables `generations`, `members`, `group_hours`, `baselines`, `changes`, `cluster_changes` and
`slow_members` from `events`, and checks conditions that these tables must meet (*expectations*). The results are
appended to the table `expectations`. Broken expectations are printed; the exit code is then 1, or 0 with --keep-going.

A run computes the tables `generations`, `members` and `group_hours` only for those days of a group that depend on
events added, changed or deleted since the last run. It computes all days with --full, in the first run, in
the first run of a release, and after a pause of six days.

With --publish, a run also writes each group's normal values for each hour of the week to the compacted topic
rebalance-baselines, with the savings of the changes that the last run of `whatif` recommended. Observers read this
topic.
"""

EXAMPLES = """\
examples:
  rebalance-agent pipeline aggregate --tables tables
  rebalance-agent pipeline aggregate --tables tables --publish --bootstrap-servers localhost:9092

The output ends with the result: rows of each table, and the number of broken expectations.

exit codes: 0 done, 1 failed, or an expectation is broken, 2 wrong usage or input
"""

MADE = ("generations", "members", "group_hours", "baselines", "changes", "cluster_changes", "slow_members")
"""Tables that this stage computes."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the stage and its flags."""
    parser = stage_parser(subparsers, "aggregate", DESCRIPTION, EXAMPLES)
    add_tables_flags(parser)
    add_check_flags(parser)
    parser.add_argument("--full", action="store_true", help="compute all days again, not only those that changed")
    parser.add_argument("--publish", action="store_true", help="write baselines and savings to Kafka")
    parser.add_argument(
        "--publish-to", default=BASELINES_TOPIC, metavar="TOPIC", help="topic for --publish (default: %(default)s)"
    )
    add_kafka_flags(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Aggregate, and return the exit code."""
    progress = ProgressLines("aggregate", every_s=0)
    properties = cluster_settings(options)[1] if options.publish else {}
    with open_tables(options, "aggregate", progress, properties) as tables:
        if options.dry_run:
            print(summary_text({"events": tables.read("events").count()}, options.output))
            return 0
        now_ms = SystemClock().now_ms()
        aggregate(tables, now_ms, progress.print_line, full=options.full)
        failed = print_broken(judge(tables, now_ms, progress.print_line), strict=options.strict)
        if options.publish:
            progress.print_line(f"baselines to {options.publish_to}")
            clusters = {
                row["cluster_id"] for row in tables.read("generations").select("cluster_id").distinct().collect()
            }
            messages = baseline_messages(tables.read("baselines"), tables.read("advice"), now_ms)
            publish_baselines(messages, properties, options.publish_to, clusters)
        summary = _summary(tables) | {"broken": failed, "seconds": round(progress.seconds, 3)}
    print(summary_text(summary, options.output))
    return check_code(failed, options)


def _summary(tables: DeltaTables) -> dict[str, Any]:
    return {name: tables.read(name).count() for name in MADE}
