"""Returns the page for a path, and reads the data for each page. It calls no brokers."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import parse_qsl

from rebalance_agent.api.group_source import GroupSource, meant_group
from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.api.query import QUERY_MAX, GroupQuery, NotKnownError
from rebalance_agent.api.routes import LIMIT_MAX
from rebalance_agent.api.shapes import GroupDetail, RebalanceKind, RebalanceList
from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.clock import Clock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.messages import Answer
from rebalance_agent.metrics.export.clients_seen import ConsumerStatus
from rebalance_agent.model.baseline import AdviceSavings
from rebalance_agent.ui.page.group_list import FleetSummary, listing, parsed_query
from rebalance_agent.ui.page.group_page import group_content
from rebalance_agent.ui.page.page_advice import PageAdvice
from rebalance_agent.ui.page.page_frame import HTML, STYLE, frame, note, notes, script, style
from rebalance_agent.ui.page.sidecar_page import beside_content
from rebalance_agent.ui.page.timeline_columns import TimelineColumns
from rebalance_agent.ui.page.trouble import recent_rebalances
from rebalance_agent.ui.sentences.explanation import explanation_of, last_rebalances
from rebalance_agent.ui.sentences.group_detail import HOUR_MS, GroupCloseUp
from rebalance_agent.ui.words import escaped, printable, shortened

__all__ = ["ASSETS", "GroupPages", "Site", "sign_in"]

ASSETS = ("/page.css", "/page.js", "/icon.svg")
"""Paths of static files. They contain no data, so they need no token."""

LIST_EVERY_S, GROUP_EVERY_S = 5.0, 2.0
"""Seconds between the refreshes of an open page. The answer for an unchanged page has only a few bytes."""

EXPLAINED_REBALANCES = 3
"""Number of rebalances that a group's page explains in sentences; also the default of `explain`."""

CACHED_GROUPS_MAX = 16
"""Maximum number of groups whose page is cached until the group changes: as many as a few users view, up to a million
characters each."""

CACHED_MS_MAX = 10_000
"""Longest time (ms) for which a page is cached: later reports of members change its sentences, but not the cache
key."""

_UNKNOWN_GROUP = (
    "There is no such group: the name is not right, the group was deleted, or the setting groups_allow or groups_deny "
    "excludes it"
)

_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#2f6fde"/>'
    '<path d="M3 5h4M9 5h4M3 8h7M12 8h1M3 11h2M7 11h6" stroke="#fff" stroke-width="1.8"/></svg>\n'
)


_Key = tuple[GroupDetail, RebalanceList, int, AdviceSavings | None]


class GroupPages:
    """The pages of an observer: the list of groups, and one page per group. Thread-safe."""

    def __init__(
        self,
        groups: GroupSource,
        history: EpisodeHistory,
        clock: Clock,
        hosts: HostNames | None = None,
        savings: Callable[[str], AdviceSavings | None] = lambda _group: None,
    ) -> None:
        """``history``: the rebalances of ``groups``; ``hosts``: what counts as a member's host.

        ``savings`` returns what recommended changes save in a group.
        """
        self._groups = groups
        self._history = history
        self._clock = clock
        self._savings = savings
        self._columns = TimelineColumns(groups, clock)
        self._advice = PageAdvice(groups, hosts)
        self._lock = threading.Lock()
        self._cached: OrderedDict[str, tuple[_Key, str]] = OrderedDict()

    def listing(self, parameters: Mapping[str, str]) -> tuple[str, str]:
        """Return the title and HTML of the list of groups. ``parameters``: the parameters of the address.

        Raises:
            InvalidInputError: a parameter is invalid; the error names it.
        """
        query = parsed_query(parameters)
        answer = self._groups.groups(GroupQuery(limit=LIMIT_MAX))
        now_ms = self._clock.now_ms()
        remembered = {group: self._history.rebalances(group) for group in self._history.recent(now_ms - HOUR_MS)}
        recent = {group: recent_rebalances(kept.rebalances, now_ms) for group, kept in remembered.items() if kept}
        savings = AdviceSavings.total(filter(None, (self._savings(group.group) for group in answer.groups)))
        return listing(FleetSummary(answer.groups, answer.total, recent, now_ms, savings), query)

    def group(self, group: str) -> str:
        """Return the HTML of one group's page.

        Raises:
            NotKnownError: there is no such group; the text names a group with a similar name, if there is one.
        """
        try:
            detail, remembered = self._groups.group(group), self._groups.rebalances(group)
        except NotKnownError:
            raise NotKnownError(f"{_UNKNOWN_GROUP}{meant_group(self._groups, group) or '.'}") from None
        savings = self._savings(group)
        key = replace(detail, now_ms=0), remembered, detail.now_ms // CACHED_MS_MAX, savings
        with self._lock:
            cached = self._cached.get(group)
        if cached and cached[0] == key:
            return cached[1]
        columns, unread = self._columns.of(group, remembered.rebalances)
        details = last_rebalances(self._groups, remembered, EXPLAINED_REBALANCES)
        completed = [each for each in details if each.rebalance.kind is RebalanceKind.COMPLETED]
        last, before = [*completed, None, None][:2]
        close_up = GroupCloseUp(detail, remembered.rebalances, last, before)
        advice = "" if unread else self._advice.of(remembered)
        explanation = explanation_of(details, remembered.rollouts, EXPLAINED_REBALANCES, advice)
        content = group_content(close_up, columns, unread, explanation, savings)
        with self._lock:
            self._cached.pop(group, None)
            if not unread:
                self._cached[group] = key, content
            while len(self._cached) > CACHED_GROUPS_MAX:
                self._cached.popitem(last=False)
        return content


