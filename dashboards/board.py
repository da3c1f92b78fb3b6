"""What a board is: its rows, variables, annotations and the boards it leads to. Plain values."""

from __future__ import annotations

from dataclasses import dataclass

from dashboards.grid import Row
from dashboards.panel import Link

__all__ = ["AGENT_UID", "FLEET_UID", "GROUP_UID", "MEMBERS_UID", "Annotation", "Board", "Variable", "leads_to"]

FLEET_UID = "rebalance-fleet"
GROUP_UID = "rebalance-group"
MEMBERS_UID = "rebalance-members"
AGENT_UID = "rebalance-agent"


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice at the board's top. ``query``: Grafana's ``label_values(...)``; or ``choices``: text -> value.

    ``all_value``: there is All, and it matches this; empty: one must be chosen. ``hidden``: only for links and linters.
    """

    name: str
    label: str
    description: str
    query: str = ""
    all_value: str = ""
    multi: bool = False
    hidden: bool = False
    choices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Annotation:
    """Marks on all panels; ``title`` and ``text`` may name labels.

    ``moments``: each value of ``expression`` is a Unix time in milliseconds and is marked there. Otherwise marks are
    wherever it gives something, and Grafana makes one shaded region of those in a row.
    """

    name: str
    expression: str
    title: str
    text: str
    colour: str
    on: bool
    moments: bool = True


@dataclass(frozen=True, slots=True)
class Board:
    """One board. ``refresh`` and ``since`` are what it opens with."""

    uid: str
    title: str
    description: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]
    links: tuple[Link, ...]
    annotations: tuple[Annotation, ...] = ()
    since: str = "now-6h"
    refresh: str = "30s"


def leads_to(uid: str, title: str, *variables: str) -> Link:
    """A link to another board that takes these variables along (time goes by itself).

    Not every variable goes everywhere: an observer's ``job`` would show nothing on the board of the members.
    """
    taken = "&".join(f"${{{name}:queryparam}}" for name in ("datasource", "cluster", *variables))
    return Link(title, f"/d/{uid}?{taken}")
