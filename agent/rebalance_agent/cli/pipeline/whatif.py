"""``rebalance-agent pipeline whatif``: replays each group with each strategy, and recommends a strategy for each."""

from __future__ import annotations

import argparse

from rebalance_agent.cli.inputs.pipeline_flags import ProgressLines, add_tables_flags, open_tables, stage_parser
from rebalance_agent.cli.output_flag import summary_text
from rebalance_agent.cli.pipeline.check_results import add_check_flags, check_code, print_broken
from rebalance_agent.clock import SystemClock
from rebalance_agent.pipeline.stages import ADVISED, advise, fidelity_summary, judge

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Replays every group's recorded generations with every strategy, and predicts stalls. Each strategy continues from its
own previous assignment. Writes the tables `whatif`, `fidelity` (whether a replay reproduces the recorded decisions) and
`recommendations`, and checks expectations about them, as `aggregate` does for the other tables.
"""

EXAMPLES = """\
example:
  rebalance-agent pipeline whatif --tables tables

The output ends with the result: groups, rows, fidelity, the number of broken expectations, seconds.

exit codes: 0 done, 1 failed, or an expectation is broken, 2 wrong usage or input
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the stage and its flags."""
    parser = stage_parser(subparsers, "whatif", DESCRIPTION, EXAMPLES)
    add_tables_flags(parser)
    add_check_flags(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Replay, and return the exit code."""
    progress = ProgressLines("whatif", every_s=0)
    with open_tables(options, "whatif", progress) as tables:
        if options.dry_run:
            print(summary_text({"generations": tables.read("generations").count()}, options.output))
            return 0
        advise(tables, progress.print_line)
        results = judge(tables, SystemClock().now_ms(), progress.print_line, ADVISED)
        failed = print_broken(results, strict=options.strict)
        summary = {
            "groups": tables.read("recommendations").count(),
            "rows": tables.read("whatif").count(),
            "fidelity": fidelity_summary(tables),
            "broken": failed,
            "seconds": round(progress.seconds, 3),
        }
    print(summary_text(summary, options.output))
    return check_code(failed, options)
