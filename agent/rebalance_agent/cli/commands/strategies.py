"""``rebalance-agent strategies``: lists the assignors with their protocol names, promises and settings."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterable

from rebalance_agent.assignors import STRATEGIES, Strategy, strategy
from rebalance_agent.ui.words import LINE_CHARACTERS

__all__ = ["add_parser", "run"]


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command's arguments."""
    parser = subparsers.add_parser(
        "strategies",
        help="list the assignors with their guarantees and settings",
        description="Lists the assignors by their names on the wire, with their guarantees and settings. "
        "`rebalance-agent assign` tries one on a group.",
    )
    parser.add_argument("name", metavar="NAME", nargs="*", help="only these (default: all)")
    parser.add_argument("--json", action="store_true", help="as JSON, one array")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command; 0: done, 2: an unknown name."""
    chosen = [strategy(name) for name in args.name] or list(STRATEGIES.values())
    print(json.dumps([_as_json(each) for each in chosen], indent=2) if args.json else _as_text(chosen), flush=True)
    return 0


def _as_text(chosen: Iterable[Strategy]) -> str:
    return "\n\n".join(
        "\n".join(
            [
                f"{each.name}  ({each.protocol})",
                *textwrap.wrap(each.summary, LINE_CHARACTERS, initial_indent="  ", subsequent_indent="  "),
                *(
                    line
                    for setting in each.config
                    for line in textwrap.wrap(
                        setting.describe(), LINE_CHARACTERS, initial_indent="    ", subsequent_indent="      "
                    )
                ),
            ]
        )
        for each in chosen
    )


def _as_json(each: Strategy) -> dict[str, object]:
    return {
        "name": each.name,
        "protocol": each.protocol,
        "promise": each.summary,
        "settings": [
            {
                "name": setting.name,
                "default": setting.default if isinstance(setting.default, (int, float, str)) else None,
                "values": setting.values,
                "shared": setting.shared,
                "meaning": setting.meaning,
            }
            for setting in each.config
        ],
    }
