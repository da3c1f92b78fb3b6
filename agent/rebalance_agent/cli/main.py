"""``rebalance-agent``: finds the command and imports only what that command needs.

Exit codes of every command: 0 done, 1 done with findings or failed, 2 wrong usage or input, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType

import rebalance_agent
from rebalance_agent.errors import RebalanceAgentError

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "assign": ("assign partitions to a group's members as an assignor would, and judge the result", ""),
    "check": ("prove that the agent has what it needs of a cluster, and tell how to get what is missing", "agent"),
    "decode": ("print records of __consumer_offsets as JSON", ""),
    "demo": ("show real rebalances on an embedded Kafka", "demo"),
    "explain": ("say in words why a group's last rebalances happened, and what they cost", "agent"),
    "observe": ("watch a cluster's groups and export what their rebalances cost", "agent"),
    "sidecar": ("take rebalance events from the consumers of this pod, export and publish them", "agent"),
    "strategies": ("list the assignors with what they promise and their settings", ""),
    "watch": ("show groups and their rebalances, live", "watch"),
}
"""Command -> what it does, and the extra that brings its packages."""

INTERRUPTED = 130
"""128 + SIGINT, as shells report it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command with ``argv`` (default: the process's own) and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    command = next((word for word in arguments if not word.startswith("-")), None)
    if command not in COMMANDS:
        if command is not None:
            parser.error(f"there is no command {command!r}; the commands are {', '.join(COMMANDS)}")
        parser.parse_args(arguments)
        parser.print_help()
        return 2
    module = _load(command)
    if module is None:
        return 1
    commands = parser.add_subparsers(metavar="COMMAND")
    module.add_parser(commands)
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except RebalanceAgentError as error:
        print(f"rebalance-agent {command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has what it wanted; the interpreter must not complain about it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    parser = argparse.ArgumentParser(
        prog="rebalance-agent",
        description=rebalance_agent.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="commands:\n"
        + "".join(f"  {name:<{width}}  {text}\n" for name, (text, _) in COMMANDS.items())
        + "\n`rebalance-agent COMMAND --help` explains a command.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {rebalance_agent.__version__}")
    return parser


def _load(command: str) -> ModuleType | None:
    try:
        return importlib.import_module(f"rebalance_agent.cli.{command}")
    except ModuleNotFoundError as error:
        extra = COMMANDS[command][1]
        if not extra or (error.name or "").startswith("rebalance_agent"):
            raise
        print(
            f"rebalance-agent {command}: the package {error.name!r} is missing; "
            f"install it with: pip install 'kafka-rebalance-agent[{extra}]'",
            file=sys.stderr,
        )
        return None


if __name__ == "__main__":
    sys.exit(main())
