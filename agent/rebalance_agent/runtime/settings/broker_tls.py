"""Creates the gateway's TLS context for brokers from librdkafka's properties; it always verifies certificates."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.instrumentation.client_tls import broker_context

__all__ = ["broker_tls"]

_UNUSABLE = {
    "ssl.keystore.location": "set ssl.certificate.location and ssl.key.location to PEM files",
    "ssl.certificate.pem": "set ssl.certificate.location to a PEM file",
    "ssl.key.pem": "set ssl.key.location to a PEM file",
    "ssl.curves.list": "remove it: OpenSSL's default applies",
    "ssl.sigalgs.list": "remove it: OpenSSL's default applies",
    "ssl.engine.location": "remove it: keys are read from files",
    "ssl.providers": "remove it: keys are read from files",
}
"""TLS property that Python's ``ssl`` does not support -> advice. Such properties are refused rather than ignored."""


def broker_tls(properties: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return the context for connections to brokers; None if ``security.protocol`` does not use TLS.

    Raises:
        InvalidInputError: a property is missing, cannot be used, or would leave brokers unverified; names the property.
    """
    protocol = properties.get("security.protocol", "plaintext").lower()
    if not protocol.endswith("ssl"):
        return None
    _refuse(properties)
    try:
        return broker_context(properties)
    except InvalidInputError as error:
        raise InvalidInputError(f"kafka.{error.field}", error.problem) from None


def _refuse(properties: Mapping[str, str]) -> None:
    for name, advice in _UNUSABLE.items():
        if properties.get(name):
            raise InvalidInputError(f"kafka.{name}", f"the gateway cannot use it: {advice}")
    if properties.get("enable.ssl.certificate.verification", "true").lower() != "true":
        raise InvalidInputError(
            "kafka.enable.ssl.certificate.verification",
            "must be true: clients do not receive the brokers' certificates, so the gateway verifies them",
        )
    if properties.get("ssl.endpoint.identification.algorithm", "https").lower() != "https":
        raise InvalidInputError(
            "kafka.ssl.endpoint.identification.algorithm",
            "must be https: clients cannot verify which broker they reach, so the gateway verifies every name",
        )
