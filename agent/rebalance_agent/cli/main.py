"""The entry point of ``rebalance-agent``: selects the command and imports only that command's modules.

Every command has these exit codes: 0 done, 1 done with findings or failed, 2 wrong usage or input, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType, ModuleType

import rebalance_agent
from rebalance_agent.cli.color_flag import choose_colors
from rebalance_agent.cli.command_list import COMMANDS
from rebalance_agent.cli.command_parser import CommandParser, refuse
from rebalance_agent.cli.saved_help import saved_help
from rebalance_agent.errors import AssignmentError, ClusterError, InvalidInputError, RebalanceAgentError, check_hint
from rebalance_agent.extras import install_text
from rebalance_agent.visible_names import did_you_mean

__all__ = ["main"]

EXIT_CODES: dict[type[RebalanceAgentError], int] = {InvalidInputError: 2, AssignmentError: 2, RebalanceAgentError: 1}
"""Error -> exit code; the first match applies. A command with different codes sets ``exit_codes`` in its parser."""

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + SIGINT, as shells report it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command with ``argv`` (default: the arguments of the process), and return the exit code."""
    if argv is None and os.getpid() == 1:
        # The kernel delivers a signal to a container's first process only if the process has a handler for it.
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        return _main(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:  # importing a command's modules takes a second, too
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) closed the pipe; without this line the interpreter would report that again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _main(arguments: list[str]) -> int:
    parser = _parser()
    command = _command(arguments)
    if command == "help":
        arguments.remove("help")
        arguments.append("--help")
        command = _command(arguments)
    if command not in COMMANDS:
        if command is not None:
            meant = did_you_mean(command, COMMANDS) or f"; the commands are {', '.join(COMMANDS)}"
            parser.error(f"there is no command {command!r}{meant}")
        _, unknown = parser.parse_known_args(arguments)
        if unknown:
            refuse(unknown[0], parser)
        parser.print_help()
        return 2
    try:
        module = _imported(f"rebalance_agent.cli.commands.{command}")
    except ModuleNotFoundError as error:
        return _missing(command, error, arguments)
    commands = parser.add_subparsers(metavar="COMMAND", prog=parser.prog)
    module.add_parser(commands)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        refuse(unknown[0], parser if unknown[0] == arguments[0] else commands.choices[command])
    choose_colors(getattr(options, "color", "auto"))
    try:
        return int(options.run(options))
    except ModuleNotFoundError as error:
        return _missing(command, error, arguments)
    except RebalanceAgentError as error:
        # Imported here: the module imports two hundred others, and Ctrl-C would print a traceback until main() runs.
        printable = importlib.import_module("rebalance_agent.ui.words").printable
        text = "\n".join(map(printable, str(error).split("\n")))
        print(f"rebalance-agent {command}: {text}", file=sys.stderr)
        if isinstance(error, ClusterError):
            print(check_hint(), file=sys.stderr)
        codes: dict[type[RebalanceAgentError], int] = getattr(options, "exit_codes", EXIT_CODES)
        return next(code for kind, code in codes.items() if isinstance(error, kind))


def _command(arguments: Sequence[str]) -> str | None:
    return next((word for word in arguments if not word.startswith("-")), None)


def _imported(name: str) -> ModuleType:
    """Import a module without garbage collection: modules are never freed, so collections would waste 0.25 s."""
    gc.disable()
    try:
        with _interruptible():
            return importlib.import_module(name)
    finally:
        gc.enable()


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt after Ctrl-C also if the imported code turns it into another error, as pydantic does."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored, or the caller's
        yield
        return
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Exception:
        if interrupted:
            raise KeyboardInterrupt from None
        raise
    else:
        if interrupted:  # Python only reports exceptions in destructors
            raise KeyboardInterrupt
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    parser = CommandParser(
        prog="rebalance-agent",
        usage="%(prog)s [-h] [--version] COMMAND ...",
        description=rebalance_agent.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="commands:\n"
        + "".join(f"  {name:<{width}}  {text}\n" for name, (text, _) in COMMANDS.items())
        + "\n`rebalance-agent COMMAND --help` explains a command.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {rebalance_agent.__version__}")
    return parser


_PACKAGES = {"py4j": "pyspark", "yaml": "pyyaml"}
"""Module name -> the name of the package that contains the module, where these names differ."""


def _missing(command: str, error: ModuleNotFoundError, arguments: Sequence[str]) -> int:
    """Print which extra installs the missing package, after the help if ``arguments`` ask for help.

    If the missing module belongs to this package, that is a bug, and the error is raised again.
    """
    extra = COMMANDS[command][1] or ("agent" if error.name == "yaml" else "")
    if not extra or (error.name or "").startswith("rebalance_agent"):
        raise error
    if extra == "agent" and (error.name or "").partition(".")[0] == "kafka":
        extra = "gateway"  # a sidecar can also run a gateway
    if text := saved_help(arguments):
        print(text, flush=True)
    print(
        f"rebalance-agent {command}: the package {_PACKAGES.get(error.name or '', error.name)!r} is missing; "
        f"run {install_text(extra)}",
        file=sys.stderr,
    )
    return 0 if text else 2


if __name__ == "__main__":
    sys.exit(main())
