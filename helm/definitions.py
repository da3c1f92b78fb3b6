"""Generated parts of the schema: settings of each role, values of each alert, annotations of pods."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from alerts.values import SEVERITIES

from helm.copies import thresholds
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from rebalance_agent.runtime.settings.roles import AgentSettings, ObserverSettings

__all__ = ["definitions"]

Schema = dict[str, Any]

OF_THE_CHART = (
    "cluster_name",
    "kafka",
    "listen",
    "tls_",
    "web_token_",
    "events_listen",
    "events_tls_",
    "events_token_",
)
"""Prefixes of settings that the chart creates from its own values."""

INJECTION = Path(__file__).parent / "rebalance-agent" / "files" / "injection.yaml"
"""The file with the allowed annotations and parameters of injected sidecars."""

_SERVER = (
    r" *((PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL)://)?"
    r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:([1-5]?[0-9]{1,4}|6[0-5][0-9]{3}))? *"
)
"""Pattern of one address in ``bootstrap.servers``: protocol and port are optional, as in the agent's settings."""

_DURATION = {"type": "string", "pattern": r"^\d+(ms|[smhd])$"}
_KEPT = ("type", "enum", "minimum", "maximum", "maxLength", "description", "default")


def definitions() -> dict[str, Schema]:
    """Return the schemas that a value's comment references with ``$ref: "#/definitions/NAME"``."""
    values = thresholds()
    shared = values.pop("shared")
    return {
        "alerts": {
            "type": "object",
            "additionalProperties": False,
            "properties": {name: _alert(own) for name, own in values.items()},
        },
        "alertNames": {"type": "array", "uniqueItems": True, "items": {"enum": list(values)}},
        "sharedOfAlerts": {
            "type": "object",
            "additionalProperties": False,
            "properties": {key: _parameter(key, value) for key, value in shared.items()},
        },
        "observerSettings": _settings(ObserverSettings),
        "stages": _stages(),
        "sidecarSettings": _settings(GatewaySettings),
        "seatLeases": _seat_leases(),
        "bootstrapServers": {"type": "string", "pattern": f"^( *|{_SERVER}(,{_SERVER})*,?)$"},
        "injectionAnnotations": _annotations_of_injection(),
        "injectionParameters": _parameters_of_injection(),
    }


def _annotations_of_injection() -> Schema:
    names = sorted(yaml.safe_load(INJECTION.read_text(encoding="utf-8")))
    return {"type": "array", "uniqueItems": True, "items": {"enum": names}}


def _parameters_of_injection() -> Schema:
    settings = yaml.safe_load(INJECTION.read_text(encoding="utf-8"))
    properties = {
        name: {"type": "string", "pattern": f"^({setting['form']})$", "description": setting["be"]}
        for name, setting in settings.items()
    }
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _seat_leases() -> Schema:
    name = {"type": "string", "pattern": "^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$"}
    properties: Schema = {
        "namespace": {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"},
        "serviceAccounts": {"type": "array", "uniqueItems": True, "items": name},
    }
    pods = {"type": "object", "additionalProperties": False, "required": ["namespace"], "properties": properties}
    return {"type": "array", "uniqueItems": True, "items": pods}


def _stages() -> Schema:
    properties: Schema = {
        "name": {"enum": ["ingest", "backfill", "aggregate", "whatif", "report", "maintain"]},
        "args": {"type": "array", "items": {"type": "string"}},
        "schedule": {"type": "string"},
    }
    stage = {"type": "object", "additionalProperties": False, "required": ["name"], "properties": properties}
    return {"type": "array", "minItems": 1, "items": stage}


def _alert(own: Mapping[str, object]) -> Schema:
    labels = {"type": "object", "additionalProperties": {"type": "string"}}
    durations = {"for": "", "keep_firing_for": ""}  # allowed for every alert
    properties = {key: _parameter(key, value) for key, value in {**durations, **own}.items()}
    return {"type": "object", "additionalProperties": False, "properties": {**properties, "labels": labels}}


def _parameter(key: str, value: object) -> Schema:
    by_key: dict[str, Schema] = {
        "across": {"enum": ["sum", "max"]},
        "for": _DURATION,
        "keep_firing_for": _DURATION,
        "severity": {"enum": list(SEVERITIES)},
        "slo": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    }
    if key in by_key:
        schema = by_key[key]
    elif isinstance(value, str) and re.fullmatch(_DURATION["pattern"], value):
        schema = _DURATION
    elif isinstance(value, str):
        schema = {"type": "string", "pattern": r"^https?://[^\s'\"]+$"}
    else:
        schema = {"type": "number", "minimum": 0}
    return schema | ({"default": value} if value else {})


def _settings(model: type[AgentSettings]) -> Schema:
    fields = model.model_json_schema()["properties"]
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {key: field[key] for key in _KEPT if key in field}
            for name, field in fields.items()
            if not name.startswith(OF_THE_CHART)
        },
    }
