"""TLS to the brokers, from the properties that librdkafka takes, always with the brokers' names verified."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from pathlib import Path

from rebalance_agent.errors import InvalidInputError

__all__ = ["broker_tls"]

_UNUSABLE = {
    "ssl.keystore.location": "set ssl.certificate.location and ssl.key.location, PEM files",
    "ssl.certificate.pem": "set ssl.certificate.location, a PEM file",
    "ssl.key.pem": "set ssl.key.location, a PEM file",
    "ssl.curves.list": "leave it out: OpenSSL's own choice holds",
    "ssl.sigalgs.list": "leave it out: OpenSSL's own choice holds",
    "ssl.engine.location": "leave it out: keys are read from files",
    "ssl.providers": "leave it out: keys are read from files",
}
"""Properties that say something of TLS which Python's ``ssl`` cannot do: better refused than passed over."""


def broker_tls(properties: Mapping[str, str]) -> ssl.SSLContext | None:
    """The context for connections to brokers; None where ``security.protocol`` is without TLS.

    Raises:
        InvalidInputError: naming the property that is missing, cannot be used, or would leave brokers unverified.
    """
    protocol = properties.get("security.protocol", "plaintext").lower()
    if not protocol.endswith("ssl"):
        return None
    _refuse(properties)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # verifies certificates and names
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    location, pem = properties.get("ssl.ca.location", ""), properties.get("ssl.ca.pem", "")
    if location not in ("", "probe"):
        _tried("ssl.ca.location", lambda: _load_authorities(context, location))
    if pem:
        _tried("ssl.ca.pem", lambda: context.load_verify_locations(cadata=pem))
    if location in ("", "probe") and not pem:
        context.load_default_certs()
    if revoked := properties.get("ssl.crl.location"):
        _tried("ssl.crl.location", lambda: context.load_verify_locations(revoked))
        context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
    if ciphers := properties.get("ssl.cipher.suites"):
        _tried("ssl.cipher.suites", lambda: context.set_ciphers(ciphers))
    _load_own(context, properties)
    return context


def _refuse(properties: Mapping[str, str]) -> None:
    for name, advice in _UNUSABLE.items():
        if properties.get(name):
            raise InvalidInputError(f"kafka.{name}", f"the gateway cannot use it: {advice}")
    if properties.get("enable.ssl.certificate.verification", "true").lower() != "true":
        raise InvalidInputError(
            "kafka.enable.ssl.certificate.verification",
            "must be true: clients see no certificate of a broker themselves, so the gateway verifies every one",
        )
    if properties.get("ssl.endpoint.identification.algorithm", "https").lower() != "https":
        raise InvalidInputError(
            "kafka.ssl.endpoint.identification.algorithm",
            "must be https: clients cannot know which broker they reach, so the gateway verifies every name",
        )


def _load_authorities(context: ssl.SSLContext, location: str) -> None:
    folder = Path(location).is_dir()
    context.load_verify_locations(capath=location if folder else None, cafile=None if folder else location)


def _load_own(context: ssl.SSLContext, properties: Mapping[str, str]) -> None:
    certificate, key = properties.get("ssl.certificate.location"), properties.get("ssl.key.location")
    if not certificate and not key:
        return
    if not certificate:
        raise InvalidInputError("kafka.ssl.certificate.location", "is missing: a key takes its certificate")
    # Without a password OpenSSL would ask for one on the terminal.
    password = properties.get("ssl.key.password", "")
    _tried("ssl.key.location", lambda: context.load_cert_chain(certificate, key, password=lambda: password))


def _tried(name: str, load: Callable[[], None]) -> None:
    try:
        load()
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError; its text names no secret
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "is not what OpenSSL can read"
        raise InvalidInputError(f"kafka.{name}", f"cannot be used: {reason}") from None
