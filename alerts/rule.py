"""Rules as frozen data; ``$name`` is replaced by a value of ``values.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Alert", "Board", "Recording", "RuleGroup"]


class Board(StrEnum):
    """The board of an alert's ``dashboard_url``; the value is the board's uid."""

    FLEET = "rebalance-fleet"
    GROUP = "rebalance-group"
    MEMBERS = "rebalance-members"
    AGENT = "rebalance-agent"


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert.

    ``expression`` is PromQL. ``summary`` and ``description`` are Prometheus' templates: ``$labels`` and ``$value`` are
    left to Prometheus, ``$group`` is the group's name, and ``$count(noun)`` is the value with the noun in the singular
    or plural. Any other ``$name`` is a value of this alert, a shared value, or ``<window>_seconds`` of either.
    ``todo``: the first action, a sentence that follows the description. Its commands must not contain the group's name,
    because clients choose names and people paste commands.
    ``board``: the board that the alert links to; boards of groups open with the alert's group.
    """

    name: str
    expression: str
    summary: str
    description: str
    todo: str
    board: Board = Board.GROUP


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording rule, ``level:metric:operations``. ``$window`` is the value ``key`` of the alert ``of``."""

    record: str
    expression: str
    of: str
    key: str = "window"


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """The rules of one file, in evaluation order. ``about``: a sentence for the file's header and the documentation."""

    name: str
    about: str
    rules: tuple[Alert | Recording, ...]
