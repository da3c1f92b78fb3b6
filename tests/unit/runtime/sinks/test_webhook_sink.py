"""Events to a webhook, over real sockets."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager, suppress

import pytest

from rebalance_agent.api.events_endpoint import EventsApp
from rebalance_agent.api.posted_events import LINE_BYTES_MAX
from rebalance_agent.clock import FakeClock, SystemClock
from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.events_post import EVENTS_PATH
from rebalance_agent.http.messages import Response
from rebalance_agent.http.reloaded_files import LOOK_AGAIN_S
from rebalance_agent.http.server import HttpServer
from rebalance_agent.http.server_tls import ServerTls, TlsFiles
from rebalance_agent.model.event_json import json_line
from rebalance_agent.runtime.settings.listener_security import webhook_tls
from rebalance_agent.runtime.settings.roles import SidecarSettings
from rebalance_agent.runtime.settings.webhook_target import webhook_target
from rebalance_agent.runtime.sinks import webhook_sink as sink_webhook
from rebalance_agent.runtime.sinks.queued_sink import BATCH_BYTES_MAX, DeliveryError
from rebalance_agent.runtime.sinks.webhook_sink import Webhook
from support.kafka.certificates import Authority, needs_openssl
from support.observer.sidecars import Sidecar, SilentSidecar, absent, answering
from support.observer.views import assign_event

LINES = [b'{"a":1}', b'{"b":2}']
NEVER = threading.Event()


def quick():
    return Backoff(0.001, 0.001)


def webhook(url, clock=None, **more):
    return Webhook(webhook_target(url), clock or SystemClock(), **{"backoff": quick, **more})


def test_a_batch_is_one_post_with_a_line_per_event_and_the_token():
    with Sidecar() as server:
        webhook(server.url, token=lambda: "t" * 16).deliver(LINES, NEVER)
    assert server.bodies == [b'{"a":1}\n{"b":2}\n']
    assert server.headers[0]["content-type"] == "application/x-ndjson"
    assert server.headers[0]["authorization"] == f"Bearer {'t' * 16}"


def test_a_batch_may_be_one_json_list():
    with Sidecar() as server:
        webhook(server.url, form="json").deliver(LINES, NEVER)
    assert json.loads(server.bodies[0]) == [{"a": 1}, {"b": 2}]
    assert server.headers[0]["content-type"] == "application/json"
    assert "authorization" not in server.headers[0]


@pytest.mark.parametrize("status", [500, 503, 429, 408])
def test_temporary_errors_are_retried(status):
    with Sidecar(status, status) as server:
        webhook(server.url).deliver(LINES, NEVER)
    assert len(server.bodies) == 3


@pytest.mark.parametrize("status", [400, 401, 404, 413])
def test_a_refusal_is_final(status):
    with Sidecar(status) as server, pytest.raises(DeliveryError, match=rf"responded with {status}$"):
        webhook(server.url).deliver(LINES, NEVER)
    assert len(server.bodies) == 1


def test_only_lines_named_in_the_response_are_lost():
    taken = []
    app = EventsApp(lambda events, _dropped: taken.extend(each.sequence for each in events), SystemClock())
    server = HttpServer("127.0.0.1", 0, app, body_bytes_max=BATCH_BYTES_MAX)
    server.start()
    lines = [json_line(assign_event(sequence=number)) for number in range(5)]
    lines[1] = b'{"kind":"other"}'
    lines[3] += b" " * LINE_BYTES_MAX
    try:
        with pytest.raises(DeliveryError, match=r"responded with 400 for a line of 26\d{4} bytes$") as failed:
            webhook(f"http://127.0.0.1:{server.port}{EVENTS_PATH}").deliver(lines, NEVER)
    finally:
        server.stop()
    assert [*failed.value.delivered] == taken == [0, 2, 4]


@pytest.mark.parametrize("reported", [b"", b"{", b"[1]", b'{"line":0}', b'{"line":3}', b'{"line":true}', b"[" * 60_000])
def test_a_refusal_that_names_no_line_is_final_for_the_batch(reported):
    answer = b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n%s" % (len(reported), reported)
    with answering(answer) as url, pytest.raises(DeliveryError, match=r"responded with 400$") as failed:
        webhook(url).deliver(LINES, NEVER)
    assert [*failed.value.delivered] == []


def test_a_response_cannot_name_lines_of_a_json_list():
    answer = b'HTTP/1.1 400 Bad Request\r\nContent-Length: 10\r\n\r\n{"line":1}'
    with answering(answer) as url, pytest.raises(DeliveryError, match=r"responded with 400$"):
        webhook(url, form="json").deliver(LINES, NEVER)


def test_a_redirect_is_not_followed():
    with Sidecar() as other:
        answer = f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {other.url}\r\nContent-Length: 0\r\n\r\n"
        with answering(answer.encode()) as url, pytest.raises(DeliveryError, match="responded with 307"):
            webhook(url, token=lambda: "t" * 16).deliver(LINES, NEVER)
    assert other.bodies == []


def test_a_batch_is_dropped_after_its_deadline():
    clock = FakeClock()

    class Passing(Backoff):
        def next(self):
            clock.advance(400)
            return 0.001

    with absent() as url, pytest.raises(DeliveryError, match="refused"):
        webhook(url, clock, seconds=1, backoff=Passing).deliver(LINES, NEVER)
    assert clock.monotonic() == pytest.approx(1.2)


def test_retry_after_is_respected_up_to_a_limit():
    class Patient(threading.Event):
        def __init__(self):
            super().__init__()
            self.waits = []

        def wait(self, timeout=None):
            self.waits.append(timeout)
            return True

    answer = b"HTTP/1.1 429 Too Many\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n"
    for asked, waited in ((b"7", 7.0), (b"80000", sink_webhook.WAIT_MAX_S), (b"soon", 0.001)):
        given_up = Patient()
        with answering(answer % asked) as url, pytest.raises(DeliveryError):
            webhook(url, seconds=1_000).deliver(LINES, given_up)
        assert given_up.waits == [pytest.approx(waited, rel=0.5)]


@pytest.mark.parametrize("answer", [b"nonsense", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, b"HTTP/1.1 abc\r\n\r\n"])
def test_an_invalid_response_is_a_failure(answer):
    with answering(answer) as url, pytest.raises(DeliveryError):
        webhook(url, seconds=0.05).deliver(LINES, NEVER)


def test_an_endless_body_is_not_read_completely():
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * (2 * sink_webhook.ANSWER_BYTES_MAX)
    with answering(answer) as url:
        webhook(url).deliver(LINES, NEVER)


def test_a_server_that_never_responds_is_abandoned_after_the_attempts_timeout(monkeypatch):
    monkeypatch.setattr(sink_webhook, "ATTEMPT_SECONDS", 0.3)
    with SilentSidecar() as server, pytest.raises(DeliveryError):
        webhook(server.url, seconds=0.2).deliver(LINES, NEVER)


def test_a_trickling_response_is_cut_off(monkeypatch):
    monkeypatch.setattr(sink_webhook, "ATTEMPT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def trickle():
            accepted, _ = listener.accept()
            with accepted, suppress(OSError):
                accepted.sendall(b"HTTP/1.1 ")
                while not NEVER.wait(0.02):
                    accepted.sendall(b"y")

        thread = threading.Thread(target=trickle)
        thread.start()
        with pytest.raises(DeliveryError):
            webhook(f"http://127.0.0.1:{listener.getsockname()[1]}/", seconds=0).deliver(LINES, NEVER)
        thread.join(10)
        assert not thread.is_alive()


def test_stop_ends_a_hanging_attempt():
    given_up, ended = threading.Event(), []

    def deliver():
        with pytest.raises(DeliveryError):
            webhook(server.url).deliver(LINES, given_up)
        ended.append(True)

    with SilentSidecar() as server:
        thread = threading.Thread(target=deliver)
        thread.start()
        assert server.accepted.wait(10)
        given_up.set()
        thread.join(5)
    assert ended == [True]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://secret.example.org/",
        "secret.example.org/events",
        "http:///secret",
        "https://example.org:99999/",
        "https://u:secret@example.org/",
        "https://example.org/secret b",
        "https://exämple.org/",
        "https://example.org/\r\nX: secret",
        "http://[::1/",
    ],
)
def test_invalid_urls_are_refused_without_repeating_them(url):
    with pytest.raises(ValueError, match=r"^(must|is not)") as refused:
        webhook_target(url)
    assert "secret" not in str(refused.value)


def test_a_shown_url_has_no_secret_of_its_path():
    target = webhook_target("https://hooks.example.org/services/T0/secret?key=secret")
    assert target.path == "/services/T0/secret?key=secret"
    assert (target.shown, "secret" in repr(target)) == ("https://hooks.example.org:443", False)
    assert webhook_target("http://[::1]:8080").shown == "http://[::1]:8080"


def test_a_token_is_sent_without_encryption_only_to_loopback():
    webhook("http://127.0.0.1:1/", token=lambda: "t" * 16)
    with pytest.raises(InvalidInputError, match=r"^events_webhook: must be https"):
        webhook("http://example.org/", token=lambda: "t" * 16)


@contextmanager
def taking(certificate, clients=None):
    """The URL of a server with TLS, and the posts to it; ``clients``: the authority of the clients' certificates."""
    posted = []

    def app(request):
        posted.append(request.body)
        return Response("200 OK", "text/plain", b"")

    files = TlsFiles(str(certificate.chain), str(certificate.key), str(clients.chain) if clients else "")
    server = HttpServer("127.0.0.1", 0, app, tls=ServerTls(files, SystemClock()))
    server.start()
    try:
        yield f"https://127.0.0.1:{server.port}/", posted
    finally:
        server.stop()


