"""Decides whether colours, and lines that replace earlier ones, may be written to a stream."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

__all__ = ["has_colors", "is_live"]


def is_live(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether ``stream`` is a terminal that understands control sequences; one with ``TERM=dumb`` does not."""
    return stream.isatty() and environment.get("TERM") != "dumb"


def has_colors(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colours: on a live terminal, unless ``NO_COLOR`` is set and not empty (no-color.org).

    ``FORCE_COLOR`` (force-color.org) stands for a live terminal.
    """
    return not environment.get("NO_COLOR") and bool(environment.get("FORCE_COLOR") or is_live(stream, environment))
