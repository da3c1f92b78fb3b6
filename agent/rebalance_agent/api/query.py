"""Parses paths and query strings of requests into checked values. Pure."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qsl, unquote

from rebalance_agent.api.routes import (
    GROUPS,
    LIMIT_DEFAULT,
    MATCHES_MAX,
    ROUTES,
    SORT_KEYS,
    Parameter,
    Route,
)
from rebalance_agent.api.shapes import GroupSummary, values_of
from rebalance_agent.errors import InvalidInputError, RebalanceAgentError
from rebalance_agent.model.group import GroupState, GroupType

__all__ = ["QUERY_MAX", "GroupQuery", "NotKnownError", "find_route", "parse_query"]

QUERY_MAX = 8_192
"""Maximum number of characters of a query string: ten patterns of `MATCH_MAX` characters, percent-encoded."""

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class NotKnownError(RebalanceAgentError):
    """There is no such path, group or rebalance."""


@dataclass(frozen=True, slots=True)
class GroupQuery:
    """Selects groups, their order and their number. Empty ``match``, ``states`` or ``types`` select all groups."""

    match: tuple[str, ...] = ()
    states: tuple[GroupState, ...] = ()
    types: tuple[GroupType, ...] = ()
    sort: str = "group"
    limit: int = LIMIT_DEFAULT
    offset: int = 0

    def matcher(self) -> Callable[[GroupSummary], bool]:
        """Return a predicate that selects groups."""
        # Patterns of fnmatch take time linear in the name: since Python 3.11 they do not backtrack.
        patterns = [re.compile(fnmatch.translate(pattern)).match for pattern in self.match]

        def matches(summary: GroupSummary) -> bool:
            return (
                (not self.states or summary.state in self.states)
                and (not self.types or summary.group_type in self.types)
                and (not patterns or any(match(summary.group) for match in patterns))
            )

        return matches

    def ordered(self, groups: list[GroupSummary]) -> list[GroupSummary]:
        """Return ``groups`` sorted by ``sort``; equal values are sorted by name; groups without a value are last."""
        key = SORT_KEYS[self.sort.removeprefix("-")]
        groups = sorted(groups, key=lambda group: group.group)
        valued = [(value, group) for group in groups if (value := key(group)) is not None]
        valued.sort(key=lambda pair: pair[0], reverse=self.sort.startswith("-"))
        return [group for _, group in valued] + [group for group in groups if key(group) is None]


def find_route(path: str) -> tuple[Route, dict[str, str]]:
    """Return the route of a percent-encoded path, with the decoded values of its named segments.

    Raises:
        NotKnownError: there is no such path.
        InvalidInputError: a segment is not percent-encoded UTF-8.
    """
    segments = path.removeprefix("/").split("/")
    for route in ROUTES:
        if len(route.segments) == len(segments):
            pairs = list(zip(route.segments, segments, strict=True))
            if all(part == given or (part.startswith("{") and given) for part, given in pairs):
                return route, {
                    part.strip("{}"): _decoded(part.strip("{}"), given) for part, given in pairs if part[0] == "{"
                }
    raise NotKnownError(f"the paths are {', '.join(route.path for route in ROUTES)}")


def parse_query(route: Route, query: str) -> GroupQuery:
    """Parse a query string into a checked `GroupQuery`.

    Raises:
        InvalidInputError: a parameter is unknown or invalid; the error names it.
    """
    given = _given(route, query)
    if route is not GROUPS:
        return GroupQuery()
    sort = given["sort"][-1] if given["sort"] else "group"
    if sort.removeprefix("-") not in SORT_KEYS:
        raise InvalidInputError("sort", f"must be one of {', '.join(SORT_KEYS)}, with or without a leading '-'")
    return GroupQuery(
        match=tuple(given["match"]),
        states=tuple(map(GroupState, given["state"])),
        types=tuple(map(GroupType, given["type"])),
        sort=sort,
        limit=int(given["limit"][-1]) if given["limit"] else LIMIT_DEFAULT,
        offset=int(given["offset"][-1]) if given["offset"] else 0,
    )


def _given(route: Route, query: str) -> Mapping[str, list[str]]:
    if len(query) > QUERY_MAX:
        raise InvalidInputError("query", f"has more than {QUERY_MAX} characters")
    if _BAD_ESCAPE.search(query):
        raise InvalidInputError("query", "has a % that is not followed by two hexadecimal digits; write it as %25")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInputError("query", "is not percent-encoded UTF-8") from None
    parameters = {parameter.name: parameter for parameter in route.parameters}
    given: dict[str, list[str]] = {name: [] for name in parameters}
    for name, value in pairs:
        if name not in parameters:
            raise InvalidInputError(
                name[:100], f"is not a parameter of this path; the parameters are: {', '.join(parameters) or 'none'}"
            )
        _check(parameters[name], value)
        given[name].append(value)
        values_max = MATCHES_MAX if parameters[name].repeats else 1
        if len(given[name]) > values_max:
            raise InvalidInputError(name, f"is given more than {values_max} times")
    return given


def _check(parameter: Parameter, value: str) -> None:
    if parameter.kind is int:
        if not (value.isascii() and value.isdigit() and len(value) <= len(str(parameter.maximum))) or (
            int(value) > parameter.maximum
        ):
            raise InvalidInputError(parameter.name, f"must be a whole number from 0 to {parameter.maximum}")
    elif parameter.kind is str:
        if not 0 < len(value) <= parameter.maximum:
            raise InvalidInputError(parameter.name, f"must have 1 to {parameter.maximum} characters")
    elif issubclass(parameter.kind, StrEnum) and value not in (values := values_of(parameter.kind)):
        raise InvalidInputError(parameter.name, f"must be one of {', '.join(values)}")


def _decoded(name: str, segment: str) -> str:
    if _BAD_ESCAPE.search(segment):
        raise InvalidInputError(name, "has a % that is not followed by two hexadecimal digits; write it as %25")
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInputError(name, "is not percent-encoded UTF-8") from None
