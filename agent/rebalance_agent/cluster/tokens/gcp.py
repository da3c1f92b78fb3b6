"""Tokens for Google Cloud's Managed Service for Apache Kafka, from Application Default Credentials.

Source: Google's documentation of the service's authentication types (OAUTHBEARER).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from rebalance_agent.cluster.tokens.token_cache import Token, TokenError
from rebalance_agent.extras import install_text

__all__ = ["gcp_token"]

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def gcp_token(_: Mapping[str, str]) -> Token:
    """Return an access token of the process's service account, in the three parts that the service's brokers expect.

    Raises:
        TokenError: the package is missing, or Google has no credentials for this process.
    """
    try:
        import google.auth  # noqa: PLC0415 - of an extra
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415 - the same
        from google.auth.transport.requests import Request  # noqa: PLC0415 - the same
    except ImportError:
        raise TokenError(f"the package is missing; run {install_text('gcp')}") from None
    try:
        credentials: Any = google.auth.default(scopes=[_SCOPE])[0]
        credentials.refresh(Request())
    except GoogleAuthError as error:
        raise TokenError(" ".join(str(error.args[0] if error.args else error).split())) from None
    # The expiry is in UTC, without a time zone.
    expires_s = credentials.expiry.replace(tzinfo=UTC).timestamp()
    principal = getattr(credentials, "service_account_email", "") or "gcp"
    claims = {"exp": expires_s, "iss": "Google", "scope": "kafka", "sub": principal}
    parts = (json.dumps({"alg": "GOOG_OAUTH2_TOKEN", "typ": "JWT"}), json.dumps(claims), credentials.token)
    return Token(".".join(map(_base64, parts)), int(expires_s * 1000), principal)


def _base64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
