"""Writes ``sasl.jaas.config``, the login of a Java client."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["OAUTH_MODULE", "jaas_text", "oidc_properties"]

OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_OIDC_HANDLER = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"  # of Kafka 3.9


def jaas_text(module: str, options: Mapping[str, str]) -> str:
    """Return the login with ``module``, and its options in double quotes."""
    quoted = "".join(f' {name}="{_quoted(value)}"' for name, value in options.items())
    return f"{module} required{quoted};"


def oidc_properties(url: str, client: str, secret: str, scope: str | None) -> dict[str, str]:
    """Return the properties of a login with a client secret at the token endpoint ``url`` (KIP-768)."""
    options = {"clientId": client, "clientSecret": secret} | ({"scope": scope} if scope else {})
    return {
        "sasl.jaas.config": jaas_text(OAUTH_MODULE, options),
        "sasl.login.callback.handler.class": _OIDC_HANDLER,
        "sasl.oauthbearer.token.endpoint.url": url,
    }


def _quoted(value: str) -> str:
    """Escape a value for double quotes, as Java's StreamTokenizer reads it."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
