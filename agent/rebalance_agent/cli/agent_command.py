"""Flags, settings, signals and exit codes that ``observe``, ``sidecar``, ``gateway`` and ``check`` share.

SIGHUP restarts an observer or a sidecar with new settings, except in a terminal: a terminal also sends SIGHUP when it
closes.

Exit codes: 0 if a signal stopped the process, 1 if the process fails while it runs, 2 if the process cannot start. It
cannot start if a setting is wrong, a file that a setting names cannot be used, or an address cannot be listened on.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import structlog

from rebalance_agent.cli.color_flag import add_color_flag
from rebalance_agent.errors import InvalidInputError, ListenError
from rebalance_agent.runtime.listeners.free_address import listen_problem
from rebalance_agent.runtime.processes.logs import configure_logs
from rebalance_agent.runtime.processes.memory import tuned_memory
from rebalance_agent.runtime.processes.signals import stop_on_signals
from rebalance_agent.runtime.settings.flags import add_flags, flag, flag_values
from rebalance_agent.runtime.settings.kafka_config import client_properties, with_server_ports
from rebalance_agent.runtime.settings.roles import ENV_PREFIX, AgentSettings
from rebalance_agent.runtime.settings.settings_sources import SettingsErrors, load, misspelt_environment

__all__ = ["AgentRole", "add_agent_parser", "load_agent", "run_agent"]

_Settings = TypeVar("_Settings", bound=AgentSettings)


class AgentRole(Protocol):
    """A process that an agent command runs: an observer, a sidecar or a gateway."""

    def run(self, stop: threading.Event) -> None:
        """Run until ``stop`` is set."""
        ...


def add_agent_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    model: type[AgentSettings],
    description: str,
    epilog: str,
    *more: type[AgentSettings],
) -> argparse.ArgumentParser:
    """Add the command ``name`` with a flag for every setting of ``model`` and of the models in ``more``."""
    parser = subparsers.add_parser(
        name,
        # A usage with dozens of flags would hide the error below it.
        usage="%(prog)s [--config FILE] [--bootstrap-servers HOST:PORT,...] [--kafka KEY=VALUE] [SETTING ...]",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_flags(parser, model, *more)
    add_color_flag(parser)
    return parser


def load_agent(
    name: str, model: type[_Settings], args: argparse.Namespace, *, logs: bool = False, connects: bool = True
) -> tuple[_Settings, dict[str, str]] | None:
    """Load settings and Kafka properties, and set up logging. If a setting is wrong, print the errors; return None.

    ``logs``: whether warnings are written to the log, as a process that keeps running does; otherwise they are printed.
    ``connects``: whether the login must be complete, and its files readable.
    """
    try:
        settings, properties = _load(model, args, connects=connects)
    except InvalidInputError as error:
        for line in error.lines if isinstance(error, SettingsErrors) else (error,):
            print(f"rebalance-agent {name}: {line}", file=sys.stderr)
        return None
    configure_logs(settings.log_level, settings.log_format)
    for variable, meant in misspelt_environment().items():
        if logs:
            structlog.get_logger("rebalance_agent.settings").warning("misspelt_environment", name=variable, meant=meant)
        else:
            text = f"the variable {variable} is ignored; did you mean {meant}?"
            print(f"rebalance-agent {name}: {text}", file=sys.stderr)
    return settings, properties


def run_agent(
    name: str,
    model: type[_Settings],
    args: argparse.Namespace,
    make: Callable[[_Settings, dict[str, str]], AgentRole],
    restarts: Callable[[_Settings], bool] = lambda _settings: True,
    used: Callable[[_Settings], AgentSettings] = lambda settings: settings,
) -> int:
    """Run the process that ``make`` builds until a signal, and return the exit code.

    On SIGHUP, the process stops cleanly and starts again with the current settings and secrets, if these are valid and
    ``restarts`` returns True for the former settings. ``used``: returns only the settings that the process uses.
    """
    loaded = load_agent(name, model, args, logs=True)
    if loaded is None:
        return 2
    stop, again = threading.Event(), threading.Event()

    def hang_up() -> None:
        if _may_restart(model, args, restarts=restarts(loaded[0])):
            again.set()
            stop.set()

    try:
        with stop_on_signals(stop, on_hangup=None if _in_terminal() else hang_up), tuned_memory():
            make(*loaded).run(stop)
    except (InvalidInputError, ListenError) as error:
        lines = _listen_errors(error, used(loaded[0])) if isinstance(error, ListenError) else (error,)
        for line in lines:
            print(f"rebalance-agent {name}: {line}", file=sys.stderr)
        return 2
    if again.is_set():
        # Executes a new program in the same process: no old state is left, and for the supervisor there is no restart.
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - with its own arguments
    return 0


def _in_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _load(
    model: type[_Settings], args: argparse.Namespace, *, connects: bool = True
) -> tuple[_Settings, dict[str, str]]:
    file = args.config or os.environ.get(f"{ENV_PREFIX}CONFIG") or None
    settings = load(model, file, flag_values(args, model))
    return settings, (client_properties if connects else with_server_ports)(settings.kafka)


def _may_restart(model: type[AgentSettings], args: argparse.Namespace, *, restarts: bool) -> bool:
    """Return whether SIGHUP leads to a restart; if it does not, log the reason."""
    log = structlog.get_logger("rebalance_agent.settings")
    if not restarts:
        log.warning(
            "not_restarted",
            reason="a reload would close the connections of the gateway's clients: restart the pod instead",
        )
        return False
    try:
        _load(model, args)
    except InvalidInputError as error:
        log.warning("not_restarted", reason=str(error))
        return False
    log.info("restarting", reason="SIGHUP")
    return True


def _listen_errors(first: ListenError, settings: AgentSettings) -> Iterator[str]:
    """Yield ``first`` and the errors of all other addresses in ``settings``, each with the flag that changes it.

    A process ends at its first address that cannot be listened on. A user that corrected only this address would get
    the next error at the next start.
    """
    addresses = {setting: value for setting, value in settings if setting.endswith("listen") and value}
    set_by = next((setting for setting, value in addresses.items() if value == first.address), None)
    yield f"{first}; choose another with {flag(set_by)}" if set_by else str(first)
    for setting, address in addresses.items():
        if setting != set_by and (problem := listen_problem(address)):
            yield f"{ListenError(address, problem)}; choose another with {flag(setting)}"
