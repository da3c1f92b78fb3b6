"""Tokens of Google Cloud, which Google's library fetches from a token server on this machine."""

from __future__ import annotations

import base64
import json
import sys

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.tokens.gcp import gcp_token
from rebalance_agent.cluster.tokens.token_cache import TokenError
from support.http.servers import answering_posts

EMAIL = "agent@example.iam.gserviceaccount.com"
LIFETIME_S = 3600


@pytest.fixture
def answer():
    """Status and JSON of the token server."""
    return [200, {"access_token": "ya29.token", "expires_in": LIFETIME_S, "token_type": "Bearer"}]


@pytest.fixture
def account(tmp_path, monkeypatch, answer):
    """A service account whose tokens come from a server on this machine."""
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    file = tmp_path / "account.json"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    with answering_posts(lambda _headers, _body: tuple(answer)) as url:
        fields = {"type": "service_account", "client_email": EMAIL, "private_key": key.decode(), "token_uri": url}
        file.write_text(json.dumps(fields | {"private_key_id": "1", "project_id": "example"}))
        yield


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)).decode()


@pytest.mark.usefixtures("account")
def test_a_token_has_a_header_claims_and_the_access_token():
    now_ms = SystemClock().now_ms()
    token = gcp_token({})
    header, claims, access = map(decoded, token.text.split("."))
    assert json.loads(header) == {"alg": "GOOG_OAUTH2_TOKEN", "typ": "JWT"}
    assert access == "ya29.token"
    assert json.loads(claims)["sub"] == token.principal == EMAIL
    assert json.loads(claims)["exp"] * 1000 == pytest.approx(token.expires_ms, abs=1)
    assert 0 < token.expires_ms - now_ms <= (LIFETIME_S + 60) * 1000


@pytest.mark.usefixtures("account")
def test_a_refused_account_is_an_error_with_the_reason(answer):
    answer[:] = [400, {"error": "invalid_grant", "error_description": "account deleted"}]
    with pytest.raises(TokenError, match="invalid_grant"):
        gcp_token({})


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.auth", None)
    with pytest.raises(TokenError, match=r"pip install '\.\[gcp\]'"):
        gcp_token({})
