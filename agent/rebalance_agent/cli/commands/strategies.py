"""``rebalance-agent strategies``: lists the assignors with their protocol names, promises and settings."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator

from rebalance_agent.assignors import STRATEGIES, Strategy, known_strategies, strategy
from rebalance_agent.assignors.plugins.installed_plugins import OUR_PACKAGE, Plugin
from rebalance_agent.assignors.strategy import COOPERATIVE_PREFIX
from rebalance_agent.assignors.strategy_registry import package_of, unusable_plugins
from rebalance_agent.cli.command_parser import AnyText
from rebalance_agent.cli.output_flag import add_output_flag, as_csv, as_text
from rebalance_agent.ui.words import LINE_CHARACTERS, printable

__all__ = ["add_parser", "run"]

COLUMNS = ("name", "protocol", "promise", "package", "problem")
"""Columns of CSV."""

DESCRIPTION = """\
Lists the assignors by their protocol names, with their guarantees and settings. Assignors of other packages are
included; if an assignor cannot be used, the list shows the reason. `rebalance-agent assign` applies an assignor to a
group.
"""

EPILOG = """\
examples:
  rebalance-agent strategies
  rebalance-agent strategies weighted-sticky lag-aware
  rebalance-agent strategies --json | jq -r '.[].name'

exit codes: 0 done, 2 an unknown name or wrong usage
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command's arguments."""
    parser = subparsers.add_parser(
        "strategies",
        help="list the assignors with their guarantees and settings",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name", type=AnyText(STRATEGIES), metavar="NAME", nargs="*", help="show only these assignors (default: all)"
    )
    add_output_flag(parser, "text", csv_rows="assignor", json_help="short for --output json")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command. Return 0: done, or 2: a name is unknown."""
    unusable = () if args.name else unusable_plugins()
    chosen = [strategy(name) for name in args.name] or list(known_strategies().values())
    if args.output == "text":
        print("\n\n".join([*_as_text(chosen), *map(_unusable_as_text, unusable)]), flush=True)
        return 0
    listed = [*map(_as_json, chosen), *map(_unusable_as_json, unusable)]
    print(as_csv(COLUMNS, listed) if args.output == "csv" else as_text(listed, args.output, 2), flush=True)
    return 0


def _protocol(assignor: Strategy) -> str:
    cooperative = COOPERATIVE_PREFIX + assignor.name
    form = f"; cooperative: {cooperative}" if cooperative in known_strategies() else ""
    return f"{assignor.protocol}{form}"


def _as_text(chosen: Iterable[Strategy]) -> Iterator[str]:
    for assignor in chosen:
        package = package_of(assignor.name)
        yield "\n".join(
            [
                f"{assignor.name}  ({_protocol(assignor)})"
                + ("" if package == OUR_PACKAGE else f"  from {printable(package)}"),
                *textwrap.wrap(assignor.summary, LINE_CHARACTERS, initial_indent="  ", subsequent_indent="  "),
                *(
                    line
                    for setting in assignor.config
                    for line in textwrap.wrap(
                        setting.describe(), LINE_CHARACTERS, initial_indent="    ", subsequent_indent="      "
                    )
                ),
            ]
        )


def _unusable_as_text(plugin: Plugin) -> str:
    return "\n".join(
        [
            f"{printable(plugin.name)}  (cannot be used)  from {printable(plugin.package)}",
            *textwrap.wrap(printable(plugin.problem), LINE_CHARACTERS, initial_indent="  ", subsequent_indent="  "),
        ]
    )


def _unusable_as_json(plugin: Plugin) -> dict[str, object]:
    return {
        "name": plugin.name,
        "protocol": None,
        "promise": None,
        "settings": [],
        "package": plugin.package,
        "problem": plugin.problem,
    }


def _as_json(assignor: Strategy) -> dict[str, object]:
    return {
        "name": assignor.name,
        "protocol": assignor.protocol,
        "promise": assignor.summary,
        "settings": [
            {
                "name": setting.name,
                "default": setting.default if isinstance(setting.default, (int, float, str)) else None,
                "values": setting.values,
                "shared": setting.shared,
                "meaning": setting.meaning,
            }
            for setting in assignor.config
        ],
        "package": package_of(assignor.name),
        "problem": None,
    }
