"""The pages by their paths, and what each is drawn from. Asks no broker; thread-safe."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import parse_qsl

from rebalance_agent.api.group_source import GroupSource
from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.api.query import QUERY_MAX, GroupQuery, NotKnownError
from rebalance_agent.api.routes import LIMIT_MAX
from rebalance_agent.api.shapes import GroupDetail, RebalanceDetail, RebalanceKind, RebalanceList
from rebalance_agent.clock import Clock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.answer import Answer
from rebalance_agent.http.health import Readiness
from rebalance_agent.metrics.export.clients_seen import ConsumerStatus
from rebalance_agent.ui.page.group_list import FleetSummary, listing, wanted
from rebalance_agent.ui.page.group_page import group_content
from rebalance_agent.ui.page.page_frame import HTML, STYLE, frame, note, notes, script, style
from rebalance_agent.ui.page.sidecar_page import beside_content
from rebalance_agent.ui.page.timeline_columns import TimelineColumns
from rebalance_agent.ui.page.trouble import HOUR_MS, past
from rebalance_agent.ui.sentences.explanation import tell
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp
from rebalance_agent.ui.words import escaped, printable, shortened

__all__ = ["ASSETS", "GroupPages", "Site", "sign_in"]

ASSETS = ("/page.css", "/page.js", "/icon.svg")
"""What a browser asks for besides pages. They are the same for everybody, so a token is not needed for them."""

LIST_EVERY_S, GROUP_EVERY_S = 5.0, 2.0
"""How often an open page asks again. What has not changed is answered with a few bytes."""

TOLD = 3
"""Rebalances in words, as `explain` has by default."""

DRAWN_MAX = 16
"""Groups whose content is kept until something of theirs changes: what a few people look at, a million letters each."""

DRAWN_FOR_MS = 10_000
"""How long at most: what members report of a rebalance afterwards changes its words, and nothing else here."""

_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#2f6fde"/>'
    '<path d="M3 5h4M9 5h4M3 8h7M12 8h1M3 11h2M7 11h6" stroke="#fff" stroke-width="1.8"/></svg>\n'
)


class GroupPages:
    """The list and the groups of an observer."""

    def __init__(self, groups: GroupSource, history: EpisodeHistory, clock: Clock) -> None:
        """``history`` is what ``groups`` answers from."""
        self._groups = groups
        self._history = history
        self._clock = clock
        self._columns = TimelineColumns(groups, clock)
        self._lock = threading.Lock()
        self._drawn: OrderedDict[str, tuple[tuple[GroupDetail, RebalanceList, int], str]] = OrderedDict()

    def listing(self, given: Mapping[str, str]) -> tuple[str, str]:
        """The list's title and content.

        Raises:
            InvalidInputError: naming the parameter that is wrong.
        """
        want = wanted(given)
        found = self._groups.groups(GroupQuery(limit=LIMIT_MAX))
        now_ms = self._clock.now_ms()
        known = {each: self._history.rebalances(each) for each in self._history.recent(now_ms - HOUR_MS)}
        lately = {each: past(told.rebalances, now_ms) for each, told in known.items() if told}
        return listing(FleetSummary(found.groups, found.total, lately, now_ms), want)

    def group(self, group: str) -> str:
        """One group's content.

        Raises:
            NotKnownError: there is no such group.
        """
        detail, known = self._groups.group(group), self._groups.rebalances(group)
        told = replace(detail, now_ms=0), known, detail.now_ms // DRAWN_FOR_MS
        with self._lock:
            drawn = self._drawn.get(group)
        if drawn and drawn[0] == told:
            return drawn[1]
        columns, unread = self._columns.of(group, known.rebalances)
        whole = self._whole(known)
        completed = [each for each in whole if each.rebalance.kind is RebalanceKind.COMPLETED]
        last, before = [*completed, None, None][:2]
        closer = GroupCloseUp(detail, known.rebalances, last, before)
        content = group_content(closer, columns, unread, tell(whole, known.rollouts, TOLD))
        with self._lock:
            self._drawn.pop(group, None)
            if not unread:
                self._drawn[group] = told, content
            while len(self._drawn) > DRAWN_MAX:
                self._drawn.popitem(last=False)
        return content

    def _whole(self, known: RebalanceList) -> list[RebalanceDetail]:
        """The last rebalances with their events: one more than are told, for what the oldest of them began from."""
        whole: list[RebalanceDetail] = []
        for line in known.rebalances:
            if sum(each.rebalance.kind is RebalanceKind.COMPLETED for each in whole) > TOLD:
                break
            if line.kind is RebalanceKind.ABORTED:
                whole.append(RebalanceDetail(known.group, line, (), ()))
                continue
            with contextlib.suppress(NotKnownError):  # forgotten a moment ago
                whole.append(self._groups.rebalance(known.group, line.id))
        return whole


class Site:
    """Every page of one process."""

    def __init__(
        self,
        readiness: Readiness,
        *,
        groups: GroupPages | None = None,
        consumers: Callable[[], Sequence[ConsumerStatus]] | None = None,
    ) -> None:
        """``groups`` of an observer, ``consumers`` beside a sidecar; without either only the parts are shown."""
        self._readiness = readiness
        self._groups = groups
        self._consumers = consumers

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that is answered."""
        return ("/", *(["/group"] if self._groups else []), *ASSETS)

    def answer(self, path: str, query: str, links: Sequence[str]) -> Answer:
        """One of `paths`; ``query`` is percent-encoded, ``links`` are paths to lead to."""
        if path in ASSETS:
            return "200 OK", *_asset(path)
        try:
            given = _given(query)
            if path == "/group" and self._groups:
                group = given.get("name", "")
                main = self._groups.group(group)
                title, every = shortened(printable(group)), GROUP_EVERY_S
            else:
                title, main, every = self._front(given)
        except InvalidInputError as error:
            return "400 Bad Request", HTML, _problem(str(error), links)
        except NotKnownError:
            gone = "There is no such group here: it was deleted, or groups_allow and groups_deny leave it out."
            return "404 Not Found", HTML, _problem(gone, links, every_s=LIST_EVERY_S)
        return "200 OK", HTML, frame(title, f"{self._parts()}{main}", links, every_s=every)

    def _front(self, given: Mapping[str, str]) -> tuple[str, str, float]:
        if self._groups:
            return *self._groups.listing(given), LIST_EVERY_S
        if self._consumers:
            return "consumers", beside_content(self._consumers()), GROUP_EVERY_S
        return "agent", "<h1>rebalance-agent</h1>", LIST_EVERY_S

    def _parts(self) -> str:
        """What is not as it should be with the agent itself: what is below may be old or incomplete."""
        reasons, modes = self._readiness.reasons(), self._readiness.modes()
        found = [note(f"Not ready: {escaped(part)}: {escaped(why)}", "hurts") for part, why in reasons.items() if why]
        found += [note(f"Degraded: {escaped(mode)}: {escaped(why)}", "look") for mode, why in modes.items() if why]
        return notes(found)


