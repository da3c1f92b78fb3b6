"""What a rule is: frozen data with ``$name`` where a value of ``values.yaml`` goes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Alert", "Board", "Recording", "RuleGroup"]


class Board(StrEnum):
    """Where an alert's ``dashboard_url`` leads, by the board's uid."""

    FLEET = "rebalance-fleet"
    GROUP = "rebalance-group"
    MEMBERS = "rebalance-members"
    AGENT = "rebalance-agent"


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert.

    ``expression`` is PromQL. ``summary`` and ``description`` are Prometheus' templates: ``$labels`` and ``$value``
    stay theirs, ``$group`` names the group, any other ``$name`` is this alert's value, a shared one, or
    ``<window>_seconds`` of either. ``todo``: what to do first, in a sentence that follows the description. No command
    in it names the group: names come from whoever connects, and people paste commands.
    ``board`` is where to look; one of a group opens at that group.
    """

    name: str
    expression: str
    summary: str
    description: str
    todo: str
    board: Board = Board.GROUP


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording rule, ``level:metric:operations``. Its ``$window`` is the duration ``key`` of the alert ``of``."""

    record: str
    expression: str
    of: str
    key: str = "window"


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """The rules of one file, evaluated in this order. ``about``: a sentence for the file and for the documentation."""

    name: str
    about: str
    rules: tuple[Alert | Recording, ...]