class Site:
    """All pages of one process. Thread-safe."""

    def __init__(
        self,
        readiness: Readiness,
        *,
        groups: GroupPages | None = None,
        consumers: Callable[[], Sequence[ConsumerStatus]] | None = None,
    ) -> None:
        """``groups``: an observer's groups; ``consumers``: a sidecar's; without either, only health is shown."""
        self._readiness = readiness
        self._groups = groups
        self._consumers = consumers

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that `answer` accepts."""
        return ("/", *(["/group"] if self._groups else []), *ASSETS)

    def answer(self, path: str, query: str, links: Sequence[str]) -> Answer:
        """Answer a request for one of `paths`. ``query``: percent-encoded; ``links``: paths to link to."""
        if path in ASSETS:
            return "200 OK", *_asset(path)
        try:
            parameters = _parameters(query)
            if path == "/group" and self._groups:
                group = parameters.get("name", "")
                main = self._groups.group(group)
                title, every_s = shortened(printable(group)), GROUP_EVERY_S
            else:
                title, main, every_s = self._front(parameters)
        except InvalidInputError as error:
            return "400 Bad Request", HTML, _problem(str(error), links)
        except NotKnownError as error:
            return "404 Not Found", HTML, _problem(printable(str(error)), links, every_s=LIST_EVERY_S)
        return "200 OK", HTML, frame(title, f"{self._parts()}{main}", links, every_s=every_s)

    def _front(self, parameters: Mapping[str, str]) -> tuple[str, str, float]:
        if self._groups:
            return *self._groups.listing(parameters), LIST_EVERY_S
        if self._consumers:
            return "consumers", beside_content(self._consumers()), GROUP_EVERY_S
        return "agent", "<h1>rebalance-agent</h1>", LIST_EVERY_S

    def _parts(self) -> str:
        """Return notes on parts of the agent that do not work, since the data below may be outdated or incomplete."""
        reasons, modes = self._readiness.reasons(), self._readiness.modes()
        remarks = [
            note(f"Not ready: {escaped(part)}: {escaped(why)}", "critical") for part, why in reasons.items() if why
        ]
        remarks += [note(f"Degraded: {escaped(mode)}: {escaped(why)}", "warning") for mode, why in modes.items() if why]
        return notes(remarks)


def sign_in() -> bytes:
    """Return the page for a request without a valid token; this page asks for the token and contains no data."""
    main = (
        '<h1>A bearer token is required</h1><form id="signin"><label>Token <input type="password" name="token" '
        'autocomplete="current-password" required></label><button type="submit">Show</button>'
        '<p id="refused" role="alert"></p>'
        "<p>The token stays in this tab until you close it. It is sent only to this agent.</p></form>"
        "<noscript><p>This page needs JavaScript to send the token.</p></noscript>"
    )
    return frame("token", main, (), every_s=0)


def _problem(text: str, links: Sequence[str], *, every_s: float = 0) -> bytes:
    main = f'<p class="back"><a href="./">All groups</a></p><h1>Nothing to show</h1>{note(escaped(text), "critical")}'
    return frame("nothing to show", main, links, every_s=every_s)


def _asset(path: str) -> tuple[str, bytes]:
    if path == "/page.css":
        return STYLE, style()
    if path == "/page.js":
        return "text/javascript; charset=utf-8", script()
    return "image/svg+xml", _ICON.encode()


def _parameters(query: str) -> Mapping[str, str]:
    if len(query) > QUERY_MAX:
        raise InvalidInputError("query", f"has more than {QUERY_MAX} characters")
    try:
        return dict(parse_qsl(query, keep_blank_values=True, errors="surrogatepass"))
    except UnicodeDecodeError:
        raise InvalidInputError("query", "is not percent-encoded UTF-8") from None
