"""Decides whether colours, and lines that replace earlier lines, may be written to a stream."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

__all__ = ["has_colors", "is_live"]


def is_live(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether ``stream`` is a terminal that supports control sequences: ``TERM`` is not ``dumb``."""
    return stream.isatty() and environment.get("TERM") != "dumb"


def has_colors(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether to write colours: on a live terminal, unless ``NO_COLOR`` is set and not empty (no-color.org).

    With ``FORCE_COLOR`` (force-color.org), any stream counts as a live terminal.
    """
    return not environment.get("NO_COLOR") and bool(environment.get("FORCE_COLOR") or is_live(stream, environment))
