"""All targets by name."""

from __future__ import annotations

from fuzz.targets import (
    answered,
    asked,
    commands,
    configured,
    coordinator,
    files,
    frames,
    held,
    judged,
    kept,
    members,
    posted,
    shares,
    web,
)

__all__ = ["TARGETS"]

_MODULES = (
    answered,
    asked,
    commands,
    configured,
    coordinator,
    files,
    frames,
    held,
    judged,
    kept,
    members,
    posted,
    shares,
    web,
)

TARGETS = {each.name: each for module in _MODULES for each in module.TARGETS}
