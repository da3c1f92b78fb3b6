"""Generates command-line flags and their help from a settings model, like the tables in ``docs/``."""

from __future__ import annotations

import argparse
import re
import typing
from collections.abc import Mapping
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from rebalance_agent.cluster.tokens.login_options import CONFIG, has_other_options
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.settings.agent_ports import SERVERS_HELP
from rebalance_agent.runtime.settings.kafka_config import SECRET_PROPERTIES, property_name
from rebalance_agent.runtime.settings.roles import ENV_PREFIX, AgentSettings
from rebalance_agent.runtime.settings.text_types import SERVERS
from rebalance_agent.runtime.settings.webhook_target import is_shown_whole

__all__ = ["HELP_GROUPS", "add_flags", "default_text", "environment_variable", "flag", "flag_values", "kafka_flags"]

_LISTED = "all users of this machine could read it in the process list"

_WEBHOOK = "events_webhook"
"""The setting with a URL whose path may be secret, as those of chats are."""

_PART_STARTS = "?#;%"
"""Characters that begin a part of a URL that may be secret: query, fragment, parameters, or any of them escaped."""

_OPTIONAL_VALUE: Mapping[str, Any] = {"nargs": "?", "const": "true"}
_METAVARS: Mapping[object, str] = {bool: "true|false", int: "N", float: "SECONDS"}
_METAVARS_OF_TEXTS = {
    r"kafka_config|events_file|.*_file": "FILE",
    r".*listen": "HOST:PORT",
    r".*_topic": "TOPIC",
    r".*_(allow|deny)|lag_groups|events_webhook_groups": "REGEX",
    r"events_webhook": "URL",
}
"""Pattern for names of settings -> metavar of their text."""

HELP_GROUPS = {
    "the cluster": r"config|bootstrap_servers|kafka.*",
    "published events": r"events_topic|events_file.*|events_webhook.*",
    "web port": r"listen|tls_.*|web_.*",
    "events that consumers and sidecars post": r"events_(listen|token|tls).*",
    "groups and topics": r"source|.*(groups|topics)_(allow|deny)|copartitioned|stall_limits|host_names",
    "lag": r"lag_.*|max_lag_.*",
    "size of /metrics": r"max_.*|top_topics",
    "times": r".*interval.*|settle_seconds",
    "replicas, snapshots and baselines": r"replicas_group|state_topic|baselines_topic",
    "the gateway": r"gateway_.*",
    "the process": r"cluster_name|log_.*|stop_seconds|idle|read_only",
}
"""Title of a group of flags in ``--help`` -> pattern for the names of its settings; the first match applies."""


def add_flags(parser: argparse.ArgumentParser, *models: type[AgentSettings]) -> None:
    """Add one flag to ``parser`` for every setting of the ``models``, with its default and environment name."""
    fields = {name: field for model in models for name, field in model.model_fields.items()}
    titles = {name: _title(name) for name in ("config", "bootstrap_servers", *fields)}
    groups = {title: parser.add_argument_group(title) for title in HELP_GROUPS if title in titles.values()}
    groups[titles["config"]].add_argument(
        "--config", metavar="FILE", default=None, help=f"YAML or TOML file with settings (env {ENV_PREFIX}CONFIG)"
    )
    groups[titles["bootstrap_servers"]].add_argument(
        "--bootstrap-servers", metavar="HOST:PORT,...", default=None, help=SERVERS_HELP
    )
    for name, field in fields.items():
        groups[titles[name]].add_argument(
            flag(name),
            action="append" if name == "kafka" else "store",
            **(_OPTIONAL_VALUE if field.annotation is bool else {}),
            metavar="KEY=VALUE" if name == "kafka" else _metavar(name, field),
            default=None,
            help=_help(name, field).replace("%", "%%"),
        )


def flag_values(options: argparse.Namespace, model: type[AgentSettings]) -> dict[str, Any]:
    """Return setting -> value for the settings that were given as flags.

    Raises:
        InvalidInputError: a ``--kafka`` has no ``=``, or a flag contains a secret.
    """
    values = {name: getattr(options, name) for name in model.model_fields if name != "kafka"}
    kafka = kafka_flags(options)
    for name, value in values.items():
        where = f"use the variable {environment_variable(name)}, or a file with --config"
        if value is not None and _has_secret(value):
            raise InvalidInputError(flag(name), f"{_LISTED}: {where}")
        if value is not None and name == _WEBHOOK and not is_shown_whole(value):
            raise InvalidInputError(flag(name), f"the URL's path may be secret, and {_LISTED}: {where}")
    return {name: value for name, value in values.items() if value is not None} | ({"kafka": kafka} if kafka else {})


def kafka_flags(options: argparse.Namespace) -> dict[str, str]:
    """Return the Kafka client properties that were given as ``--kafka`` and ``--bootstrap-servers``.

    Raises:
        InvalidInputError: a ``--kafka`` has no ``=``, or contains a secret.
    """
    kafka: dict[str, str] = {}
    for entry in options.kafka or ():
        key, equals, value = entry.partition("=")
        if not (equals and key):
            raise InvalidInputError("--kafka", "must be KEY=VALUE, such as security.protocol=SSL")
        name = property_name(key)
        if name in SECRET_PROPERTIES or (name == CONFIG and has_other_options(value)):
            raise InvalidInputError(
                f"--kafka {name}",
                f"{_LISTED}: use --kafka {name}.file=PATH, or the "
                f"variable {ENV_PREFIX}KAFKA__{name.replace('.', '_').upper()}",
            )
        if _has_secret(value):
            variable = f"{ENV_PREFIX}KAFKA__{name.replace('.', '_').upper()}"
            raise InvalidInputError(
                f"--kafka {name}", f"{_LISTED}: use the variable {variable}, or a file with --config"
            )
        kafka[key] = value
    if options.bootstrap_servers is not None:
        kafka[SERVERS] = options.bootstrap_servers
    return kafka


def flag(name: str) -> str:
    """Return the flag for the setting ``name``: ``--settle-seconds`` for ``settle_seconds``."""
    return "--" + name.replace("_", "-")


def environment_variable(name: str) -> str:
    """Return the environment variable for the setting ``name``; ``kafka`` has one variable for each property."""
    return f"{ENV_PREFIX}KAFKA__BOOTSTRAP_SERVERS, ..." if name == "kafka" else ENV_PREFIX + name.upper()


def default_text(field: FieldInfo) -> str:
    """Return the default of a setting as users write it; an empty string if there is no default."""
    if isinstance(field.default, bool):
        return str(field.default).lower()
    return "" if field.default in (PydanticUndefined, None) else str(field.default)


def _has_secret(value: str) -> bool:
    """Return whether a URL in ``value`` has a user, a password, or one of `_PART_STARTS`."""
    return any("@" in url.partition("/")[0] or set(_PART_STARTS) & set(url) for url in value.split("://")[1:])


def _help(name: str, field: FieldInfo) -> str:
    return f"{field.description} (default {default_text(field) or 'none'}; env {environment_variable(name)})"


def _metavar(name: str, field: FieldInfo) -> str:
    text = next((shown for names, shown in _METAVARS_OF_TEXTS.items() if re.fullmatch(names, name)), "TEXT")
    return _METAVARS.get(field.annotation) or "|".join(typing.get_args(field.annotation)) or text


def _title(name: str) -> str:
    return next(title for title, names in HELP_GROUPS.items() if re.fullmatch(names, name))
