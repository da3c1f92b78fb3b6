"""Reads settings from a file, the environment and flags, merges them in this order, and names the invalid settings."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import EnvSettingsSource, SettingsError

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.regular_files import regular_file
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from rebalance_agent.runtime.settings.java_properties import client_file_properties
from rebalance_agent.runtime.settings.kafka_config import USUAL_PROPERTIES, property_name
from rebalance_agent.runtime.settings.roles import ENV_PREFIX, AgentSettings, ObserverSettings
from rebalance_agent.visible_names import did_you_mean

__all__ = ["FILE_BYTES_MAX", "SettingsErrors", "load", "misspelt_environment"]

FILE_BYTES_MAX = 1 << 20
"""Maximum size of a settings file in bytes; such files usually have some kilobytes."""

_Settings = TypeVar("_Settings", bound=AgentSettings)

SHOWN_MAX = 100
"""Maximum number of characters of a wrong value in an error."""

SIMILAR = 0.9
"""Minimum similarity (0 to 1) of a misspelt name to a variable: one or two letters differ."""


_OF_A_SERVICE = re.compile(r"(tcp|udp|sctp)://")
"""Start of the values of NAME_PORT variables that Kubernetes sets for a service NAME."""


class SettingsErrors(InvalidInputError):  # noqa: N818 - it contains several errors
    """All invalid settings of a role, one line for each."""

    def __init__(self, problems: Iterable[tuple[str, str]]) -> None:
        """``problems`` are pairs of a field and the field's problem."""
        self.lines = tuple(f"{field}: {problem}" if field else problem for field, problem in problems)
        super().__init__("", "\n".join(self.lines))


def load(model: type[_Settings], file: str | None, flags: Mapping[str, Any]) -> _Settings:
    """Return a role's settings from ``file`` (YAML, TOML or None), the environment and ``flags`` (name -> text).

    Raises:
        SettingsErrors: the file cannot be read, or names are unknown or values invalid (reported together).
    """
    merged: dict[str, Any] = {}
    for source in (_from_file(file) if file else {}, _from_environment(model), flags):
        for name, value in source.items():
            before = merged.get(name)
            if name == "kafka" and isinstance(value, Mapping):
                # One spelling before merging: REBALANCE_AGENT_KAFKA__BOOTSTRAP_SERVERS overrides bootstrap.servers.
                value = {str(key).replace("_", "."): each for key, each in value.items()}  # noqa: PLW2901
            merged[name] = {**before, **value} if isinstance(before, dict) and isinstance(value, Mapping) else value
    if odd := [name for name, value in merged.items() if not _is_text((name, value))]:
        raise SettingsErrors((ascii(name).strip("'"), "is not UTF-8 text") for name in odd)
    given = merged.get("kafka", {})
    if merged.get("kafka_config") and isinstance(given, dict):
        merged["kafka"] = client_file_properties(str(merged["kafka_config"]), given) | given
    try:
        return model(**merged)
    except ValidationError as error:
        problems = [(".".join(map(str, wrong["loc"])), _text(wrong, model)) for wrong in error.errors()]
        raise SettingsErrors(problems) from None


def misspelt_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return variable that looks like a misspelt setting -> variable that is probably meant.

    Other variables with the prefix are ignored: Kubernetes sets some for its services, and tests and consumers have
    their own.
    """
    fields = {name.upper() for model in (ObserverSettings, GatewaySettings) for name in model.model_fields}
    variables = {ENV_PREFIX + name for name in fields | {"CONFIG"}}
    names = {name: name.partition("__")[0] for name in environment if name.startswith(ENV_PREFIX)}
    return {
        name: meant
        for name, plain in sorted(names.items())
        if plain not in variables
        and not _OF_A_SERVICE.match(environment[name])
        and (meant := _variable_meant(plain, variables))
    }


def _variable_meant(name: str, variables: Iterable[str]) -> str:
    """Return the variable that ``name`` is probably a misspelling of; an empty string if there is none."""
    setting = name.removeprefix(ENV_PREFIX)
    if _is_of_kafka(setting.lower()):
        return f"{ENV_PREFIX}KAFKA__{setting}"
    return next(iter(difflib.get_close_matches(name, variables, 1, SIMILAR)), "")


def _is_of_kafka(name: str) -> bool:
    return property_name(name) in USUAL_PROPERTIES


def _from_environment(model: type[AgentSettings]) -> dict[str, Any]:
    try:
        return EnvSettingsSource(model)()
    except SettingsError as error:
        raise SettingsErrors([("environment", str(error))]) from None


def _from_file(file: str) -> dict[str, Any]:
    path = Path(file)
    if path.suffix not in (".yaml", ".yml", ".toml"):
        raise SettingsErrors([("config", f"{file} must end in .yaml, .yml or .toml")])
    try:
        with regular_file(file) as opened:
            text = opened.read(FILE_BYTES_MAX + 1)
        if len(text) > FILE_BYTES_MAX:
            raise SettingsErrors([("config", f"{file} has more than {FILE_BYTES_MAX} bytes")])
        data = tomllib.loads(text.decode()) if path.suffix == ".toml" else yaml.safe_load(text)
    except OSError as error:
        raise SettingsErrors([("config", f"cannot read {file}: {error.strerror}")]) from None
    except yaml.MarkedYAMLError as error:
        # The error's own text quotes the wrong line, which may contain a password.
        mark = error.problem_mark
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise SettingsErrors([("config", f"{file} is not valid: {error.problem}{where}")]) from None
    # ValueError: invalid TOML, bytes that are not UTF-8, invalid dates in YAML; RecursionError: deep nesting.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SettingsErrors([("config", f"{file} is not valid: {' '.join(str(error).split())}")]) from None
    if data is None:
        return {}
    if not isinstance(data, dict) or any(not isinstance(key, str) for key in data):
        raise SettingsErrors([("config", f"{file} must contain a mapping of setting names to values")])
    return data


def _is_text(value: object) -> bool:
    """Return whether all texts in ``value`` are UTF-8: in variables and flags, other bytes become lone surrogates."""
    if isinstance(value, str):
        return value.isascii() or value == value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return all(map(_is_text, value.items()))
    return all(map(_is_text, value)) if isinstance(value, list | tuple) else True


def _text(error: Mapping[str, Any], model: type[AgentSettings]) -> str:
    if error["type"] == "extra_forbidden":
        name = str(error["loc"][-1])
        if _is_of_kafka(name):
            return f"is not a known setting; it is a property of Kafka's clients: kafka: {{{property_name(name)}: ...}}"
        return "is not a known setting" + did_you_mean(name, model.model_fields)
    text = str(error["msg"]).removeprefix("Value error, ")
    text = text[:1].lower() + text[1:]
    value = error["input"]
    # A text may be secret, such as a webhook's URL.
    is_public = error["loc"] and not _is_text_setting(model.model_fields[str(error["loc"][0])])
    return f"{text}: {value!r:.{SHOWN_MAX}}" if is_public and isinstance(value, str | int | float) else text


def _is_text_setting(field: FieldInfo) -> bool:
    return field.annotation not in {bool, int, float} and typing.get_origin(field.annotation) is not Literal
