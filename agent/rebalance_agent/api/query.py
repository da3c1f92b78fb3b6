"""Paths and query strings of requests -> checked values. Pure."""

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
"""Characters of a query string: ten patterns of `MATCH_MAX` characters, percent-encoded."""

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class NotKnownError(RebalanceAgentError):
    """The path, group or rebalance that is asked for is not known."""


@dataclass(frozen=True, slots=True)
class GroupQuery:
    """Which groups, in which order, and how many. Empty ``match``, ``states`` or ``types``: all of them."""

    match: tuple[str, ...] = ()
    states: tuple[GroupState, ...] = ()
    types: tuple[GroupType, ...] = ()
    sort: str = "group"
    limit: int = LIMIT_DEFAULT
    offset: int = 0

    def wants(self) -> Callable[[GroupSummary], bool]:
        """Whether a group is among them."""
        # fnmatch makes patterns that take time in proportion to the name: Python 3.11's never go back over it.
        patterns = [re.compile(fnmatch.translate(each)).match for each in self.match]

        def wanted(each: GroupSummary) -> bool:
            return (
                (not self.states or each.state in self.states)
                and (not self.types or each.group_type in self.types)
                and (not patterns or any(matches(each.group) for matches in patterns))
            )

        return wanted

    def ordered(self, groups: list[GroupSummary]) -> list[GroupSummary]:
        """``groups`` in that order; equal ones by name, those without a value last."""
        key = SORT_KEYS[self.sort.removeprefix("-")]
        groups = sorted(groups, key=lambda each: each.group)
        known = [(value, each) for each in groups if (value := key(each)) is not None]
        known.sort(key=lambda pair: pair[0], reverse=self.sort.startswith("-"))
        return [each for _, each in known] + [each for each in groups if key(each) is None]


def find_route(path: str) -> tuple[Route, dict[str, str]]:
    """The route of a percent-encoded path, with the values of its named segments.

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
    raise NotKnownError(f"there are {', '.join(route.path for route in ROUTES)}")


def parse_query(route: Route, query: str) -> GroupQuery:
    """What a query string asks for.

    Raises:
        InvalidInputError: naming the parameter that is unknown or wrong.
    """
    given = _given(route, query)
    if route is not GROUPS:
        return GroupQuery()
    sort = given["sort"][-1] if given["sort"] else "group"
    if sort.removeprefix("-") not in SORT_KEYS:
        raise InvalidInputError("sort", f"must be one of {', '.join(SORT_KEYS)}, with or without '-' in front")
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
    known = {each.name: each for each in route.parameters}
    given: dict[str, list[str]] = {name: [] for name in known}
    for name, value in pairs:
        if name not in known:
            raise InvalidInputError(name[:100], f"is no parameter here; there are {', '.join(known) or 'none'}")
        _check(known[name], value)
        given[name].append(value)
        if len(given[name]) > (MATCHES_MAX if known[name].repeats else 1):
            raise InvalidInputError(name, f"stands here more than {MATCHES_MAX if known[name].repeats else 1} times")
    return given


def _check(parameter: Parameter, value: str) -> None:
    if parameter.kind is int:
        if not (value.isascii() and value.isdigit() and len(value) <= len(str(parameter.most))) or (
            int(value) > parameter.most
        ):
            raise InvalidInputError(parameter.name, f"must be a whole number from 0 to {parameter.most}")
    elif parameter.kind is str:
        if not 0 < len(value) <= parameter.most:
            raise InvalidInputError(parameter.name, f"must have 1 to {parameter.most} characters")
    elif issubclass(parameter.kind, StrEnum) and value not in (values := values_of(parameter.kind)):
        raise InvalidInputError(parameter.name, f"must be one of {', '.join(values)}")


def _decoded(name: str, segment: str) -> str:
    if _BAD_ESCAPE.search(segment):
        raise InvalidInputError(name, "has a % that is not followed by two hexadecimal digits; write it as %25")
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInputError(name, "is not percent-encoded UTF-8") from None
