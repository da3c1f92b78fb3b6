"""Requests without the HTTP server: paths, queries and headers of the API and the pages."""

from __future__ import annotations

import json
from functools import cache

from fuzz.target import MB, Target
from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.clock import FakeClock
from rebalance_agent.http.health import Readiness
from rebalance_agent.metrics.export.dialects import accepts_gzip, choose_dialect
from rebalance_agent.ui.page.site import GroupPages, Site
from support.browsers.webpages import well_formed
from support.http.api import api_of
from support.observer.views import NOW, full_view
from support.tracker.histories import clustered

__all__ = ["TARGETS"]

WORDS = (
    b"/api/v1/groups", b"/rebalances", b"match=", b"state=", b"limit=", b"sort=-", b"&", b"%", b"%2F", b"%ff", b"[",
    b"*",
)  # fmt: skip


@cache
def api():
    return api_of(full_view(), full_view("a/b?c=d&e <%>"), events=clustered())[0]


@cache
def site():
    history, clock = EpisodeHistory(), FakeClock(NOW)
    return Site(Readiness(), groups=GroupPages(api(), history, clock))


def take_question(data):
    """A path, a question mark and a query, as the server passes them on: any bytes as Latin-1."""
    path, _, query = data.decode("latin-1").partition("?")
    status, kind, body = api()(path, query)
    assert kind == "application/json"
    answer = json.loads(body)
    if (code := int(status.split()[0])) == 200:
        return
    assert code in {400, 404}
    assert answer.keys() == {"error"}


def take_page(data):
    """The query of the list and of a group's page."""
    query = data.decode("latin-1")
    for path in ("/", "/group"):
        status, _, page = site().answer(path, query, ())
        assert int(status.split()[0]) in {200, 400, 404}
        well_formed(page)


def take_accept(data):
    """Headers with the formats that a scraper accepts."""
    header = data.decode("latin-1")
    choose_dialect(header)
    accepts_gzip(header)


def questions():
    return [
        b"/api/v1/groups", b"/api/v1/groups?match=ord*&state=Stable&type=classic&sort=-stall&limit=3&offset=0",
        b"/api/v1/groups/orders", b"/api/v1/groups/a%2Fb%3Fc%3Dd/rebalances", b"/api/v1/groups/g/rebalances/0000",
        b"/api/v1/openapi.json",
    ]  # fmt: skip


def pages():
    return [b"", b"name=orders", b"match=ord*&sort=-stall&state=Stable", b"name=a%2Fb%3Fc", b"offset=50&match=%5Ba"]


def accepts():
    return [b"application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1", b"gzip;q=0"]


TARGETS = (
    Target("question", take_question, questions, WORDS, length_max=2_000),
    Target("page", take_page, pages, WORDS, 1.0, 4 * MB, length_max=2_000),
    Target("accept", take_accept, accepts, (b"q=", b";", b","), length_max=2_000),
)
