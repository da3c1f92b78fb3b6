"""Which groups are likely one tenant's: those whose names begin alike, and new ones if there are many. Pure."""

from __future__ import annotations

import re
from collections import OrderedDict

__all__ = ["NEW_MAX", "NEW_S", "STEMS_MAX", "Crowds", "crowd_name"]

NEW_S = 600.0
"""Seconds for which the beginning of a name is new."""

NEW_MAX = 100
"""New beginnings of names that each have a share; all later ones have one together. Names are free to choose."""

STEMS_MAX = 10_000
"""Beginnings of names that are remembered."""

STEM_BYTES_MAX = 200
"""Bytes of the beginning of a name that count."""

_STEM = re.compile(rb"[^-._:/0-9]{0,%d}" % STEM_BYTES_MAX)
"""Up to the first separator or digit: a tenant's groups have a prefix in common, as rights are given by prefix."""

_NEW = b""


class Crowds:
    """The crowd of each group, as the beginning of its name (bytes); empty for new groups beyond `NEW_MAX`."""

    def __init__(self) -> None:
        """Start without groups."""
        self._since: OrderedDict[bytes, float] = OrderedDict()
        self._new: OrderedDict[bytes, float] = OrderedDict()

    def of(self, group: bytes, now: float) -> bytes:
        """Return the crowd of a group that has a record at ``now`` (monotonic seconds)."""
        stem = _STEM.match(group)
        name = stem[0] if stem else _NEW
        if name in self._since:
            return name
        while self._new and next(iter(self._new.values())) <= now - NEW_S:
            self._new.popitem(last=False)
        if len(self._new) >= NEW_MAX:
            return _NEW
        self._since[name] = self._new[name] = now
        if len(self._since) > STEMS_MAX:
            self._since.popitem(last=False)
        return name


def crowd_name(crowd: bytes) -> str:
    """Return the name of a crowd as people read it: the beginning of the groups' names, and an asterisk."""
    return f"{crowd.decode(errors='replace')}*"
