from __future__ import annotations

import socket
import threading
from contextlib import suppress

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.events_post import DEFAULT_URL
from rebalance_agent.instrumentation.delivery import endpoint
from rebalance_agent.instrumentation.delivery.endpoint import Endpoint, PostStatus
from rebalance_agent.instrumentation.delivery.outbox import Batch
from support.observer.sidecars import Sidecar, absent, answering

BATCH = Batch(b'{"a":1}\n', 1, 0)


def test_the_default_is_the_sidecars_own_address():
    assert Endpoint.of(environ={}).url == DEFAULT_URL == "http://127.0.0.1:29309/v1/events"


def test_the_argument_overrides_the_environment_which_overrides_the_default():
    environ = {"REBALANCE_AGENT_EVENTS_URL": "http://localhost:1/x", "REBALANCE_AGENT_EVENTS_TOKEN": "secret"}
    assert Endpoint.of(environ=environ) == Endpoint("localhost", 1, "/x", "secret")
    assert Endpoint.of("http://[::1]:2", "other", environ) == Endpoint("::1", 2, "/v1/events", "other")


@pytest.mark.parametrize("environ", [{}, {"REBALANCE_AGENT_EVENTS_URL": "http://localhost"}])
def test_an_empty_url_turns_events_off(environ):
    assert Endpoint.of("", environ=environ) is None


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:29309", "ftp://x/", "https://", "http://", "http://x:port", "http://x:99999", "http://u:p@x/",
     "http://x/\r\nA: b", "http://x/é", "http://[::1", "http://x/?a=b", "http://" + "x" * 5000,
     "http://a..b/", "http://" + "x" * 64],
)  # fmt: skip
def test_an_invalid_url_is_refused_with_the_name_of_its_variable(url):
    with pytest.raises(InvalidInputError, match=r"^REBALANCE_AGENT_EVENTS_URL: "):
        Endpoint.of(url, environ={})


@pytest.mark.parametrize("token", ["a\r\nEvil: 1", "ü", "a b", "x" * 5000])
def test_an_invalid_token_is_refused_without_being_shown(token):
    with pytest.raises(InvalidInputError, match=r"^REBALANCE_AGENT_EVENTS_TOKEN: ") as refused:
        Endpoint.of(token=token, environ={})
    assert token not in str(refused.value)


def test_a_post_is_ndjson_with_token_and_dropped_count_and_no_proxy(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with Sidecar() as sidecar:
        answer = Endpoint.of(sidecar.url, "secret").post(Batch(b'{"a":1}\n', 1, 7))
    assert answer.outcome is PostStatus.TAKEN
    assert sidecar.bodies == [b'{"a":1}\n']
    (headers,) = sidecar.headers
    assert headers["content-type"] == "application/x-ndjson"
    assert headers["authorization"] == "Bearer secret"
    assert headers["x-rebalance-agent-dropped"] == "7"


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(200, PostStatus.TAKEN), (204, PostStatus.TAKEN), (400, PostStatus.REFUSED), (401, PostStatus.REFUSED),
     (301, PostStatus.REFUSED), (413, PostStatus.REFUSED), (429, PostStatus.FAILED), (500, PostStatus.FAILED),
     (503, PostStatus.FAILED)],
)  # fmt: skip
def test_statuses_mean_accepted_refused_or_retry(status, outcome):
    with Sidecar(status) as sidecar:
        assert Endpoint.of(sidecar.url).post(BATCH).outcome is outcome


@pytest.mark.parametrize(
    "garbage",
    [b"", b"\x00\xff\x00", b"HTTP/1.1 banana\r\n\r\n", b"HTTP/1.1 2", b"SSH-2.0-OpenSSH_9.6\r\n",
     b"HTTP/\x1b[2J 503 x\r\n",
     b"HTTP/1.1 200 x", b"HTTP/1.1 200 x\r\n", b"HTTP/1.1 200 x\r\naaa", b"HTTP/1.1 200 x\r\nA: b\r\n",
     b"HTTP/1.1 400 x\r\nA: b",
     b"HTTP/1.1 500 x\r\nContent-Length: 99\r\n\r\nshort", b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 500 + b"\r\n"],
)  # fmt: skip
def test_an_invalid_response_is_a_failure_and_no_exception(garbage):
    with answering(garbage) as url:
        answer = Endpoint.of(url).post(BATCH)
    assert answer.outcome is PostStatus.FAILED
    assert answer.reason.isprintable()


def test_a_refused_connection_is_a_failure_with_the_reason():
    with absent() as url:
        answer = Endpoint.of(url).post(BATCH)
    assert answer.outcome is PostStatus.FAILED
    assert "ConnectionRefusedError" in answer.reason


@pytest.mark.parametrize("said", [b"HTTP/1.1 100 Continue\r\n\r\n", b"H", b"\r\n"])
def test_an_endless_response_is_cut_off_long_before_the_deadline(monkeypatch, said):
    """Until the deadline, the thread would use a core of the consumer's machine."""
    monkeypatch.setattr(endpoint, "DEADLINE_SECONDS", 1e6)
    cut = threading.Event()

    def say(listener):
        client, _ = listener.accept()
        with client, suppress(OSError):
            while True:
                client.sendall(said)
        cut.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        teller = threading.Thread(target=say, args=[listener], daemon=True)
        teller.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert Endpoint.of(url, environ={}).post(BATCH).outcome is PostStatus.FAILED
        assert cut.wait(30)
        teller.join()


@pytest.mark.parametrize("said", [b"", b"Transfer-Encoding: chunked\r\n\r\n5;"], ids=["a body", "a chunk's extension"])
def test_a_response_that_arrives_byte_by_byte_is_cut_off(monkeypatch, said):
    """With this header, `http.client` passes the socket on to the response and forgets it."""
    monkeypatch.setattr(endpoint, "DEADLINE_SECONDS", 0.3)
    cut, never = threading.Event(), threading.Event()

    def say(listener):
        client, _ = listener.accept()
        with client:
            try:
                client.recv(100_000)
                client.sendall(b"HTTP/1.1 400 x\r\nConnection: close\r\n" + (said or b"\r\n"))
                for _ in range(200):
                    never.wait(0.02)
                    client.sendall(b"x")
            except OSError:
                cut.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        teller = threading.Thread(target=say, args=[listener], daemon=True)
        teller.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert Endpoint.of(url, environ={}).post(BATCH).outcome is not PostStatus.TAKEN
        teller.join()
    assert cut.is_set()


def test_a_connection_that_is_made_after_the_deadline_is_not_used(monkeypatch):
    monkeypatch.setattr(endpoint, "DEADLINE_SECONDS", 0.0)
    connect = socket.create_connection

    def late(*arguments):
        threading.Event().wait(0.2)
        return connect(*arguments)

    monkeypatch.setattr(socket, "create_connection", late)
    with Sidecar() as sidecar:
        answer = Endpoint.of(sidecar.url).post(BATCH)
    assert (answer.outcome, answer.reason) == (PostStatus.FAILED, "TimeoutError: the connection took too long")
    assert sidecar.bodies == []
