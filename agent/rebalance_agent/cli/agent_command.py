"""What ``observe`` and ``sidecar`` share: flags drawn from the settings, and settings loaded or refused."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TypeVar

import structlog

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.flags import add_flags, flag_values
from rebalance_agent.runtime.kafka_config import client_properties
from rebalance_agent.runtime.logs import configure_logs
from rebalance_agent.runtime.settings import ENV_PREFIX, AgentSettings
from rebalance_agent.runtime.sources import SettingsErrors, load, misspelt_environment

__all__ = ["add_agent_parser", "load_agent"]

_Settings = TypeVar("_Settings", bound=AgentSettings)


def add_agent_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    model: type[AgentSettings],
    description: str,
    epilog: str,
) -> argparse.ArgumentParser:
    """Add the command ``name`` with a flag for every setting of ``model``."""
    parser = subparsers.add_parser(
        name,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_flags(parser, model)
    return parser


def load_agent(name: str, model: type[_Settings], args: argparse.Namespace) -> tuple[_Settings, dict[str, str]] | None:
    """Settings and Kafka properties, with logging set up; None after telling on stderr what is wrong, a line each."""
    try:
        file = args.config or os.environ.get(f"{ENV_PREFIX}CONFIG") or None
        settings = load(model, file, flag_values(args, model))
        properties = client_properties(settings.kafka)
    except SettingsErrors as error:
        for line in error.lines:
            print(f"rebalance-agent {name}: {line}", file=sys.stderr)
        return None
    except InvalidInputError as error:
        print(f"rebalance-agent {name}: {error}", file=sys.stderr)
        return None
    configure_logs(settings.log_level, settings.log_format)
    for variable, meant in misspelt_environment().items():
        structlog.get_logger("rebalance_agent.settings").warning("misspelt_environment", name=variable, meant=meant)
    return settings, properties
