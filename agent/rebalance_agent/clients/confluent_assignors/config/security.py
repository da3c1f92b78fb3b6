"""Translates TLS and SASL settings of librdkafka to kafka-python.

Every security setting is either in a table here or refused by name: an incomplete translation would make a connection
less secure than the user asked for.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from rebalance_agent.clients.confluent_assignors.config.config_values import flag, text
from rebalance_agent.clients.confluent_assignors.config.oauth import Tokens
from rebalance_agent.clock import Clock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.instrumentation.client_tls import broker_context

__all__ = ["REFUSED", "SASL", "TLS", "security"]

TLS: Mapping[str, str] = {
    "ssl.ca.location": "CA certificates of the context: a file, a directory, or `probe` for the system's",
    "ssl.ca.pem": "CA certificates of the context",
    "ssl.certificate.location": "certificate chain of the context",
    "ssl.cipher.suites": "ciphers of the context (up to TLS 1.2)",
    "ssl.crl.location": "list of revoked certificates that the context rejects",
    "ssl.endpoint.identification.algorithm": "host name check of the context: `https` (default) or `none`",
    "ssl.key.location": "private key of the context",
    "ssl.key.password": "password of the private key",
    "enable.ssl.certificate.verification": "verification by the context, with the host name check",
}
"""librdkafka's setting -> its part in the ``ssl_context`` that is passed to kafka-python."""

SASL: Mapping[str, str] = {
    "sasl.mechanism": "`sasl_mechanism`",
    "sasl.mechanisms": "`sasl_mechanism`",
    "sasl.username": "`sasl_plain_username` (PLAIN, SCRAM)",
    "sasl.password": "`sasl_plain_password` (PLAIN, SCRAM)",
    "sasl.kerberos.service.name": "`sasl_kerberos_service_name` (GSSAPI)",
    "sasl.oauthbearer.config": "the argument of `oauth_cb`, which returns the tokens of both connections (OAUTHBEARER)",
    "sasl.oauthbearer.method": "only `default`, which is `oauth_cb`",
}
"""librdkafka's setting -> kafka-python's setting."""

REFUSED: Mapping[str, str] = {
    "enable.sasl.oauthbearer.unsecure.jwt": "kafka-python creates no tokens: use oauth_cb",
    "sasl.kerberos.keytab": "kafka-python takes tickets from the process's credential cache: fill it with kinit -kt",
    "sasl.kerberos.principal": "kafka-python takes the name from the process's credential cache: fill it with kinit",
    "ssl.certificate.pem": "Python's ssl reads certificates from files only: use ssl.certificate.location",
    "ssl.key.pem": "Python's ssl reads keys from files only: use ssl.key.location",
    "ssl.keystore.location": "Python's ssl reads no PKCS#12: use ssl.certificate.location and ssl.key.location",
}
"""Settings without a translation -> the workaround. Other security settings are refused with a general text."""

_KINDS = ("ssl.", "sasl.", "enable.ssl.", "enable.sasl.", "ssl_", "https.", "security.")
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("GSSAPI", "OAUTHBEARER", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def security(config: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
    """kafka-python's settings for the same security.

    Raises:
        InvalidInputError: a setting has no translation or an invalid value; the text names it, but no secret.
    """
    for name in config:
        if name.startswith(_KINDS) and name not in {*TLS, *SASL, "security.protocol"}:
            reason = REFUSED.get(name, "kafka-python, which is the group member, does not support it")
            raise InvalidInputError(name, f"cannot be used with a custom assignor: {reason}")
    protocol = text(config, "security.protocol", "plaintext").upper()
    if protocol not in _PROTOCOLS:
        raise InvalidInputError("security.protocol", f"must be one of {', '.join(_PROTOCOLS)}")
    translated: dict[str, Any] = {"security_protocol": protocol}
    if protocol.endswith("SSL"):
        translated["ssl_context"] = _context(config)
    if protocol.startswith("SASL"):
        translated |= _sasl(config, clock)
    return translated


def _sasl(config: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
    mechanism = text(config, "sasl.mechanism", text(config, "sasl.mechanisms", "GSSAPI")).upper()
    if mechanism not in _MECHANISMS:
        raise InvalidInputError("sasl.mechanism", f"must be one of {', '.join(_MECHANISMS)}")
    translated: dict[str, Any] = {"sasl_mechanism": mechanism}
    if mechanism == "GSSAPI":
        translated["sasl_kerberos_service_name"] = text(config, "sasl.kerberos.service.name", "kafka")
    elif mechanism == "OAUTHBEARER":
        translated["sasl_oauth_token_provider"] = _tokens(config, clock)
    else:
        for name in ("username", "password"):
            if f"sasl.{name}" not in config:
                raise InvalidInputError(f"sasl.{name}", f"is needed for {mechanism}")
            translated[f"sasl_plain_{name}"] = text(config, f"sasl.{name}", "")
    return translated


def _tokens(config: Mapping[str, Any], clock: Clock) -> Tokens:
    if text(config, "sasl.oauthbearer.method", "default") != "default":
        raise InvalidInputError("sasl.oauthbearer.method", "kafka-python cannot fetch tokens itself: use oauth_cb")
    callback = config.get("oauth_cb")
    if not callable(callback):
        raise InvalidInputError("oauth_cb", "is needed for OAUTHBEARER: a function that returns a token and its expiry")
    return Tokens(callback, text(config, "sasl.oauthbearer.config", ""), clock)


def _context(config: Mapping[str, Any]) -> ssl.SSLContext:
    identification = text(config, "ssl.endpoint.identification.algorithm", "https")
    if identification not in {"https", "none"}:
        raise InvalidInputError("ssl.endpoint.identification.algorithm", "must be https or none")
    verified = flag(config, "enable.ssl.certificate.verification", True)
    context = broker_context({name: text(config, name, "") for name in TLS})
    context.check_hostname = verified and identification == "https"
    if not verified:
        context.verify_mode = ssl.CERT_NONE
    return context
