"""Chooses the demo's screen: a live view on a terminal, else plain lines."""

from __future__ import annotations

import sys
from typing import TextIO

from rebalance_agent.demo.screens.live import LiveScreen
from rebalance_agent.demo.screens.plain import PlainScreen

__all__ = ["Screen", "choose"]

Screen = LiveScreen | PlainScreen


def choose(headless: bool, stream: TextIO | None = None) -> Screen:
    """Return the live view if the stream (default: standard output) is a terminal and not ``headless``, else plain."""
    out = stream or sys.stdout
    return LiveScreen(out) if out.isatty() and not headless else PlainScreen(out)
