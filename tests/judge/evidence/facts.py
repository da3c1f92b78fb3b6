"""Facts about a group from its records, as values."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class State:
    """The state of a group from ``at_ms`` on. ``owners``: client id -> partitions as names; ``topics``: subscribed to.

    ``ids``: client id -> member ids, of a classic group.
    """

    at_ms: float
    number: int
    members: int
    owners: dict = field(default_factory=dict)
    shown: frozenset = frozenset()
    topics: frozenset = frozenset()
    where: str = ""
    ids: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Fact:
    """A fact that an event has to report: kind, number, time and position (``partition:offset``) of its record.

    Kind ``hidden``: a generation whose record was removed before the judge read it, or an aborted one.
    """

    kind: str
    number: int
    at_ms: float
    where: str
    members: int = 0
