"""Finds out why librdkafka could not reach a server: tests the server's name, connection, TLS and login.

librdkafka reports only that a certificate cannot be verified; Python's ``ssl`` also reports why.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping

from rebalance_agent.cluster.tokens.login_options import METHOD
from rebalance_agent.cluster.tokens.token_login import METHODS
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.instrumentation.client_tls import trusting_context

__all__ = ["TIMEOUT_S", "connection_trouble", "diagnose", "tls_trouble"]

TIMEOUT_S = 3.0
"""Longest wait for a connection or a handshake, in seconds; a server on another continent takes less than 1 s."""

_HTTP = int.from_bytes(b"HTTP", "big")
"""The message size that a Kafka client reads from the first bytes of an HTTP answer."""

_UNKNOWN = "is signed by an authority that is not trusted"
_ADD = "add that authority's certificate to the CA file (ssl.ca.location)"
_VERIFICATION = {
    9: "is not valid yet: compare the clocks of client and broker",
    10: "has expired: renew the certificate on the broker",
    18: "is self-signed and not trusted: add it to the CA file (ssl.ca.location)",
    19: f"{_UNKNOWN}: {_ADD}",
    20: f"{_UNKNOWN}: {_ADD}",
    21: f"{_UNKNOWN}: {_ADD}",
    23: "was revoked",
    62: "is for another name: connect by a name in the certificate, or add this name to the certificate",
    64: "is for another address: connect by a name in the certificate, or add this address to the certificate",
}
"""OpenSSL's X509_V_ERR number -> what is wrong with a certificate, and how to correct it."""


def diagnose(host: str, port: int, properties: Mapping[str, str], error: str) -> tuple[str, str]:
    """Return a server's problem and the solution; ``error`` is librdkafka's error text."""
    if trouble := connection_trouble(host, port):
        return trouble
    if str(_HTTP) in error:
        return "HTTP: the server uses HTTP, not Kafka's protocol", "correct the port"
    protocol = properties.get("security.protocol", "plaintext").upper()
    if protocol.endswith("SSL"):
        context = _context(properties)
        if context and (trouble := tls_trouble(host, port, context)):
            return trouble
    elif not tls_trouble(host, port, _trusting()):
        return "the server uses TLS and this client does not", "set security.protocol to SSL or SASL_SSL"
    return _login_trouble(protocol, properties.get(METHOD, ""), error)


def connection_trouble(host: str, port: int) -> tuple[str, str] | None:
    """Return the problem of the name or the connection, and the solution; None if a connection is accepted."""
    try:
        socket.create_connection((host, port), TIMEOUT_S).close()
    except socket.gaierror as error:
        return f"DNS: {host} has no address ({error.strerror})", "correct the name, or the DNS settings of this machine"
    except TimeoutError:
        return (
            f"TCP: no response from port {port} within {TIMEOUT_S:g} s",
            "open the firewall, network policy or security group",
        )
    except ConnectionRefusedError:
        return f"TCP: port {port} is closed", "correct the port, or start the server"
    except OSError as error:
        return f"TCP: {error.strerror or error}", "check whether this machine can reach that network"
    return None


def tls_trouble(host: str, port: int, context: ssl.SSLContext) -> tuple[str, str] | None:
    """Return the problem of the handshake or the certificate, and the solution; None if the handshake succeeds."""
    try:
        with (
            socket.create_connection((host, port), TIMEOUT_S) as connection,
            context.wrap_socket(connection, server_hostname=host),
        ):
            return None
    except ssl.SSLCertVerificationError as error:
        why = _VERIFICATION.get(error.verify_code, "cannot be verified")
        what, _, fix = why.partition(": ")
        return (
            f"TLS: the server's certificate {what} ({error.verify_message.rstrip('.')})",
            fix or "inspect the certificate with openssl s_client",
        )
    except ssl.SSLError as error:
        if error.reason in ("WRONG_VERSION_NUMBER", "UNEXPECTED_EOF_WHILE_READING", "RECORD_LAYER_FAILURE"):
            return (
                "TLS: the server does not use TLS on this port",
                "set security.protocol to PLAINTEXT or SASL_PLAINTEXT",
            )
        return f"TLS: {(error.reason or str(error)).replace('_', ' ').lower()}", "see the broker's log"
    except OSError:
        return "TLS: the server closed the connection during the handshake", "check whether this port uses TLS"


def _login_trouble(protocol: str, method: str, error: str) -> tuple[str, str]:
    lower = error.lower()
    if method in METHODS and ("authentication" in lower or "token" in lower):
        return f"SASL: {error}", f"give this identity access to the cluster: the brokers refused its {method} token"
    if "authentication failed" in lower or "sasl authentication error" in lower:
        return f"SASL: {error}", "correct sasl.mechanism, sasl.username or the password (sasl.password.file)"
    if "mechanism" in lower and "not" in lower:
        return f"SASL: {error}", "set sasl.mechanism to a mechanism of this listener"
    if "certificate" in lower and "alert" in lower:
        return (
            "TLS: the server rejects this client's certificate, or requires a certificate and this client has none",
            "set ssl.certificate.location to a certificate that a CA of the broker has signed, and ssl.key.location",
        )
    if "oauthbearer" in lower or "oidc" in lower or "token" in lower:
        return f"OAUTHBEARER: {error}", "correct sasl.oauthbearer.client.id, its secret or the token endpoint's URL"
    if not protocol.startswith("SASL"):
        secured = "SASL_SSL" if protocol == "SSL" else "SASL_PLAINTEXT"
        return (
            f"Kafka: the server accepts connections but no requests ({error})",
            f"set security.protocol to {secured} if the server requires a login",
        )
    return f"Kafka: {error}", "see the broker's log"


def _trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _context(properties: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return a context that verifies like librdkafka; None if it does not verify, or Python's ``ssl`` cannot."""
    if properties.get("enable.ssl.certificate.verification", "true").lower() in ("false", "0", "f"):
        return None
    try:
        context = trusting_context(properties)
    except InvalidInputError:
        return None
    context.check_hostname = properties.get("ssl.endpoint.identification.algorithm", "https").lower() != "none"
    return context
