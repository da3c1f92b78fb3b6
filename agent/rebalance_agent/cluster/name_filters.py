"""Filters of group and topic names by an allow and a deny pattern."""

from __future__ import annotations

import re

from rebalance_agent.groupprotocol.wire.memo import remembered
from rebalance_agent.model.group import SEAT_LOCKS_PREFIX

__all__ = ["GroupFilter", "NameFilter"]

CACHED_NAMES_MAX = 20_000
"""Maximum number of names with a cached answer: as many as a large cluster has groups. Beyond it, patterns are matched
again."""


class NameFilter:
    """Shows names that fully match the allow pattern and not the deny pattern; an empty deny pattern denies nothing."""

    def __init__(self, allow: str = ".*", deny: str = "") -> None:
        """Compile both patterns; ``.`` matches line feeds too, since a group id may have any character."""
        allowed, denied = re.compile(allow, re.DOTALL), re.compile(deny, re.DOTALL) if deny else None

        def shows(name: str) -> bool:
            return bool(allowed.fullmatch(name)) and not (denied and denied.fullmatch(name))

        self._shows = remembered(shows, CACHED_NAMES_MAX)

    def __call__(self, name: str) -> bool:
        """Whether ``name`` is shown."""
        return self._shows(name)


class GroupFilter(NameFilter):
    """Shows groups as `NameFilter` does, but never those in which gateways keep the locks of seats.

    These groups consume nothing. They are hidden with all patterns, because a user's deny pattern replaces the default.
    """

    def __call__(self, name: str) -> bool:
        """Whether the group ``name`` is shown."""
        return not name.startswith(SEAT_LOCKS_PREFIX) and super().__call__(name)
