import gzip
import json

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http import bearer as bearer_module
from rebalance_agent.http.bearer import Bearer
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.latched_readiness import LatchedReadiness
from rebalance_agent.http.messages import Request
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.runtime.listeners.web import WebApp
from rebalance_agent.ui.page.site import Site
from support.http.asked import ask

BODY = b"# HELP x X.\n# TYPE x gauge\nx 1\n" * 10_000


def get(path, readiness=None, method="GET", more=None, **headers):
    app = WebApp((lambda _dialect: BODY, lambda _dialect: b"y 2\n"), readiness or Readiness(), **(more or {}))
    return ask(app, path, method, **headers)


def test_pages_are_joined_in_order():
    status, headers, body = get("/metrics")
    assert (status, headers["Content-Type"]) == (200, Dialect.PROMETHEUS.value)
    assert body == BODY + b"y 2\n"


@pytest.mark.parametrize("accepted", ["gzip", "deflate, GZIP", "gzip;q=0.5, *;q=0", "br;q=1.0, gzip; q=1.0"])
def test_a_scraper_that_accepts_gzip_gets_it(accepted):
    _, headers, body = get("/metrics", accept_encoding=accepted)
    assert headers["Content-Encoding"] == "gzip"
    assert headers["Vary"] == "Accept, Accept-Encoding"
    assert gzip.decompress(body) == BODY + b"y 2\n"
    assert len(body) < len(BODY)


@pytest.mark.parametrize("accepted", ["", "identity", "gzip;q=0", "gzip; q=0.000", "x-gzipped"])
def test_a_scraper_that_does_not_gets_plain_text(accepted):
    _, headers, body = get("/metrics", accept_encoding=accepted)
    assert "Content-Encoding" not in headers
    assert body.startswith(b"# HELP")


def test_a_responding_process_is_alive_whatever_is_wrong():
    status, _, body = get("/healthz", Readiness(["kafka"]))
    assert (status, json.loads(body)) == (200, {"alive": True})


def test_the_consumers_of_a_process_are_ready_or_one_sentence_says_why_not():
    consumers = LatchedReadiness(FakeClock(), "no consumer is there")
    status, _, body = get("/readyz/member", more={"consumers": consumers})
    assert (status, json.loads(body)) == (503, {"ready": False, "reason": "no consumer is there"})
    consumers.works("a")
    status, _, body = get("/readyz/member", more={"consumers": consumers})
    assert (status, json.loads(body)) == (200, {"ready": True})
    assert get("/readyz/member")[0] == 404, "a process without consumers has no such path"


def test_readiness_names_the_reason_of_each_part():
    readiness = Readiness(["kafka", "tail"])
    readiness.ready("tail")
    readiness.unready("kafka", "no broker answers")
    status, _, body = get("/readyz", readiness)
    assert status == 503
    parts = {"kafka": "no broker answers", "tail": "ready"}
    assert json.loads(body) == {"ready": False, "parts": parts, "degraded": {}}
    readiness.ready("kafka")
    readiness.degraded({"admin-only": "a right\nis missing", "topics-hidden": None})
    status, _, body = get("/readyz", readiness)
    assert status == 200
    assert json.loads(body)["degraded"] == {"admin-only": "a right is missing"}


@pytest.mark.parametrize("path", ["", "/config", "/api/v1/groups", "/metrics/", "/v1/events", "/healthz/../metrics"])
def test_other_paths_are_not_found(path):
    status, _, body = get(path)
    assert status == 404
    assert "/metrics" in json.loads(body)["error"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", ""])
def test_every_route_refuses_methods_other_than_get_and_head(method):
    def asked(*_):
        raise AssertionError(method)

    site = Site(Readiness(), groups=asked)  # an observer's app, which has all routes
    app = WebApp((asked,), Readiness(), site=site, api=asked, config=asked)
    routes = [*app._paths, "/api/v1/groups", "/api/v1/openapi.json", "/api/v1/nothing"]
    assert {"/", "/group", "/metrics", "/config", "/healthz", "/readyz"} < {*routes}
    for path in routes:
        answer = app(Request(method, path))
        assert (path, answer.status, dict(answer.headers)["Allow"]) == (path, "405 Method Not Allowed", "GET, HEAD")


def test_head_is_answered_like_get():
    assert get("/metrics", method="HEAD") == get("/metrics")


OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def test_a_scraper_that_asks_for_openmetrics_gets_it_with_its_end():
    status, headers, body = get("/metrics", accept=OPENMETRICS, accept_encoding="gzip")
    assert (status, headers["Content-Type"]) == (200, Dialect.OPENMETRICS.value)
    assert gzip.decompress(body) == BODY + b"y 2\n# EOF\n"


def test_the_start_page_links_to_the_others_and_escapes_its_text():
    readiness = Readiness(["kafka"])
    readiness.unready("kafka", "<script>alert(1)</script>")
    status, headers, body = get("/", readiness)
    page = body.decode()
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert all(f'href="{path}"' in page for path in ("metrics", "healthz", "readyz"))
    assert "Not ready: kafka: &lt;script&gt;" in page
    assert "<script>" not in page


def test_api_paths_are_answered_by_the_api_only():
    asked = []

    def api(path, query):
        asked.append((path, query))
        return "200 OK", "application/json", b"[]"

    assert get("/api/v1/groups?a=b", more={"api": api})[0] == 200
    assert get("/api/v1/groups", more={"api": api}, method="POST")[0] == 405
    status, _, body = get("/apis", more={"api": api})
    assert (status, "/api/v1/groups, /api/v1/openapi.json" in json.loads(body)["error"]) == (404, True)
    assert asked == [("/api/v1/groups", "a=b")]


def test_the_page_of_settings_exists_if_settings_are_given():
    status, _, body = get("/config", more={"config": lambda: {"a": 1}})
    assert (status, json.loads(body)) == (200, {"a": 1})


TOKEN = "t" * 16
BEARER = {"bearer": Bearer(TOKEN)}


@pytest.mark.parametrize("path", ["/metrics", "/", "/config", "/api/v1/groups", "/nothing"])
@pytest.mark.parametrize("given", [{}, {"authorization": "Bearer x"}, {"authorization": f"Basic {TOKEN}"}])
def test_without_the_token_no_page_is_served(path, given):
    status, headers, body = get(path, more={**BEARER, "config": dict}, **given)
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
    assert json.loads(body) == {"error": "a bearer token is required"}


@pytest.mark.parametrize("alike", [True, False])
def test_tokens_are_compared_in_constant_time(monkeypatch, alike):
    compared = []
    monkeypatch.setattr(bearer_module.hmac, "compare_digest", lambda *both: compared.append(both) or alike)
    for given in ("x", TOKEN, TOKEN[:-1] + "x"):
        assert BEARER["bearer"].allows(Request("GET", "/", {"authorization": f"Bearer {given}"})) is alike
        assert compared.pop() == (given.encode(), TOKEN.encode())


def test_with_the_token_every_page_is_served_and_health_without_it():
    assert get("/metrics", more=BEARER, authorization=f"bearer {TOKEN}")[0] == 200
    assert get("/healthz", more=BEARER)[0] == 200
    assert get("/readyz", more=BEARER)[0] == 200
    for path in ("/healthz", "/readyz"):
        assert get(path, more={**BEARER, "health_open": False})[0] == 401


@pytest.mark.parametrize("token", ["", "short", "ü" * 16, "a" * 15 + "\n", "with a space in it"])
def test_a_weak_token_is_refused(token):
    with pytest.raises(InvalidInputError, match=r"^token: must be at least 16 printable ASCII"):
        Bearer(token)
