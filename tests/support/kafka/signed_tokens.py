"""A token endpoint whose tokens are signed, and a broker that verifies them with Kafka's own validator (KIP-768)."""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from rebalance_agent.clock import SystemClock
from rebalance_agent.testing import EmbeddedKafka, Listener
from support.http.servers import answering_posts
from support.kafka.secured import PASSWORD, USER

__all__ = ["SCOPE", "signed_kafka"]

SCOPE = "https://example.servicebus.windows.net/.default"
"""The scope that clients must request."""

_PACKAGE = "org.apache.kafka.common.security.oauthbearer"
_BROKER = 'unsecuredLoginStringClaim_sub="broker"'
_AUDIENCE = "kafka"
_ISSUER = "https://issuer.example"


@contextmanager
def signed_kafka(folder):
    """Yields the broker, whose listener ``OAUTH`` verifies tokens, and the URL of the token endpoint."""
    key = rsa.generate_private_key(65537, 2048)
    numbers = key.public_key().public_numbers()
    values = {"n": _base64(numbers.n.to_bytes(256, "big")), "e": _base64(numbers.e.to_bytes(3, "big"))}
    keys = folder / "keys.json"
    keys.write_text(json.dumps({"keys": [{"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", **values}]}))
    properties = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.audience": _AUDIENCE,
        "sasl.oauthbearer.expected.issuer": _ISSUER,
        "oauthbearer.sasl.jaas.config": f"{_PACKAGE}.OAuthBearerLoginModule required {_BROKER};",
        "oauthbearer.sasl.server.callback.handler.class": f"{_PACKAGE}.OAuthBearerValidatorCallbackHandler",
    }
    known = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    def answer(headers, body):
        form = parse_qs(body.decode())
        let_in = headers["Authorization"] == f"Basic {known}" and form["scope"] == [SCOPE]
        if not let_in or form["grant_type"] != ["client_credentials"]:
            return 401, {"error": "invalid_client"}
        return 200, {"access_token": _token(key), "expires_in": 300, "token_type": "Bearer"}

    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys.as_uri()}"
    with (
        answering_posts(answer) as url,
        EmbeddedKafka(listeners={"OAUTH": Listener("SASL_PLAINTEXT", properties)}, jvm_flags=[allowed]) as kafka,
    ):
        yield kafka, url


def _token(key):
    now = SystemClock().now_ms() // 1000
    claims = {"iss": _ISSUER, "aud": _AUDIENCE, "sub": USER, "iat": now - 1, "exp": now + 300}
    parts = ({"alg": "RS256", "kid": "1", "typ": "JWT"}, claims)
    signed = ".".join(_base64(json.dumps(part).encode()) for part in parts)
    return f"{signed}.{_base64(key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def _base64(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
