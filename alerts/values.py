"""Reads the thresholds: ``values.yaml`` and files that override it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

__all__ = ["DEFAULTS", "FIXED", "SEVERITIES", "Value", "Values", "ValuesError", "load", "seconds"]

Value = str | int | float

DEFAULTS = Path(__file__).with_name("values.yaml")
SEVERITIES = ("critical", "warning", "info")

FIXED = frozenset({"interval", "long", "memory", "short", "window"})
"""Values that are part of recording rule names or that numbers are computed from; they cannot be placeholders."""

_DURATION = re.compile(r"(\d+)(ms|[smhd])")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


class ValuesError(ValueError):
    """A name is unknown, or a value has the wrong type. The message contains it and the valid names or types."""


@dataclass(frozen=True)
class Values:
    """``shared`` applies to all alerts; ``alerts`` is alert name -> parameter -> number, duration or word."""

    shared: Mapping[str, Value]
    alerts: Mapping[str, Mapping[str, Value]]


def load(*overrides: Path) -> Values:
    """Return the defaults, overridden by the files in order.

    Raises:
        ValuesError: a file contains an unknown name, or a value of the wrong type.
    """
    chosen = _read(DEFAULTS)
    for path in overrides:
        chosen = _over(chosen, _read(path), str(path))
    return Values(chosen["shared"], chosen["alerts"])


def seconds(duration: str) -> float:
    """Return the seconds of a Prometheus duration such as ``15m``.

    Raises:
        ValuesError: it is not a duration.
    """
    if not (matched := _DURATION.fullmatch(duration)):
        raise ValuesError(f"{duration!r} is not a duration: write 30s, 15m, 6h or 3d")
    return int(matched[1]) * _SECONDS[matched[2]]


def _read(path: Path) -> dict[str, Any]:
    found = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    if not isinstance(found, dict):
        raise ValuesError(f"{path}: the file must have the keys of {DEFAULTS.name}")
    return found


def _over(base: object, above: object, where: str) -> Any:  # noqa: ANN401 - any YAML value
    if isinstance(base, dict):
        if not isinstance(above, dict):
            raise ValuesError(f"{where}: expected a mapping with the keys {', '.join(base)}")
        if unknown := sorted(set(above) - set(base)):
            close = difflib.get_close_matches(str(unknown[0]), base, 1)
            meant = f" (did you mean {close[0]}?)" if close else ""
            names = ", ".join(map(str, unknown))
            raise ValuesError(f"{where}: unknown name: {names}{meant}; valid names: {', '.join(base)}")
        return base | {key: _over(base[key], value, f"{where}: {key}") for key, value in above.items()}
    return _words(base, above, where) if isinstance(base, str) else _number(base, above, where)


def _words(base: str, above: object, where: str) -> str:
    if not isinstance(above, str):
        raise ValuesError(f"{where}: {above!r} is not a string such as {base}")
    for closed in (SEVERITIES, ("sum", "max")):
        if base in closed and above not in closed:
            raise ValuesError(f"{where}: {above!r} is not one of {', '.join(closed)}")
    if _DURATION.fullmatch(base):
        seconds(above)
    return above


def _number(base: object, above: object, where: str) -> int | float:
    if isinstance(above, bool) or not isinstance(above, int | float):
        raise ValuesError(f"{where}: {above!r} is not a number such as {base}")
    return above
