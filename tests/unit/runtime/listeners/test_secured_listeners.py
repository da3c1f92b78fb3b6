"""The sidecar's two listeners with TLS, client certificates and tokens, and a consumer that posts to them."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from rebalance_agent.clock import FakeClock, SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.messages import Request
from rebalance_agent.http.reloaded_files import LOOK_AGAIN_S
from rebalance_agent.instrumentation.client_tls import CA_VARIABLE, CERT_VARIABLE, KEY_VARIABLE
from rebalance_agent.instrumentation.delivery.endpoint import Endpoint, PostStatus
from rebalance_agent.instrumentation.delivery.outbox import Batch
from rebalance_agent.model.event_json import json_line
from rebalance_agent.runtime.listeners.configured_listeners import page_url
from rebalance_agent.runtime.processes.sidecar import Sidecar
from rebalance_agent.runtime.settings.listener_security import bearer_of
from rebalance_agent.runtime.settings.roles import ObserverSettings, SidecarSettings
from support.kafka.certificates import Authority, needs_openssl
from support.observer.views import member_event

BATCH = Batch(json_line(member_event()) + b"\n", 1, 0)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@contextmanager
def listening(**settings):
    usual = {"listen": "127.0.0.1:0", "events_listen": "127.0.0.1:0"}
    sidecar, stop = Sidecar(SidecarSettings(**{**usual, **settings}), {}, clock=SystemClock()), threading.Event()
    sidecar._events.start()
    try:
        yield sidecar
    finally:
        stop.set()
        sidecar._events.stop()


def post(sidecar, environ, token=None):
    return Endpoint.of(f"https://127.0.0.1:{sidecar.events_port}", token, environ).post(BATCH).outcome


@needs_openssl
def test_only_a_consumer_with_a_certificate_posts_over_mutual_tls(authority):
    own, consumer = authority.issue("sidecar"), authority.issue("consumer")
    ca = str(authority.certificate.chain)
    files = {"events_tls_cert_file": str(own.chain), "events_tls_key_file": str(own.key)}
    with listening(events_listen="0.0.0.0:0", events_tls_client_ca_file=ca, **files) as sidecar:
        with_it = {CA_VARIABLE: ca, CERT_VARIABLE: str(consumer.chain), KEY_VARIABLE: str(consumer.key)}
        assert post(sidecar, with_it) is PostStatus.TAKEN
        assert post(sidecar, {CA_VARIABLE: ca}) is PostStatus.FAILED
        assert b'kafka_rebalance_member_assigned_total{consumergroup="orders"' in sidecar._members.text()
    with listening(**files) as sidecar:
        assert post(sidecar, {}) is PostStatus.FAILED  # an untrusted authority


@needs_openssl
def test_a_token_is_also_required_over_tls(authority, tmp_path):
    own, held = authority.issue("sidecar-2"), tmp_path / "token"
    held.write_text("t" * 16 + "\n")
    files = {"events_tls_cert_file": str(own.chain), "events_tls_key_file": str(own.key)}
    with (
        capture_logs() as logs,
        listening(events_listen="0.0.0.0:0", events_token_file=str(held), **files) as sidecar,
    ):
        environ = {CA_VARIABLE: str(authority.certificate.chain)}
        assert post(sidecar, environ, "t" * 16) is PostStatus.TAKEN
        assert post(sidecar, environ, "wrong" * 4) is PostStatus.REFUSED
    assert "token_unencrypted" not in [log["event"] for log in logs]


def test_a_token_without_encryption_is_reported(tmp_path):
    held = tmp_path / "token"
    held.write_text("t" * 16)
    with capture_logs() as logs:
        Sidecar(SidecarSettings(events_listen="0.0.0.0:0", events_token_file=str(held)), {})
    assert "token_unencrypted" in [log["event"] for log in logs]


def test_a_token_is_read_again_when_its_file_changes(tmp_path):
    held, clock = tmp_path / "token", FakeClock()
    held.write_text("a" * 16)
    bearer = bearer_of("web_token_file", str(held), clock)

    def allows(letter):
        return bearer.allows(Request("GET", "/", {"authorization": f"Bearer {letter * 16}"}))

    assert (allows("a"), allows("b")) == (True, False)
    held.write_text("b" * 16 + "\n")
    assert allows("a")
    clock.advance(round(LOOK_AGAIN_S * 1000))
    assert (allows("a"), allows("b")) == (False, True)
    for bad in ("short", None):
        held.unlink() if bad is None else held.write_text(bad)
        clock.advance(round(LOOK_AGAIN_S * 1000))
        assert allows("b")
    assert bearer_of("web_token_file", "", clock) is None


@pytest.mark.parametrize(("content", "problem"), [("short", "must be at least 16"), ("", "empty")])
def test_a_file_without_a_valid_token_is_named(tmp_path, content, problem):
    held = tmp_path / "token"
    held.write_text(content)
    with pytest.raises(InvalidInputError, match=rf"^web_token_file: .*{problem}"):
        bearer_of("web_token_file", str(held), FakeClock())


@pytest.mark.parametrize(
    ("environ", "variable"),
    [
        ({CA_VARIABLE: "/no/such"}, CA_VARIABLE),
        ({CA_VARIABLE: "/dev/null"}, CA_VARIABLE),
        ({CERT_VARIABLE: "/no/such"}, CERT_VARIABLE),
        ({KEY_VARIABLE: "/no/such"}, CERT_VARIABLE),
    ],
)
def test_unusable_files_of_a_consumer_are_named(environ, variable):
    with pytest.raises(InvalidInputError, match=rf"^{variable}: "):
        Endpoint.of("https://localhost", environ=environ)
    assert Endpoint.of("http://localhost", environ=environ)


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({}, "http://localhost:29308/"),
        ({"listen": "0.0.0.0:29308"}, "http://localhost:29308/"),
        ({"listen": "[::]:29308"}, "http://localhost:29308/"),
        ({"listen": "[2001:db8::1]:29308"}, "http://[2001:db8::1]:29308/"),
        ({"listen": "10.0.0.1:29308", "tls_cert_file": "c.pem"}, "https://10.0.0.1:29308/"),
    ],
)
def test_the_address_of_the_page_in_the_log_can_be_opened(settings, url):
    assert page_url(ObserverSettings(**settings), 29308) == url
