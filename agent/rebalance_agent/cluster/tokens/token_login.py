"""Values of ``sasl.oauthbearer.method`` for logins whose tokens librdkafka cannot create itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.acls import mechanism_of
from rebalance_agent.cluster.tokens import aws_msk_iam, azure, gcp
from rebalance_agent.cluster.tokens.login_options import CONFIG, METHOD, login_options
from rebalance_agent.cluster.tokens.token_cache import Token, TokenCache, TokenError
from rebalance_agent.errors import InvalidInputError

__all__ = ["METHODS", "check_token_login", "token_cache", "with_token_callback", "without_token_method"]

METHODS: Mapping[str, Callable[[Mapping[str, str]], Token]] = {
    "aws-msk-iam": aws_msk_iam.msk_token,
    "azure": azure.entra_token,
    "gcp": gcp.gcp_token,
}
"""The agent's own methods, and the function that fetches a token. librdkafka's are ``default`` and ``oidc``."""


def check_token_login(properties: Mapping[str, str]) -> None:
    """Fetch the first token before a client is created, which would wait up to 10 s for one.

    Raises:
        InvalidInputError: the login has no token, or its properties contradict each other.
    """
    method = properties.get(METHOD, "")
    if method not in METHODS:
        return
    if mechanism_of(properties) != "OAUTHBEARER":
        raise InvalidInputError("kafka.sasl.mechanism", f"must be OAUTHBEARER for the login {method}")
    try:
        token_cache(method, properties.get(CONFIG, "")).token()
    except TokenError as error:
        raise InvalidInputError(f"kafka.{METHOD}", f"{method}: {error}") from None


def without_token_method(properties: Mapping[str, str]) -> dict[str, str]:
    """Return ``properties`` in a form that librdkafka can check: without the agent's own method and its options."""
    if properties.get(METHOD, "") not in METHODS:
        return dict(properties)
    return {name: value for name, value in properties.items() if name not in (METHOD, CONFIG)}


def with_token_callback(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return ``properties`` for a librdkafka client: one of `METHODS` becomes a callback that returns tokens.

    The callback returns token, expiry in seconds since the epoch, principal, and no extensions. It runs in a thread of
    the client; all clients of a process share the tokens.
    """
    method = properties.get(METHOD, "")
    if method not in METHODS:
        return dict(properties)
    tokens = token_cache(method, properties.get(CONFIG, ""))

    def callback(_: str) -> tuple[str, float, str, dict[str, str]]:
        token = tokens.token()
        return token.text, token.expires_ms / 1000, token.principal, {}

    return {**without_token_method(properties), "oauth_cb": callback}


@cache
def token_cache(method: str, config: str) -> TokenCache:
    """Return the process's tokens of one of `METHODS` with the options in ``config`` (see `login_options`)."""
    options = login_options(method, config)
    return TokenCache(method, lambda: METHODS[method](options), SystemClock())
