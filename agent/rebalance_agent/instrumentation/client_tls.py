"""TLS contexts of clients: the certificate authorities that a client trusts, and the client's own certificate.

`client_context` uses PEM files, `broker_context` librdkafka's properties. Both verify the server's certificate and
name, and use TLS 1.2 or newer.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.regular_files import regular_file, same_file

__all__ = [
    "CA_VARIABLE",
    "CERT_VARIABLE",
    "KEY_VARIABLE",
    "NamedFile",
    "broker_context",
    "client_context",
    "trusting_context",
]

CA_VARIABLE = "REBALANCE_AGENT_EVENTS_CA_FILE"
CERT_VARIABLE = "REBALANCE_AGENT_EVENTS_CERT_FILE"
KEY_VARIABLE = "REBALANCE_AGENT_EVENTS_KEY_FILE"

NamedFile = tuple[str, str | None]
"""The user's name for a file (a setting, a flag, a variable), and its path; None if it is not set."""

_UNSET: NamedFile = ("", None)


def client_context(
    authority: NamedFile = _UNSET, certificate: NamedFile = _UNSET, key: NamedFile = _UNSET
) -> ssl.SSLContext:
    """Return a context from PEM files.

    ``authority`` signs the server's certificate (default: the authorities that the system trusts). For mutual TLS
    ``certificate`` is presented, with its unencrypted ``key`` (not set: in the same file).

    Raises:
        InvalidInputError: naming the file that cannot be used, or is missing.
    """
    try:
        with _opened(authority[1]) as cafile:
            context = ssl.create_default_context(cafile=cafile)
    except OSError as error:
        raise _unusable(authority, error) from None
    try:
        _show_certificate(context, certificate, key)
    except OSError as error:
        raise _unusable(certificate, error) from None
    return context


def trusting_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context that trusts ``ssl.ca.location`` (file or folder) and ``ssl.ca.pem``.

    Without these properties, it trusts the system's CAs.

    Raises:
        InvalidInputError: naming the property that cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # verifies certificates and names
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    location, pem = properties.get("ssl.ca.location", ""), properties.get("ssl.ca.pem", "")
    if location not in ("", "probe"):
        _use("ssl.ca.location", lambda: _trust(context, location))
    if pem:
        _use("ssl.ca.pem", lambda: context.load_verify_locations(cadata=pem))
    if location in ("", "probe") and not pem:
        context.load_default_certs()
    return context


def broker_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """Return `trusting_context`, with the revocations, ciphers and client certificate of librdkafka's properties.

    Raises:
        InvalidInputError: naming the property that cannot be used, or is missing.
    """
    context = trusting_context(properties)
    if revoked := properties.get("ssl.crl.location"):
        _use("ssl.crl.location", lambda: _trust(context, revoked))
        context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
    if ciphers := properties.get("ssl.cipher.suites"):
        _use("ssl.cipher.suites", lambda: context.set_ciphers(ciphers))
    certificate, key = ((name, properties.get(name)) for name in ("ssl.certificate.location", "ssl.key.location"))
    password = properties.get("ssl.key.password", "")
    _use(certificate[0], lambda: _show_certificate(context, certificate, key, password))
    return context


@contextlib.contextmanager
def _opened(path: str | None) -> Iterator[str | None]:
    """Return a path to the regular file ``path``; None if none is set."""
    if not path:
        yield None
        return
    with regular_file(path) as file:
        yield same_file(file)


def _trust(context: ssl.SSLContext, location: str) -> None:
    if Path(location).is_dir():
        context.load_verify_locations(capath=location)
        return
    with _opened(location) as cafile:
        context.load_verify_locations(cafile=cafile)


def _show_certificate(context: ssl.SSLContext, certificate: NamedFile, key: NamedFile, password: str = "") -> None:
    if certificate[1]:
        # An empty password, given as a function, makes OpenSSL refuse an encrypted key instead of asking on the
        # terminal.
        with _opened(certificate[1]) as chain, _opened(key[1]) as own:
            context.load_cert_chain(chain or "", own, password=lambda: password)
    elif key[1]:
        raise InvalidInputError(certificate[0], f"is missing: {key[0]} is its key")


def _use(name: str, load: Callable[[], None]) -> None:
    try:
        load()
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError; their texts contain no secrets
        raise InvalidInputError(name, f"cannot be used: {_reason(error)}") from None


def _unusable(file: NamedFile, error: OSError) -> InvalidInputError:
    name, path = file
    if isinstance(error, ssl.SSLError):
        return InvalidInputError(name, f"{path} does not contain the expected PEM: {_reason(error)}")
    return InvalidInputError(name, f"cannot read {path}: {_reason(error)}")


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, ssl.SSLError):
        return (getattr(error, "reason", None) or str(error)).replace("_", " ").lower()
    return str(getattr(error, "strerror", None) or error)
