"""The API's paths and parameters as data: what is served, refused, documented and drawn into OpenAPI."""

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
"""Groups of one answer: some megabytes. A larger fleet is read in pages."""

LIMIT_DEFAULT = 1_000

OFFSET_MAX = 1_000_000
"""More groups than any cluster has."""

MATCH_MAX = 200
"""Characters of a pattern: a group's name is rarely longer."""

MATCHES_MAX = 10
"""Patterns, states or types of one request."""

_Key = Callable[[GroupSummary], str | float | None]

SORT_KEYS: Mapping[str, _Key] = {
    "group": lambda each: each.group,
    "state": lambda each: each.state,
    "type": lambda each: each.group_type,
    "generation": lambda each: each.generation,
    "members": lambda each: each.members,
    "partitions": lambda each: each.partitions,
    "skew": lambda each: each.skew_ratio,
    "running": lambda each: -each.running.started_ms if each.running else None,
    "stall": lambda each: each.last.stall.seconds if each.last and each.last.stall else None,
    "rebalances": lambda each: each.rebalances,
    "last": lambda each: each.last.timestamp_ms if each.last else None,
    "trigger": lambda each: each.last.trigger if each.last else None,
}
"""Name of an order -> what is compared; ``running`` is how long. Groups without a value come last, either way."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One query parameter. ``kind`` is text, a whole number up to ``most``, or one of an enumeration's values.

    ``pattern``: a regular expression of the texts that are taken; empty: all are.
    """

    name: str
    text: str
    kind: type[str | int | StrEnum] = str
    most: int = MATCH_MAX
    repeats: bool = False
    pattern: str = ""
    default: str | int | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """One path; ``{name}`` stands for a percent-encoded segment. ``answer`` is None for the OpenAPI document itself."""

    path: str
    operation: str
    text: str
    answer: type | None
    parameters: tuple[Parameter, ...] = ()

    @property
    def segments(self) -> tuple[str, ...]:
        """The path's parts."""
        return tuple(self.path.strip("/").split("/"))


GROUPS = Route(
    "/api/v1/groups",
    "listGroups",
    "Every group with its state, size, fairness and last rebalance.",
    GroupList,
    (
        Parameter(
            "match",
            "shell pattern for the whole name (`*`, `?`, `[ab]`); repeated: groups that match any. Not a regular "
            "expression, since one from outside could keep the agent busy for hours",
            repeats=True,
        ),
        Parameter("state", "only groups in this state; repeated: in any of them", GroupState, repeats=True),
        Parameter("type", "only groups of this type; repeated: of any of them", GroupType, repeats=True),
        Parameter(
            "sort",
            f"order: {', '.join(f'`{key}`' for key in SORT_KEYS)}; `-` in front turns it around",
            pattern=f"^-?({'|'.join(SORT_KEYS)})$",
            default="group",
        ),
        Parameter("limit", "most groups in the answer", int, LIMIT_MAX, default=LIMIT_DEFAULT),
        Parameter("offset", "how many groups to pass over", int, OFFSET_MAX, default=0),
    ),
)
GROUP_ONE = Route("/api/v1/groups/{group}", "getGroup", "One group with its members and what each owns.", GroupDetail)
REBALANCES = Route(
    "/api/v1/groups/{group}/rebalances",
    "listRebalances",
    "The group's last rebalances, newest first, the generations of each folded into it.",
    RebalanceList,
)
REBALANCE_ONE = Route(
    "/api/v1/groups/{group}/rebalances/{id}",
    "getRebalance",
    "One rebalance with its whole events, and what members reported meanwhile.",
    RebalanceDetail,
)
OPENAPI = Route("/api/v1/openapi.json", "getOpenapi", "This document.", None)
ROUTES: tuple[Route, ...] = (GROUPS, GROUP_ONE, REBALANCES, REBALANCE_ONE, OPENAPI)
