"""Defines the API's paths and parameters as data, which are used to check requests and to generate docs and OpenAPI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from rebalance_agent.api.shapes import GroupDetail, GroupList, GroupSummary, RebalanceDetail, RebalanceList
from rebalance_agent.model.group import GroupState, GroupType

__all__ = [
    "GROUPS",
    "GROUP_ONE",
    "LIMIT_DEFAULT",
    "LIMIT_MAX",
    "MATCHES_MAX",
    "MATCH_MAX",
    "OFFSET_MAX",
    "OPENAPI",
    "REBALANCES",
    "REBALANCE_ONE",
    "ROUTES",
    "SORT_KEYS",
    "Parameter",
    "Route",
]

LIMIT_MAX = 10_000
"""Maximum number of groups in one response (some megabytes of JSON); clients read further groups in pages."""

LIMIT_DEFAULT = 1_000
"""Maximum number of groups in one response if the request sets no limit."""

OFFSET_MAX = 1_000_000
"""Largest ``offset``, which exceeds the number of groups of any cluster."""

MATCH_MAX = 200
"""Maximum number of characters in a pattern: a group's name is rarely longer."""

MATCHES_MAX = 10
"""Maximum number of patterns, states or types in one request."""

_Key = Callable[[GroupSummary], str | float | None]

SORT_KEYS: Mapping[str, _Key] = {
    "group": lambda summary: summary.group,
    "state": lambda summary: summary.state,
    "type": lambda summary: summary.group_type,
    "generation": lambda summary: summary.generation,
    "members": lambda summary: summary.members,
    "partitions": lambda summary: summary.partitions,
    "skew": lambda summary: summary.skew_ratio,
    "running": lambda summary: -summary.running.started_ms if summary.running else None,
    "stall": lambda summary: summary.last.stall.lower_seconds if summary.last and summary.last.stall else None,
    "rebalances": lambda summary: summary.rebalances,
    "last": lambda summary: summary.last.timestamp_ms if summary.last else None,
    "trigger": lambda summary: summary.last.trigger if summary.last else None,
}
"""Sort order -> compared value; for ``running``, how long. Groups without a value always come last."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One query parameter.

    ``kind``: text of up to ``maximum`` characters, a whole number up to ``maximum``, or an enumeration's value.
    ``repeats``: whether a request may have the parameter several times. ``pattern``: a regular expression that texts
    must match; empty: any text.
    """

    name: str
    text: str
    kind: type[str | int | StrEnum] = str
    maximum: int = MATCH_MAX
    repeats: bool = False
    pattern: str = ""
    default: str | int | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """One path, with its operation and the shape of its ``answer`` (None: the OpenAPI document itself).

    ``{name}`` in ``path`` stands for a percent-encoded segment.
    """

    path: str
    operation: str
    text: str
    answer: type | None
    parameters: tuple[Parameter, ...] = ()

    @property
    def segments(self) -> tuple[str, ...]:
        """The path's segments."""
        return tuple(self.path.strip("/").split("/"))


GROUPS = Route(
    "/api/v1/groups",
    "listGroups",
    "Every group with its state, size, fairness and last rebalance.",
    GroupList,
    (
        Parameter(
            "match",
            "shell pattern for the whole name (`*`, `?`, `[ab]`); repeat it for several patterns: groups that match "
            "one of them are returned. Regular expressions are not supported, because evaluating one could take hours",
            repeats=True,
        ),
        Parameter("state", "only groups in this state; repeat it for several states", GroupState, repeats=True),
        Parameter("type", "only groups of this type; repeat it for several types", GroupType, repeats=True),
        Parameter(
            "sort",
            f"order: {', '.join(f'`{key}`' for key in SORT_KEYS)}; a leading `-` reverses it",
            pattern=f"^-?({'|'.join(SORT_KEYS)})$",
            default="group",
        ),
        Parameter("limit", "maximum number of groups in the response", int, LIMIT_MAX, default=LIMIT_DEFAULT),
        Parameter("offset", "number of groups to skip", int, OFFSET_MAX, default=0),
    ),
)
GROUP_ONE = Route("/api/v1/groups/{group}", "getGroup", "One group with its members and their partitions.", GroupDetail)
REBALANCES = Route(
    "/api/v1/groups/{group}/rebalances",
    "listRebalances",
    "The group's last rebalances, newest first, each with its generations.",
    RebalanceList,
)
REBALANCE_ONE = Route(
    "/api/v1/groups/{group}/rebalances/{id}",
    "getRebalance",
    "One rebalance with its complete events, and the members' reports from that time.",
    RebalanceDetail,
)
OPENAPI = Route("/api/v1/openapi.json", "getOpenapi", "The OpenAPI description of this API.", None)
ROUTES: tuple[Route, ...] = (GROUPS, GROUP_ONE, REBALANCES, REBALANCE_ONE, OPENAPI)
