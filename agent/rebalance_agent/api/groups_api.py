"""Serves JSON under ``/api/v1/``: all current groups and their last rebalances, from memory, built once per change."""

from __future__ import annotations

import functools
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.api.openapi import openapi_document
from rebalance_agent.api.query import GroupQuery, NotKnownError, find_route, parse_query
from rebalance_agent.api.routes import GROUP_ONE, GROUPS, OPENAPI, REBALANCES, Route
from rebalance_agent.api.shapes import (
    ApiError,
    GroupDetail,
    GroupList,
    GroupSummary,
    RebalanceDetail,
    RebalanceList,
)
from rebalance_agent.api.view_shapes import build_detail, build_summary
from rebalance_agent.clock import Clock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.messages import Answer
from rebalance_agent.metrics.short_names import is_long, short_name
from rebalance_agent.model.event_json import value_to_json
from rebalance_agent.tracking.lag.group_lag import NO_LAGS, GroupLag
from rebalance_agent.tracking.views import GroupView

__all__ = ["GroupsApi"]

JSON = "application/json"

DETAILS_MAX = 64
"""Maximum number of groups whose detail is kept as text: as many as a few users view, in some megabytes."""


class _Line(NamedTuple):
    edition: tuple[int, int, int]
    lag: GroupLag | None
    summary: GroupSummary
    text: bytes


class _Detail(NamedTuple):
    edition: tuple[int, int, int]
    lag: GroupLag | None
    text: bytes


class GroupsApi:
    """Answers about groups from the views and the history of this process: a `GroupSource`. Thread-safe.

    The methods return shapes, for callers in the same process; calling the object answers an HTTP request.
    """

    def __init__(
        self,
        views: Callable[[], Iterable[GroupView]],
        history: EpisodeHistory,
        clock: Clock,
        lags: Callable[[], Mapping[str, GroupLag]] = lambda: NO_LAGS,
    ) -> None:
        """``views`` returns a consistent snapshot of the groups, ``lags`` the measured lags; both are thread-safe."""
        self._views = views
        self._lags = lags
        self._history = history
        self._clock = clock
        self._refreshing = threading.Lock()
        self._lock = threading.Lock()
        self._lines: dict[str, _Line] = {}
        self._details: OrderedDict[str, _Detail] = OrderedDict()

    def groups(self, query: GroupQuery | None = None) -> GroupList:
        """Return the groups that ``query`` selects."""
        query = query or GroupQuery()
        total, lines = self._select(query)
        return GroupList(self._clock.now_ms(), total, query.offset, tuple(line.summary for line in lines))

    def group(self, name: str) -> GroupDetail:
        """Return one group.

        Raises:
            NotKnownError: there is no such group.
        """
        view = self._view(self._whole(name))
        return build_detail(view, self._clock.now_ms(), self._lags().get(view.group))

    def rebalances(self, name: str) -> RebalanceList:
        """Return a group's last rebalances, newest first; the list is empty if no rebalance has settled yet.

        Raises:
            NotKnownError: there is no such group.
        """
        name = self._whole(name)
        remembered = self._history.rebalances(name)
        if remembered is None:
            self._view(name)
        return remembered or RebalanceList(name, (), ())

    def rebalance(self, name: str, identity: str) -> RebalanceDetail:
        """Return one rebalance with its events.

        Raises:
            NotKnownError: the rebalance is not stored, or there is no such group.
        """
        name = self._whole(name)
        detail = self._history.rebalance(name, identity)
        if detail is None:
            self.rebalances(name)
            raise NotKnownError(
                f"there is no rebalance {identity[:100]!r} of this group; {REBALANCES.path} lists the last ones since "
                "this process started"
            )
        return detail

    def __call__(self, path: str, query: str) -> Answer:
        """Answer a GET request; ``path`` and ``query`` are percent-encoded."""
        try:
            route, names = find_route(path)
            return "200 OK", JSON, self._body(route, names, parse_query(route, query))
        except InvalidInputError as error:
            return "400 Bad Request", JSON, _encoded(value_to_json(ApiError(str(error))))
        except NotKnownError as error:
            return "404 Not Found", JSON, _encoded(value_to_json(ApiError(str(error))))

    def _body(self, route: Route, names: dict[str, str], query: GroupQuery) -> bytes:
        if route is OPENAPI:
            return _document()
        if route is GROUPS:
            return self._groups_text(query)
        if route is GROUP_ONE:
            return self._detail_text(names["group"])
        if route is REBALANCES:
            return _encoded(value_to_json(self.rebalances(names["group"])))
        return _encoded(value_to_json(self.rebalance(names["group"], names["id"])))

    def _groups_text(self, query: GroupQuery) -> bytes:
        total, lines = self._select(query)
        head = {"now_ms": self._clock.now_ms(), "total": total, "offset": query.offset}
        return b'%s, "groups": [%s]}\n' % (json.dumps(head).encode()[:-1], b", ".join(line.text for line in lines))

    def _detail_text(self, name: str) -> bytes:
        name = self._whole(name)
        view, lag = self._view(name), self._lags().get(name)
        with self._lock:
            detail = self._details.get(name)
        if detail is None or detail[:2] != (view.edition, lag):
            detail = _Detail(view.edition, lag, _encoded(value_to_json(build_detail(view, self._clock.now_ms(), lag))))
            with self._lock:
                self._details[name] = detail
                self._details.move_to_end(name)
                while len(self._details) > DETAILS_MAX:
                    self._details.popitem(last=False)
        # now_ms is the first field, and the only field that changes without a new edition of the view.
        rest = detail.text[detail.text.index(b",") :]
        return b'{"now_ms": %d%s' % (self._clock.now_ms(), rest)

    def _whole(self, name: str) -> str:
        """Return the full name of the group whose name, or shortened name, is ``name``."""
        if not is_long(name):
            return name
        return next((view.group for view in self._views() if short_name(view.group) == name), name)

    def _view(self, name: str) -> GroupView:
        view = next((view for view in self._views() if view.group == name), None)
        if view is None:
            raise NotKnownError(
                f"there is no group {name[:300]!r} here; `rebalance-agent watch --once` or {GROUPS.path} lists the "
                "groups that are shown (groups_allow and groups_deny select them)"
            )
        return view

    def _select(self, query: GroupQuery) -> tuple[int, list[_Line]]:
        lines = self._refreshed()
        matches = query.matcher()
        matching = query.ordered([line.summary for line in lines.values() if matches(line.summary)])
        page = matching[query.offset : query.offset + query.limit]
        return len(matching), [lines[summary.group] for summary in page]

    def _refreshed(self) -> dict[str, _Line]:
        """Return a line for each view, rebuilt only if the view has changed.

        Requests for the list wait for each other instead of building the same lines; other requests do not wait.
        """
        with self._refreshing:
            before, lags, lines = self._lines, self._lags(), {}
            for view in self._views():
                line, lag = before.get(view.group), lags.get(view.group)
                if line is None or line[:2] != (view.edition, lag):
                    summary = build_summary(view, lag)
                    line = _Line(view.edition, lag, summary, _encoded(value_to_json(summary)).rstrip())
                lines[view.group] = line
            self._lines = lines
            return lines


@functools.cache
def _document() -> bytes:
    return _encoded(openapi_document())


def _encoded(data: object) -> bytes:
    return json.dumps(data).encode() + b"\n"
