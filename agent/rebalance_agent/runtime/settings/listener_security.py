"""Creates TLS contexts and bearer tokens of listeners and the webhook; reads their files again when they change."""

from __future__ import annotations

import ssl
from typing import Literal

from rebalance_agent.clock import Clock
from rebalance_agent.http.bearer import Bearer, checked_token
from rebalance_agent.http.reloaded_files import Reloaded
from rebalance_agent.http.server_tls import ServerTls, TlsFiles
from rebalance_agent.instrumentation.client_tls import client_context
from rebalance_agent.runtime.settings.kafka_config import read_secret
from rebalance_agent.runtime.settings.roles import AgentSettings

__all__ = ["TlsPrefix", "bearer_of", "listener_tls", "tls_paths", "token_file", "webhook_tls"]

TlsPrefix = Literal["tls_", "events_tls_", "gateway_tls_"]
"""Prefix of a listener's TLS settings: for the web port, for posted events, or for Kafka clients."""


def token_file(field: str, path: str, clock: Clock) -> Reloaded[str]:
    """Return the bearer token from the file ``path``.

    Raises:
        InvalidInputError: the file cannot be read, or has no usable token; names the setting ``field``.
    """
    return Reloaded([path], lambda: checked_token(field, read_secret(field, path)), clock)


def bearer_of(field: str, path: str, clock: Clock) -> Bearer | None:
    """Return the object that checks requests for the token in the file ``path``; None if ``path`` is empty.

    Raises:
        InvalidInputError: see `token_file`.
    """
    return Bearer(token_file(field, path, clock).get) if path else None


def tls_paths(settings: AgentSettings, prefix: TlsPrefix) -> tuple[str, str, str]:
    """Return the paths of a listener's certificate, key and client CA file; a path is empty if it is not set."""
    cert, key, clients = (getattr(settings, f"{prefix}{name}_file") for name in ("cert", "key", "client_ca"))
    return cert, key, clients


def listener_tls(settings: AgentSettings, prefix: TlsPrefix, clock: Clock) -> ServerTls | None:
    """Return the TLS of the listener whose settings begin with ``prefix``; None if TLS is not configured.

    Raises:
        InvalidInputError: naming the setting whose file is missing or cannot be used.
    """
    paths = tls_paths(settings, prefix)
    return ServerTls(TlsFiles(*paths, prefix), clock) if any(paths) else None


def webhook_tls(settings: AgentSettings, clock: Clock) -> Reloaded[ssl.SSLContext]:
    """Return the TLS context for the webhook: the trusted authorities, and the client certificate if there is one.

    Raises:
        InvalidInputError: naming the setting whose file is missing or cannot be used.
    """
    names = "events_webhook_ca_file", "events_webhook_cert_file", "events_webhook_key_file"
    ca, cert, key = ((name, str(getattr(settings, name))) for name in names)
    return Reloaded([path for _, path in (ca, cert, key) if path], lambda: client_context(ca, cert, key), clock)
