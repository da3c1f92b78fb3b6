"""TLS towards a sidecar that is not on this machine: whom a consumer trusts, and who it says it is."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from rebalance_agent.errors import InvalidInputError

__all__ = ["CA_VARIABLE", "CERT_VARIABLE", "KEY_VARIABLE", "client_context"]

CA_VARIABLE = "REBALANCE_AGENT_EVENTS_CA_FILE"
CERT_VARIABLE = "REBALANCE_AGENT_EVENTS_CERT_FILE"
KEY_VARIABLE = "REBALANCE_AGENT_EVENTS_KEY_FILE"


def client_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """From PEM files that the environment names.

    They hold who signs the sidecar's certificate (unset: whom the system trusts), and for mutual TLS a certificate and
    its unencrypted key.

    Raises:
        InvalidInputError: naming the variable whose file cannot be used.
    """
    authority = environ.get(CA_VARIABLE) or None
    try:
        context = ssl.create_default_context(cafile=authority)
    except OSError as error:
        raise _unusable(CA_VARIABLE, authority, error) from None
    certificate, key = environ.get(CERT_VARIABLE), environ.get(KEY_VARIABLE)
    if certificate:
        try:
            # A key behind a passphrase would ask for it on the terminal.
            context.load_cert_chain(certificate, key or None, password=lambda: "")
        except OSError as error:
            raise _unusable(CERT_VARIABLE, certificate, error) from None
    elif key:
        raise InvalidInputError(CERT_VARIABLE, f"is missing: {KEY_VARIABLE} is its key")
    return context


def _unusable(variable: str, path: str | None, error: OSError) -> InvalidInputError:
    return InvalidInputError(variable, f"cannot use {path}: {error.strerror or error}")
