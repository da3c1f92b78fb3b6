"""TLS of our own listeners, with certificates from openssl."""

import http.client
import os
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from rebalance_agent.clock import FakeClock, SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.connections.connection import Limits
from rebalance_agent.http.messages import Response
from rebalance_agent.http.reloaded_files import LOOK_AGAIN_S
from rebalance_agent.http.server import HttpServer
from rebalance_agent.http.server_tls import ServerTls, TlsFiles
from support.kafka.certificates import Authority, locked, needs_openssl

pytestmark = needs_openssl


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def certificate(authority):
    return authority.issue("server")


def files(certificate, clients=None):
    return TlsFiles(str(certificate.chain), str(certificate.key), str(clients.certificate.chain) if clients else "")


def app(request):
    return Response("200 OK", "text/plain", request.path.encode())


@contextmanager
def serving(tls, clock=None, **limits):
    tls = tls if isinstance(tls, ServerTls) else ServerTls(tls, clock or SystemClock())
    server = HttpServer("127.0.0.1", 0, app, limits=Limits(**limits), tls=tls)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def client(authority, own=None):
    context = ssl.create_default_context(cafile=authority.certificate.chain)
    if own:
        context.load_cert_chain(own.chain, own.key)
    return context


def get(server, context, times=1):
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=10)
    try:
        for _ in range(times):
            connection.request("GET", "/")
            answer = connection.getresponse().read()
        return answer
    finally:
        connection.close()


def test_requests_over_tls_are_answered_on_one_connection(authority, certificate):
    with serving(files(certificate)) as server:
        assert get(server, client(authority), times=3) == b"/"


def test_older_versions_than_tls_1_2_are_refused(authority, certificate):
    context = files(certificate).context()
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_with_a_client_ca_only_its_clients_are_served(authority, certificate, tmp_path):
    other = Authority(tmp_path / "other")
    with serving(files(certificate, authority)) as server:
        assert get(server, client(authority, authority.issue("scraper"))) == b"/"
        for own in (None, other.issue("stranger")):
            with pytest.raises(OSError, match=r"(?i)alert|reset|EOF|pipe"):
                get(server, client(authority, own))


def test_plain_http_on_a_tls_port_gets_an_error(certificate):
    with serving(files(certificate)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (400, b"this port uses HTTPS\n")
        connection.close()


def test_unfinished_handshakes_do_not_delay_other_clients(authority, certificate):
    with serving(files(certificate), workers=1, head_seconds=60) as server:
        slow = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(150)]
        for connection in slow[::2]:
            connection.sendall(b"\x16\x03\x01\x02\x00\x01")  # a handshake's first bytes
        try:
            assert get(server, client(authority)) == b"/"
        finally:
            for connection in slow:
                connection.close()


def test_a_handshake_has_the_deadline_of_a_head(certificate):
    with (
        serving(files(certificate), head_seconds=0.2) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as slow,
    ):
        slow.sendall(b"\x16\x03\x01")
        assert slow.recv(100) == b""


def test_garbage_during_the_handshake_is_not_logged(authority, certificate, caplog):
    with serving(files(certificate)) as server:
        caplog.clear()
        with (
            socket.create_connection(("127.0.0.1", server.port), timeout=10) as rude,
            suppress(ConnectionResetError),
        ):
            rude.sendall(b"\x16" + b"garbage" * 100)
            while rude.recv(100):
                pass
        assert get(server, client(authority)) == b"/"
    assert caplog.text == ""


def test_replaced_files_are_served_to_new_connections(authority, tmp_path, caplog):
    first, second = authority.issue("first"), authority.issue("second")
    chain, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    clock = FakeClock()

    def put(certificate):
        for target, source in ((chain, certificate.chain), (key, certificate.key)):
            new = tmp_path / "new"
            new.write_bytes(Path(source).read_bytes())
            new.replace(target)

    def served():
        plain = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        with client(authority).wrap_socket(plain, server_hostname="127.0.0.1") as secured:
            return dict(pair for (pair,) in secured.getpeercert()["subject"])["commonName"]

    put(first)
    tls = ServerTls(TlsFiles(str(chain), str(key)), clock)
    with serving(tls) as server:
        assert served() == "first"
        put(second)
        clock.advance(round(LOOK_AGAIN_S * 1000))
        assert served() == "second"
        key.write_text("half a fi")
        clock.advance(round(LOOK_AGAIN_S * 1000))
        assert served() == "second"
        clock.advance(round(LOOK_AGAIN_S * 1000))
        assert served() == "second"
    warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert len([text for text in warnings if "the previous contents stay in use: tls_cert_file" in text]) == 1


@pytest.mark.parametrize(
    ("change", "field", "problem"),
    [
        ({"cert_file": ""}, "tls_cert_file", "is missing"),
        ({"key_file": ""}, "tls_key_file", "is missing"),
        ({"cert_file": "/no/such"}, "tls_cert_file", "cannot read /no/such: No such file"),
        ({"key_file": "/no/such"}, "tls_key_file", "cannot read /no/such: No such file"),
        ({"client_ca_file": "/no/such"}, "tls_client_ca_file", "cannot read /no/such: No such file"),
        ({"client_ca_file": __file__}, "tls_client_ca_file", "contains no PEM certificate"),
        ({"cert_file": os.devnull}, "tls_cert_file", "cannot read /dev/null: it is not a regular file"),
        ({"cert_file": __file__}, "tls_cert_file", "must contain a certificate and its unencrypted key"),
    ],
)
def test_unusable_tls_files_are_named(certificate, change, field, problem):
    with pytest.raises(InvalidInputError, match=rf"^{field}: .*{problem}"):
        ServerTls(replace(files(certificate), **change), FakeClock())


def test_a_key_of_another_certificate_is_named(authority, certificate):
    other = authority.issue("other")
    with pytest.raises(InvalidInputError, match=r"^events_tls_key_file: .* does not belong to the certificate"):
        ServerTls(TlsFiles(str(certificate.chain), str(other.key), prefix="events_tls_"), FakeClock())


def test_an_encrypted_key_is_refused_without_a_prompt(certificate):
    with pytest.raises(InvalidInputError, match="unencrypted"):
        ServerTls(TlsFiles(str(certificate.chain), str(locked(certificate).key)), FakeClock())


@pytest.mark.parametrize("mutual", [False, True])
def test_expired_and_expiring_certificates_are_logged_and_used(authority, caplog, mutual):
    clients = authority if mutual else None
    ServerTls(files(authority.issue("long-gone", expired=True), clients), SystemClock())
    assert "has expired" in caplog.text
    ServerTls(files(authority.issue("two-days"), clients), SystemClock())
    assert "expires on" in caplog.text
    caplog.clear()
    ServerTls(files(authority.issue("fresh"), clients), FakeClock(0))
    assert caplog.text == ""


def test_a_stopped_listener_has_no_threads(certificate):
    with serving(files(certificate)) as server:
        port = server.port
    assert not [each for each in threading.enumerate() if each.name.startswith(f"http-{port}")]
