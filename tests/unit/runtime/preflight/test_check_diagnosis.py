"""Diagnoses of server errors, each with a faulty server on loopback, without Kafka."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading

import pytest

from rebalance_agent.runtime.preflight.diagnosis import connection_trouble, diagnose, tls_trouble
from support.kafka.certificates import Authority, needs_openssl


@contextlib.contextmanager
def listening(context=None, answer=b""):
    """The port of a server that does a TLS handshake with ``context`` or responds at once, and then closes."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        with contextlib.suppress(OSError):  # the end: its socket was closed
            while True:
                connection, _ = server.accept()
                with contextlib.suppress(OSError), connection:
                    connection.settimeout(5)
                    if context:
                        with context.wrap_socket(connection, server_side=True) as shaken:
                            shaken.recv(1)
                    else:
                        connection.recv(1)
                        connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(10)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


def tls_server(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.chain, certificate.key)
    return listening(context)


def trusting(certificate):
    return {"security.protocol": "SSL", "ssl.ca.location": str(certificate.chain)}


def test_a_name_without_address_and_a_closed_port_are_distinguished():
    assert connection_trouble("no-such-host.invalid", 9092)[0].startswith("DNS: no-such-host.invalid has no address")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert connection_trouble("127.0.0.1", port) is None
    assert connection_trouble("127.0.0.1", port)[0] == f"TCP: port {port} is closed"


@needs_openssl
def test_reasons_for_untrusted_certificates_are_distinguished(authority, tmp_path):
    good = authority.issue("good")
    with tls_server(good) as port:
        assert "another" not in diagnose("127.0.0.1", port, trusting(authority.certificate), "x")[0]
        other = Authority(tmp_path / "other").certificate
        what, fix = diagnose("127.0.0.1", port, trusting(other), "certificate verify failed")
        assert what.startswith("TLS: the server's certificate is signed by an authority that is not trusted (")
        assert "ssl.ca.location" in fix
        unverified = {**trusting(other), "enable.ssl.certificate.verification": "false"}
        assert not diagnose("127.0.0.1", port, unverified, "x")[0].startswith("TLS")
    with tls_server(authority.issue("old", expired=True)) as port:
        what, fix = diagnose("127.0.0.1", port, trusting(authority.certificate), "certificate verify failed")
        assert what == "TLS: the server's certificate has expired (certificate has expired)"
        assert fix == "renew the certificate on the broker"
    with tls_server(authority.issue("elsewhere", "DNS:kafka.example.org")) as port:
        properties = trusting(authority.certificate)
        assert "is for another address" in diagnose("127.0.0.1", port, properties, "x")[0]
        assert "is for another name" in diagnose("localhost", port, properties, "x")[0]
        unnamed = {**properties, "ssl.endpoint.identification.algorithm": "none"}
        assert not diagnose("localhost", port, unnamed, "x")[0].startswith("TLS")


@needs_openssl
def test_tls_at_a_plain_port_and_vice_versa_are_diagnosed(authority):
    with tls_server(authority.issue("tls")) as port:
        what, fix = diagnose("127.0.0.1", port, {}, "Disconnected")
        assert what == "the server uses TLS and this client does not"
        assert "SASL_SSL" in fix
    for answer in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b""):
        with listening(answer=answer) as port:
            what, _ = diagnose("127.0.0.1", port, {"security.protocol": "SASL_SSL"}, "handshake failed")
            assert what.startswith("TLS: the server ")
            assert tls_trouble("127.0.0.1", port, ssl.create_default_context())[0].startswith("TLS: the server ")


@pytest.mark.parametrize(
    ("protocol", "reported", "what"),
    [
        ("SASL_PLAINTEXT", "SASL authentication error: Authentication failed: Invalid username or password", "SASL: "),
        ("SASL_PLAINTEXT", "SASL SCRAM-SHA-256 mechanism handshake failed: not supported by broker", "SASL: "),
        ("SASL_PLAINTEXT", "Failed to acquire SASL OAUTHBEARER token: 401", "OAUTHBEARER: "),
        ("SASL_PLAINTEXT", "Local: Timed out", "Kafka: Local: Timed out"),
        ("PLAINTEXT", "Receive failed: ssl/tls alert bad certificate", "TLS: the server rejects this client"),
        ("PLAINTEXT", "Disconnected", "Kafka: the server accepts connections but no requests"),
    ],
)
def test_the_servers_text_about_the_login_is_shown_with_a_remedy(protocol, reported, what):
    with listening() as port:
        found, fix = diagnose("127.0.0.1", port, {"security.protocol": protocol}, reported)
    assert found.startswith(what)
    assert fix


def test_a_refused_token_of_a_cloud_leads_to_the_identitys_access():
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.oauthbearer.method": "aws-msk-iam"}
    with listening() as port:
        reported = "SASL authentication error: Access denied"
        assert "access" in diagnose("127.0.0.1", port, login, reported)[1]
        assert "access" not in diagnose("127.0.0.1", port, {"security.protocol": "SASL_PLAINTEXT"}, reported)[1]


def test_a_web_server_is_distinguished_from_a_broker_that_requires_tls():
    with listening(answer=b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        reported = "Receive failed: Invalid response size 1213486160 (0..100000000)"
        assert diagnose("127.0.0.1", port, {}, reported)[0].startswith("HTTP: ")
