"""From settings to what secures a listener: TLS and bearer tokens, read from files and again when these change."""

from __future__ import annotations

from rebalance_agent.clock import Clock
from rebalance_agent.exposition.bearer import Bearer, checked_token
from rebalance_agent.exposition.reloaded import Reloaded
from rebalance_agent.exposition.tls import ServerTls, TlsFiles
from rebalance_agent.runtime.kafka_config import read_secret
from rebalance_agent.runtime.settings import AgentSettings, TakingSettings

__all__ = ["bearer_of", "events_tls", "token_file", "web_tls"]


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


def events_tls(settings: TakingSettings, clock: Clock) -> ServerTls | None:
    """TLS of the listener for events, if it is set.

    Raises:
        InvalidInputError: naming the setting whose file is missing or cannot be used.
    """
    files = settings.events_tls_cert_file, settings.events_tls_key_file, settings.events_tls_client_ca_file
    return _tls(*files, "events_tls_", clock)


def _tls(cert: str, key: str, clients: str, prefix: str, clock: Clock) -> ServerTls | None:
    return ServerTls(TlsFiles(cert, key, clients, prefix), clock) if cert or key or clients else None
