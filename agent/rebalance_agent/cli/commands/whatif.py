"""``rebalance-agent whatif``: replays a group's recorded rebalances through other assignors and recommends one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from rebalance_agent.advice import (
    RecordedHistory,
    ReplaySettings,
    fidelity,
    history_of,
    instrumented_generations,
    recommend,
    what_if,
)
from rebalance_agent.api.query import NotKnownError
from rebalance_agent.assignors import STRATEGIES, find_setting, known_strategies, strategy
from rebalance_agent.assignors.strategy_registry import unusable_plugins
from rebalance_agent.cli.command_parser import AnyText, add_command, not_empty
from rebalance_agent.cli.inputs.groups_access import add_access_flags, add_host_flag, host_names, quiet_logs
from rebalance_agent.cli.inputs.whatif_past import find_past
from rebalance_agent.cli.output_flag import add_output_flag, as_csv, as_text
from rebalance_agent.cli.screens.whatif_text import CSV_COLUMNS, as_json, csv_rows, text
from rebalance_agent.errors import InvalidInputError, RebalanceAgentError
from rebalance_agent.model.events import AssignEvent
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.runtime.watch.history_reader import GroupPast
from rebalance_agent.ui.words import printable

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Replays a group's recorded rebalances with every assignor of the library, or with some of them. One sentence names a
better assignor and what it would have saved, or states that no assignor is better.

In each rebalance, an assignor gets the members' subscriptions at that time, and its own assignment of the previous
rebalance. The eager and the cooperative form of an assignor move the same partitions; only the stalls differ.
"""

EPILOG = """\
columns:
  SKEW     the most loaded member's partitions divided by the share that its assignor promises: the mean over all
           rebalances, 1 is best; WORST is the highest value of one rebalance
  ONE HOST share of topics with all their partitions on one host although other hosts could own some (the mean; 0 %
           if a random distribution could explain it); RESTART is the number of such topics if all members stopped
           and started again, so that no member owned a partition. Both are shown only if members are on several
           hosts
  MOVED    partitions that moved from one member to another; EXCESS: moves that were not needed for the same balance
  STALLED  partition-seconds without a consumer: recorded in the first line, predicted in all other lines (from
           the times at which members stopped and joined)

examples:
  rebalance-agent whatif orders
  rebalance-agent whatif orders --strategy cooperative-sticky --strategy roundrobin
  rebalance-agent whatif orders --bootstrap-servers localhost:9092 --protocol cooperative
  rebalance-agent whatif orders --events rebalance-events.ndjson.gz --json | jq -r .recommendation.sentence

An agent keeps at most the last 50 rebalances of each group since the agent's start. A cluster's topic
rebalance-events, or a file of events, can contain more rebalances.

exit codes: 0 done, 1 the group is unknown, 2 wrong usage, or no response
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its flags."""
    text = "show what a group's rebalances would have cost with other assignors"
    parser = add_command(subparsers, "whatif", text, DESCRIPTION, EPILOG)
    parser.add_argument("group", type=not_empty, metavar="GROUP", help="the group's id")
    parser.add_argument(
        "--strategy",
        type=AnyText(STRATEGIES),
        metavar="NAME",
        action="append",
        help="replay only this strategy; repeatable (`rebalance-agent strategies` lists them)",
    )
    parser.add_argument(
        "--protocol",
        choices=[RebalanceProtocol.EAGER.value, RebalanceProtocol.COOPERATIVE.value],
        help="replay strategies of this protocol only",
    )
    parser.add_argument(
        "--assignor-config",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="assignor setting for all members; repeatable",
    )
    add_host_flag(parser)
    parser.add_argument("--events", metavar="FILE", help="a file of events, one JSON object per line (.gz: compressed)")
    add_output_flag(parser, "table", csv_rows="assignor", json_help="short for --output json")
    add_access_flags(parser)
    parser.set_defaults(run=run, exit_codes={NotKnownError: 1, RebalanceAgentError: 2})


def run(options: argparse.Namespace) -> int:
    """Replay and print the comparison; return the exit code."""
    quiet_logs()
    names, settings = (
        _names(options.strategy, options.protocol),
        ReplaySettings(_config(options.assignor_config), host_names(options)),
    )
    if not options.strategy:
        for plugin in unusable_plugins():
            print(printable(f"rebalance-agent whatif: {plugin}"), file=sys.stderr)
    past = find_past(options)
    history = _history(past, options.group)
    comparison = what_if(history, names, settings)
    assigned = [event for event in past.events if isinstance(event, AssignEvent)]
    checked = fidelity(history, instrumented_generations(assigned))
    advice = recommend(comparison)
    if options.output == "table":
        print(text(comparison, checked, advice, past.source), end="")
        return 0
    result = as_json(comparison, checked, advice, past.source)
    print(as_csv(CSV_COLUMNS, csv_rows(result)) if options.output == "csv" else as_text(result, options.output))
    return 0


def _history(past: GroupPast, group: str) -> RecordedHistory:
    history = history_of(past.events)
    if history.last is None:
        raise NotKnownError(f"no rebalance of {group!r} is known from {past.source.splitlines()[0]}")
    return history


def _names(chosen: Sequence[str] | None, protocol: str | None) -> list[str]:
    every = list(map(strategy, dict.fromkeys(chosen))) if chosen else list(known_strategies().values())
    names = [each.name for each in every]
    left = [each.name for each in every if protocol is None or each.protocol == protocol]
    if not left:
        raise InvalidInputError("--protocol", f"none of {', '.join(names)} is {protocol}")
    return left


def _config(pairs: Sequence[str]) -> Mapping[str, str]:
    config = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        setting = find_setting(name)
        if not equals or setting is None:
            problem = "is not a setting of any strategy" if equals else "is not KEY=VALUE"
            raise InvalidInputError("--assignor-config", f"{pair[:80]!r} {problem}")
        setting.parse(value)
        config[name] = value
    return config
