import gzip
import json

import pytest

from rebalance_agent.exposition.health import Readiness
from rebalance_agent.exposition.text import CONTENT_TYPE
from rebalance_agent.exposition.web import CHUNK_BYTES, WebApp

BODY = b"# HELP x X.\n# TYPE x gauge\nx 1\n" * 10_000


def get(path, readiness=None, method="GET", **environ):
    given = {}
    app = WebApp((lambda: BODY, lambda: b"y 2\n"), readiness or Readiness())
    answer = app(
        {"REQUEST_METHOD": method, "PATH_INFO": path, **environ},
        lambda status, headers: given.update(status=int(status.split()[0]), headers=dict(headers)),
    )
    return given["status"], given["headers"], list(answer)


def test_pages_are_joined_in_order_and_served_in_pieces():
    status, headers, chunks = get("/metrics")
    assert (status, headers["Content-Type"]) == (200, CONTENT_TYPE)
    assert b"".join(chunks) == BODY + b"y 2\n"
    assert headers["Content-Length"] == str(len(BODY) + 4)
    assert max(map(len, chunks)) == CHUNK_BYTES


@pytest.mark.parametrize("accepted", ["gzip", "deflate, GZIP", "gzip;q=0.5, *;q=0", "br;q=1.0, gzip; q=1.0"])
def test_a_scraper_that_accepts_gzip_gets_it(accepted):
    _, headers, chunks = get("/metrics", HTTP_ACCEPT_ENCODING=accepted)
    assert headers["Content-Encoding"] == "gzip"
    assert headers["Vary"] == "Accept-Encoding"
    assert gzip.decompress(b"".join(chunks)) == BODY + b"y 2\n"
    assert headers["Content-Length"] == str(sum(map(len, chunks)))


@pytest.mark.parametrize("accepted", ["", "identity", "gzip;q=0", "gzip; q=0.000", "x-gzipped"])
def test_a_scraper_that_does_not_gets_plain_text(accepted):
    _, headers, chunks = get("/metrics", HTTP_ACCEPT_ENCODING=accepted)
    assert "Content-Encoding" not in headers
    assert b"".join(chunks).startswith(b"# HELP")


def test_a_process_that_answers_is_alive_whatever_is_wrong():
    status, _, chunks = get("/healthz", Readiness(["kafka"]))
    assert (status, json.loads(chunks[0])) == (200, {"alive": True})


def test_readiness_names_the_reason_of_each_part():
    readiness = Readiness(["kafka", "tail"])
    readiness.ready("tail")
    readiness.unready("kafka", "no broker answers")
    status, _, chunks = get("/readyz", readiness)
    assert status == 503
    assert json.loads(chunks[0]) == {"ready": False, "parts": {"kafka": "no broker answers", "tail": "ready"}}
    readiness.ready("kafka")
    assert get("/readyz", readiness)[0] == 200


@pytest.mark.parametrize("path", ["/", "", "/metrics/", "/v1/events", "/healthz/../metrics"])
def test_other_paths_do_not_exist(path):
    status, _, chunks = get(path)
    assert status == 404
    assert "/metrics" in json.loads(chunks[0])["error"]


def test_the_listener_is_read_only():
    status, headers, _ = get("/metrics", method="POST")
    assert (status, headers["Allow"]) == (405, "GET, HEAD")


def test_head_has_headers_and_no_body():
    status, headers, chunks = get("/metrics", method="HEAD")
    assert (status, chunks) == (200, [])
    assert int(headers["Content-Length"]) == len(BODY) + 4
