"""Which groups and topics are shown."""

from __future__ import annotations

import re

from rebalance_agent.groupprotocol.wire.memo import remembered

__all__ = ["NameFilter"]

CACHED_NAMES_MAX = 20_000
"""Names whose answer is remembered: the groups of a large cluster; beyond that the pattern is simply asked again."""


class NameFilter:
    """Whole-name match of an allow pattern and not of a deny pattern; an empty deny pattern denies nothing."""

    def __init__(self, allow: str = ".*", deny: str = "") -> None:
        """Compile both patterns; ``.`` matches line feeds too, since a group may have any name."""
        allowed, denied = re.compile(allow, re.DOTALL), re.compile(deny, re.DOTALL) if deny else None

        def shows(name: str) -> bool:
            return bool(allowed.fullmatch(name)) and not (denied and denied.fullmatch(name))

        self._shows = remembered(shows, CACHED_NAMES_MAX)

    def __call__(self, name: str) -> bool:
        """Whether ``name`` is shown."""
        return self._shows(name)
