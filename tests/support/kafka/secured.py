"""One broker with a listener for every kind of security, and the client settings for each."""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager

from rebalance_agent.clock import SystemClock
from rebalance_agent.testing import EmbeddedKafka, Listener
from support.http.servers import answering_posts
from support.kafka.certificates import Authority

__all__ = ["KINDS", "PASSWORD", "USER", "Secured", "secured_kafka", "token_endpoint"]

USER = "agent"
PASSWORD = "not-a-secret"
"""The password of every user. No expected output contains it, so every output with it is a leak."""

KINDS = (
    "tls",
    "mtls",
    "plain",
    "plain_tls",
    "scram_256",
    "scram_256_tls",
    "scram_512",
    "scram_512_tls",
    "oauth",
    "oauth_tls",
    "oidc",
    "oidc_tls",
)
_MECHANISMS = {"plain": "PLAIN", "scram_256": "SCRAM-SHA-256", "scram_512": "SCRAM-SHA-512"}


class Secured:
    """The broker, its authority, and the address of its token endpoint."""

    def __init__(self, kafka, authority, listeners, tokens_url, files):
        self.kafka = kafka
        self.authority = authority
        self._listeners = listeners
        self._tokens = tokens_url
        self._files = files

    def properties(self, kind):
        """Kafka client properties as users set them, with secrets in files."""
        known, tls = kind.removesuffix("_tls"), kind.endswith("tls")
        properties = {"bootstrap.servers": self.kafka.address(_listener(kind))}
        properties["security.protocol"] = "_".join(
            ["SASL"] * (known not in ("tls", "mtls")) + (["SSL"] * tls or ["PLAINTEXT"])
        )
        if tls:
            properties["ssl.ca.location"] = str(self.authority.certificate.chain)
        if known == "mtls":
            mine = self.authority.issue(USER)
            properties |= {"ssl.certificate.location": str(mine.chain), "ssl.key.location": str(mine.key)}
        if known in _MECHANISMS:
            properties |= {"sasl.mechanism": _MECHANISMS[known], "sasl.username": USER}
            properties["sasl.password.file"] = self.secret()
        if known == "oauth":
            properties |= {
                "sasl.mechanism": "OAUTHBEARER",
                "enable.sasl.oauthbearer.unsecure.jwt": "true",
                "sasl.oauthbearer.config": f"principal={USER}",
            }
        if known == "oidc":
            properties |= {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.token.endpoint.url": self._tokens,
                "sasl.oauthbearer.client.id": USER,
                "sasl.oauthbearer.client.secret.file": self.secret(),
            }
        return properties

    def secret(self):
        """The path of a file with the password and a final newline, as editors write it."""
        path = self._files / "password"
        path.write_text(PASSWORD + "\n")
        return str(path)


@contextmanager
def secured_kafka(directory, kinds=KINDS, **options):
    """A broker with a listener for each of ``kinds``."""
    authority = Authority(directory / "authority")
    broker = authority.issue("broker")
    listeners = {_listener(kind): _made(kind, broker, authority.certificate) for kind in kinds}
    with token_endpoint() as url, EmbeddedKafka(listeners=listeners, **options) as kafka:
        yield Secured(kafka, authority, listeners, url, directory)


def _listener(kind):
    return kind.upper().replace("OIDC", "OAUTH")


def _made(kind, broker, clients):
    known = kind.removesuffix("_tls")
    if known in ("tls", "mtls"):
        return Listener.tls(broker.tls(clients if known == "mtls" else None))
    users = {USER: PASSWORD}
    tls = broker.tls() if kind.endswith("_tls") else None
    return Listener.sasl(_MECHANISMS.get(known, "OAUTHBEARER"), users, tls)


def token_endpoint():
    """An OAuth 2 token endpoint (RFC 6749, client credentials) with unsigned tokens for ``USER``; yields its URL."""
    known = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    def answer(headers, _body):
        let_in = headers["Authorization"] == f"Basic {known}"
        answer = {"access_token": _token(), "expires_in": 300} if let_in else {"error": "invalid_client"}
        return 200 if let_in else 401, answer

    return answering_posts(answer)


def _token():
    now = SystemClock().now_ms() // 1000
    parts = ({"alg": "none"}, {"sub": USER, "iat": now - 1, "exp": now + 300})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."