def towards(url, clock=None, **files):
    """The TLS context of settings with ``files`` as paths of certificates."""
    settings = {f"events_webhook_{name}_file": str(path) for name, path in files.items()}
    return webhook_tls(SidecarSettings(events_webhook=url, **settings), clock or SystemClock()).get


@needs_openssl
def test_certificates_are_checked(tmp_path):
    authority, other = Authority(tmp_path / "a"), Authority(tmp_path / "b")
    with taking(authority.issue("webhook")) as (url, posted):
        webhook(url, context=towards(url, ca=authority.certificate.chain)).deliver(LINES, NEVER)
        with pytest.raises(DeliveryError, match=r"(?i)certificate verify failed"):
            webhook(url, seconds=0, context=towards(url, ca=other.certificate.chain)).deliver(LINES, NEVER)
    assert posted == [b'{"a":1}\n{"b":2}\n']


@needs_openssl
def test_a_client_certificate_is_sent_and_read_again_after_its_renewal(tmp_path):
    authority, other, clock = Authority(tmp_path / "a"), Authority(tmp_path / "b"), FakeClock()
    mine, renewed = other.issue("agent"), authority.issue("agent")
    with taking(authority.issue("webhook"), clients=authority.certificate) as (url, posted):
        context = towards(url, clock, ca=authority.certificate.chain, cert=mine.chain, key=mine.key)
        for unwelcome in (context, towards(url, ca=authority.certificate.chain)):
            with pytest.raises(DeliveryError):
                webhook(url, seconds=0, context=unwelcome).deliver(LINES, NEVER)
        assert posted == []
        renewed.chain.replace(mine.chain)
        renewed.key.replace(mine.key)
        clock.advance(1_000 * LOOK_AGAIN_S)
        webhook(url, context=context).deliver(LINES, NEVER)
    assert len(posted) == 1
