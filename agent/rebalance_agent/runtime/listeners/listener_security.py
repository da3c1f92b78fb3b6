"""From settings to what secures a listener or a webhook: TLS and tokens, of files that are read again when changed."""

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
    """The bearer token in a file.

    Raises:
        InvalidInputError: naming the setting ``field``; the file cannot be read, or holds no good token.
    """
    return Reloaded([path], lambda: checked_token(field, read_secret(field, path)), clock)


def bearer_of(field: str, path: str, clock: Clock) -> Bearer | None:
    """What lets requests pass that carry the token in a file; None where ``path`` is empty.

    Raises:
        InvalidInputError: see `token_file`.
    """
    return Bearer(token_file(field, path, clock).get) if path else None


def web_tls(settings: AgentSettings, clock: Clock) -> ServerTls | None:
    """TLS of the read-only listener, if it is set.

    Raises:
        InvalidInputError: naming the setting whose file is missing or cannot be used.
    """
    return _tls(settings.tls_cert_file, settings.tls_key_file, settings.tls_client_ca_file, "tls_", clock)


def events_tls(settings: ListeningSettings, clock: Clock) -> ServerTls | None:
    """TLS of the listener for events, if it is set.

    Raises:
        InvalidInputError: naming the setting whose file is missing or cannot be used.
    """
    files = settings.events_tls_cert_file, settings.events_tls_key_file, settings.events_tls_client_ca_file
    return _tls(*files, "events_tls_", clock)


def webhook_tls(settings: AgentSettings, clock: Clock) -> Reloaded[ssl.SSLContext]:
    """TLS towards the webhook: whom to trust, and the certificate that it is shown, if it is.

    Raises:
        InvalidInputError: naming the setting whose file is missing or cannot be used.
    """
    names = "events_webhook_ca_file", "events_webhook_cert_file", "events_webhook_key_file"
    ca, cert, key = ((name, str(getattr(settings, name))) for name in names)
    return Reloaded([path for _, path in (ca, cert, key) if path], lambda: client_context(ca, cert, key), clock)


def _tls(cert: str, key: str, clients: str, prefix: str, clock: Clock) -> ServerTls | None:
    return ServerTls(TlsFiles(cert, key, clients, prefix), clock) if cert or key or clients else None
