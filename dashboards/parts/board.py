"""Defines boards as plain values: rows, variables, annotations and links to other boards."""

from __future__ import annotations

from dataclasses import dataclass

from dashboards.parts.grid import Row
from dashboards.parts.panel import Link

__all__ = [
    "AGENT_UID",
    "FLEET_UID",
    "GROUP_UID",
    "MEMBERS_UID",
    "SERVICE_UID",
    "Annotation",
    "Board",
    "Variable",
    "leads_to",
]

FLEET_UID = "rebalance-fleet"
GROUP_UID = "rebalance-group"
MEMBERS_UID = "rebalance-members"
AGENT_UID = "rebalance-agent"
SERVICE_UID = "rebalance-service"


@dataclass(frozen=True, slots=True)
class Variable:
    """A selection at the top of a board.

    ``query``: Grafana's ``label_values(...)``; or ``choices``: pairs of text and value; or ``text``: the initial text
    of a text field.

    ``all_value``: the regular expression for All; without it, there is no All. ``hidden``: only for links and linters.
    ``taken``: the regular expression that extracts a value from a result of ``query_result(...)``, whose order is kept.
    """

    name: str
    label: str
    description: str
    query: str = ""
    taken: str = ""
    all_value: str = ""
    multi: bool = False
    hidden: bool = False
    choices: tuple[tuple[str, str], ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Annotation:
    """Marks on all panels; ``title`` and ``text`` can contain labels.

    ``moments``: each value of ``expression`` is a Unix time in milliseconds, and the mark is at that time. Otherwise,
    there is a mark at each point with a value, and Grafana joins consecutive marks to a region.
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
    """One board. ``refresh`` and ``since`` are the initial refresh interval and time range."""

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
    """Return a link to another board that keeps the values of these variables; Grafana adds the time range.

    Not every variable is valid on every board: an observer's ``job`` matches nothing on the Members board.
    """
    taken = "&".join(f"${{{name}:queryparam}}" for name in ("datasource", "cluster", *variables))
    return Link(title, f"/d/{uid}?{taken}")
