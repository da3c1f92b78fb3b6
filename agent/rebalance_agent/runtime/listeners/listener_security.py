"""TLS and bearer tokens of listeners and the webhook, from settings; their files are read again when they change."""

from __future__ import annotations

import ssl

from rebalance_agent.clock import Clock
from rebalance_agent.http.bearer import Bearer, checked_token
from rebalance_agent.http.reloaded_files import Reloaded
from rebalance_agent.http.server_tls import ServerTls, TlsFiles
from rebalance_agent.instrumentation.client_tls import client_context
from rebalance_agent.runtime.settings.kafka_config import read_secret
from rebalance_agent.runtime.settings.roles import AgentSettings, ListeningSettings

__all__ = ["bearer_of", "events_tls", "token_file", "web_tls", "webhook_tls"]


def token_file(field: str, path: str, clock: Clock) -> Reloaded[str]:
    """The bearer token in the file ``path``.

    Raises:
        InvalidInputError: naming the setting ``field``; the file cannot be read, or has no usable token.
    """
    return Reloaded([path], lambda: checked_token(field, read_secret(field, path)), clock)


def bearer_of(field: str, path: str, clock: Clock) -> Bearer | None:
    """The check of requests for the token in the file ``path``; None where ``path`` is empty.

    Raises:
        InvalidInputError: see `token_file`.
    """
    return Bearer(token_file(field, path, clock).get) if path else None


def web_tls(settings: AgentSettings, clock: Clock) -> ServerTls | None:
    """TLS of the read-only listener; None where it is not configured.

    Raises:
        InvalidInputError: naming the setting whose file is missing or cannot be used.
    """
    return _tls(settings.tls_cert_file, settings.tls_key_file, settings.tls_client_ca_file, "tls_", clock)


def events_tls(settings: ListeningSettings, clock: Clock) -> ServerTls | None:
    """TLS of the listener for events; None where it is not configured.

    Raises:
        InvalidInputError: naming the setting whose file is missing or cannot be used.
    """
    files = settings.events_tls_cert_file, settings.events_tls_key_file, settings.events_tls_client_ca_file
    return _tls(*files, "events_tls_", clock)


def webhook_tls(settings: AgentSettings, clock: Clock) -> Reloaded[ssl.SSLContext]:
    """TLS to the webhook: the authorities to trust, and the client certificate, if there is one.

    Raises:
        InvalidInputError: naming the setting whose file is missing or cannot be used.
    """
    names = "events_webhook_ca_file", "events_webhook_cert_file", "events_webhook_key_file"
    ca, cert, key = ((name, str(getattr(settings, name))) for name in names)
    return Reloaded([path for _, path in (ca, cert, key) if path], lambda: client_context(ca, cert, key), clock)


def _tls(cert: str, key: str, clients: str, prefix: str, clock: Clock) -> ServerTls | None:
    return ServerTls(TlsFiles(cert, key, clients, prefix), clock) if cert or key or clients else None