def sign_in() -> bytes:
    """In place of a page for whom has no token: asks for it, and tells nothing."""
    main = (
        '<h1>A bearer token is required</h1><form id="signin"><label>Token <input type="password" name="token" '
        'autocomplete="current-password" required></label><button type="submit">Show</button>'
        '<p id="refused" role="alert"></p><p>It is kept until this tab is closed, and sent to this agent only.</p>'
        "</form>"
        "<noscript><p>A browser can send it only with its scripts switched on.</p></noscript>"
    )
    return frame("token", main, (), every_s=0)


def _problem(text: str, links: Sequence[str], *, every_s: float = 0) -> bytes:
    main = f'<p class="back"><a href="./">All groups</a></p><h1>Nothing to show</h1>{note(escaped(text), "hurts")}'
    return frame("nothing to show", main, links, every_s=every_s)


def _asset(path: str) -> tuple[str, bytes]:
    if path == "/page.css":
        return STYLE, style()
    if path == "/page.js":
        return "text/javascript; charset=utf-8", script()
    return "image/svg+xml", _ICON.encode()


def _given(query: str) -> Mapping[str, str]:
    if len(query) > QUERY_MAX:
        raise InvalidInputError("query", f"has more than {QUERY_MAX} characters")
    try:
        return dict(parse_qsl(query, keep_blank_values=True, errors="surrogatepass"))
    except UnicodeDecodeError:
        raise InvalidInputError("query", "is not percent-encoded UTF-8") from None
