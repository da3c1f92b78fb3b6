"""Tokens from Microsoft Entra for Azure Event Hubs, for the identity of the process.

Source: Microsoft's documentation of Event Hubs for Apache Kafka (OAUTHBEARER), and the package ``azure-identity``.
"""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.cluster.tokens.login_options import NO_SCOPE
from rebalance_agent.cluster.tokens.token_cache import Token, TokenError
from rebalance_agent.extras import install_text

__all__ = ["entra_token"]


def entra_token(options: Mapping[str, str]) -> Token:
    """Return a token for ``scope``, such as ``https://NAMESPACE.servicebus.windows.net/.default``.

    ``client_id`` selects one of several managed identities.

    Raises:
        TokenError: the package or the scope is missing, or Azure returned no token for this process.
    """
    if not (scope := options.get("scope")):
        raise TokenError(NO_SCOPE)
    try:
        from azure.core.exceptions import AzureError  # noqa: PLC0415 - this package is in an extra
        from azure.identity import DefaultAzureCredential  # noqa: PLC0415 - this package is in an extra
    except ImportError:
        raise TokenError(f"the package is missing; run {install_text('azure')}") from None
    own = {"managed_identity_client_id": options["client_id"]} if "client_id" in options else {}
    try:
        with DefaultAzureCredential(**own) as credential:
            token = credential.get_token(scope)
    except AzureError as error:
        raise TokenError(str(error).splitlines()[0]) from None
    return Token(token.token, token.expires_on * 1000, "azure")
