"""TLS towards a server that is not on this machine: whom a client of ours trusts, and who it says it is."""

from __future__ import annotations

import ssl

from rebalance_agent.errors import InvalidInputError

__all__ = ["CA_VARIABLE", "CERT_VARIABLE", "KEY_VARIABLE", "NamedFile", "client_context"]

CA_VARIABLE = "REBALANCE_AGENT_EVENTS_CA_FILE"
CERT_VARIABLE = "REBALANCE_AGENT_EVENTS_CERT_FILE"
KEY_VARIABLE = "REBALANCE_AGENT_EVENTS_KEY_FILE"

NamedFile = tuple[str, str | None]
"""What the user calls a file (a setting, a flag, a variable), and its path; none where it is not set."""


def client_context(
    authority: NamedFile, certificate: NamedFile = ("", None), key: NamedFile = ("", None)
) -> ssl.SSLContext:
    """From PEM files.

    They hold who signs the server's certificate (not set: whom the system trusts), and for mutual TLS a certificate and
    its unencrypted key (not set: in the same file).

    Raises:
        InvalidInputError: naming what cannot be used.
    """
    try:
        context = ssl.create_default_context(cafile=authority[1] or None)
    except OSError as error:
        raise _unusable(authority, error) from None
    if certificate[1]:
        try:
            # A key behind a passphrase would ask for it on the terminal.
            context.load_cert_chain(certificate[1], key[1] or None, password=lambda: "")
        except OSError as error:
            raise _unusable(certificate, error) from None
    elif key[1]:
        raise InvalidInputError(certificate[0], f"is missing: {key[0]} is its key")
    return context


def _unusable(file: NamedFile, error: OSError) -> InvalidInputError:
    name, path = file
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or str(error)).replace("_", " ").lower()
        return InvalidInputError(name, f"{path} does not hold what it should as PEM: {reason}")
    return InvalidInputError(name, f"cannot read {path}: {error.strerror or error}")
