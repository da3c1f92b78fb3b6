"""``rebalance-agent watch``: shows a live table of groups, or prints the table once as plain text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from rebalance_agent.api.group_source import GroupSource
from rebalance_agent.api.query import GroupQuery
from rebalance_agent.api.routes import LIMIT_MAX, SORT_KEYS
from rebalance_agent.api.shapes import GroupList
from rebalance_agent.cli.color_flag import add_color_flag
from rebalance_agent.cli.command_parser import OneOf, add_command, number
from rebalance_agent.cli.inputs.cluster_settings import cluster_settings
from rebalance_agent.cli.inputs.groups_access import (
    add_access_flags,
    agent_api,
    quiet_logs,
    wants_direct,
)
from rebalance_agent.cli.output_flag import add_output_flag, as_csv, as_text
from rebalance_agent.errors import RebalanceAgentError
from rebalance_agent.model.event_json import value_to_json
from rebalance_agent.runtime.watch.in_process import InProcessWatch
from rebalance_agent.ui.sentences.group_table import WatchRow, group_rows, groups_text, matching
from rebalance_agent.ui.terminal import is_live
from rebalance_agent.ui.words import printable
from rebalance_agent.visible_names import did_you_mean

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Shows the consumer groups of a cluster: state, generation, skew, the duration of running rebalances, and the cost of the
last rebalance. Groups with problems come first: groups that lost all their members, then groups that are stalled for
too long, then groups with a storm of rebalances, then other rebalancing groups. Enter on a group shows the group's last
rebalances, its members and its moves.
"""

EXAMPLES = """\
keys: / filter (part of a name, or a pattern such as orders-*), s sort by the next column, r reverse the order, Enter
show one group, Escape go back, q quit

examples:
  rebalance-agent watch
  rebalance-agent watch --url https://observer:29308 --ca-file ca.pem --token-file token
  rebalance-agent watch --bootstrap-servers localhost:9092
  rebalance-agent watch --once --sort=-stall | head

exit codes: 0 success; 1 no group matches (only with --once); 2 wrong usage, or no response (only with --once). If
standard input, standard output or standard error is not a terminal, `watch` runs as with --once.
"""

COLUMNS = (
    *("group", "group_type", "state", "source", "generation", "assignor", "protocol", "members", "partitions"),
    *("unassigned", "copartition_breaks", "idle_members", "skew_ratio", "rebalances", "aborted"),
    *("running.started_ms", "last.timestamp_ms"),
    *("last.trigger", "last.moved", "last.stall.lower_seconds", "last.stall.seconds", "last.stall.basis"),
    *("empty.since_ms", "lag.offsets", "lag.seconds"),
)
"""Columns of CSV: fields of a group in the API."""

SETTLE_SECONDS_MAX = 30.0
"""Longest time (seconds) that --once waits until a cluster is read; reading a large offsets topic takes some
seconds."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its flags."""
    parser = add_command(subparsers, "watch", "show groups and their rebalances, live", DESCRIPTION, EXAMPLES)
    parser.add_argument("filter", nargs="?", default="", metavar="GROUPS", help="part of a name, or a pattern")
    parser.add_argument("--once", action="store_true", help="print the table once as plain text")
    add_output_flag(
        parser,
        "table",
        csv_rows="group",
        json_help="short for --output json; every form except table is printed once",
    )
    parser.add_argument(
        "--sort", type=OneOf(SORT_KEYS, "-"), default="group", metavar="ORDER", help=f"one of {', '.join(SORT_KEYS)}"
    )
    interval = number(0.1, 3600, "a number from 0.1 to 3600")
    parser.add_argument(
        "--interval", type=interval, default=1.0, metavar="SECONDS", help="seconds between two refreshes (default 1)"
    )
    add_access_flags(parser)
    add_color_flag(parser)
    parser.set_defaults(run=run, exit_codes={RebalanceAgentError: 2})


def run(options: argparse.Namespace) -> int:
    """Watch until q or Ctrl-C, or print once; return the exit code."""
    # Standard error must be a terminal, too, because Textual writes to it.
    once = options.once or options.output != "table" or not all(map(is_live, (sys.stdin, sys.stdout, sys.stderr)))
    quiet_logs()
    with ExitStack() as stack:
        groups: GroupSource
        caveat: Callable[[], str]
        if wants_direct(options):
            groups = direct = stack.enter_context(InProcessWatch(*cluster_settings(options)))
            settled = not once or direct.settled(SETTLE_SECONDS_MAX)
            caveat = partial(_unread, direct, "" if settled else "more records are being read")
        else:
            groups = agent = agent_api(options)
            caveat = agent.unready
        if once:
            return _once(groups, caveat, options)
        from rebalance_agent.cli.screens.watch_app import GroupsScreen, WatchApp  # noqa: PLC0415 - printing once needs no Textual

        WatchApp(GroupsScreen(groups, caveat, options.filter, options.sort, options.interval)).run()
    return 0


def _unread(direct: InProcessWatch, otherwise: str) -> str:
    """Return a sentence with what ``direct`` has not read or may not read; empty if it and ``otherwise`` are empty."""
    missing = direct.missing() or otherwise
    return f"data is incomplete: {missing}" if missing else ""


def _once(groups: GroupSource, caveat: Callable[[], str], options: argparse.Namespace) -> int:
    answer = groups.groups(GroupQuery(limit=LIMIT_MAX))
    if text := caveat():
        print(f"rebalance-agent watch: {printable(text)}", file=sys.stderr)
    rows = matching(group_rows(answer, options.sort), options.filter)
    print(groups_text(rows) if options.output == "table" else _written(answer, rows, options.output))
    if not rows:
        nothing = _no_match(options.filter, answer) if answer.total else _without_groups(options)
        print(f"rebalance-agent watch: {printable(nothing)}", file=sys.stderr)
    return int(not rows and answer.total > 0)


def _without_groups(options: argparse.Namespace) -> str:
    if wants_direct(options):
        return "there are no groups"
    return (
        "the observer shows no groups. If replicas share the partitions of __consumer_offsets, each replica shows only "
        "its own groups: use the --url of another replica, or --bootstrap-servers"
    )


def _no_match(wanted: str, answer: GroupList) -> str:
    total = answer.total
    groups = f"none of the {total:,} groups matches" if total > 1 else "the only group does not match"
    return f"{groups} {wanted!r}{did_you_mean(wanted, [summary.group for summary in answer.groups])}"


def _written(answer: GroupList, rows: Sequence[WatchRow], form: str) -> str:
    """Return the groups of ``rows`` in the order of the rows, in the API's form."""
    groups = {summary.group: value_to_json(summary) for summary in answer.groups}
    chosen = [groups[row.group] for row in rows]
    return as_csv(COLUMNS, chosen) if form == "csv" else as_text({"now_ms": answer.now_ms, "groups": chosen}, form)
