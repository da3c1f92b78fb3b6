"""Configures secured listeners of the embedded brokers: TLS, mTLS, and SASL with or without TLS.

Certificates and keys are PEM texts (KIP-651), so that no key store is needed. The plain listener remains for the
brokers themselves and for tests that administer the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from rebalance_agent.testing.errors import BrokerError

__all__ = ["MECHANISMS", "Listener", "Mechanism", "Tls", "check_listeners"]

Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
"""A SASL mechanism of the embedded brokers."""

MECHANISMS: tuple[Mechanism, ...] = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
"""All SASL mechanisms of the embedded brokers."""

LISTENERS_MAX = 20
"""Maximum number of listeners. Each listener has its own port and threads in every broker."""

_RESERVED = ("PLAINTEXT", "CONTROLLER")
_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
_BROKER = "broker"


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM texts: the brokers' certificate chain, their PKCS#8 key, and for mTLS the CA of clients' certificates."""

    certificate: str
    key: str = field(repr=False)
    clients: str = ""

    def properties(self) -> dict[str, str]:
        """Return the server properties of a listener without their prefix."""
        own = {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": self.certificate,
            "ssl.keystore.key": self.key,
        }
        trust = {
            "ssl.client.auth": "required",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": self.clients,
        }
        return own | (trust if self.clients else {})


@dataclass(frozen=True, slots=True)
class Listener:
    """One listener of every broker. ``properties`` have no prefix ``listener.name.<name>.``.

    ``scram``: the mechanism, and user -> password; the users are stored when the cluster answers. ``fronted``: the
    brokers advertise a port other than the listener's, for a proxy between clients and broker.
    """

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    scram: tuple[Mechanism, Mapping[str, str]] | None = field(default=None, repr=False)
    fronted: bool = False

    @classmethod
    def tls(cls, tls: Tls) -> Listener:
        """Return a TLS listener (mTLS with ``tls.clients``); the principal is the subject (``User:CN=...``)."""
        return cls("SSL", tls.properties())

    @classmethod
    def sasl(cls, mechanism: Mechanism, users: Mapping[str, str] | None = None, tls: Tls | None = None) -> Listener:
        """Return a SASL listener; ``users``: name -> password. OAUTHBEARER accepts tokens without signature (``none``).

        Raises:
            BrokerError: the mechanism is unknown, or a JAAS configuration cannot contain a name or password.
        """
        if mechanism not in MECHANISMS:
            raise BrokerError(f"the embedded Kafka has no SASL mechanism {mechanism!r}, only {', '.join(MECHANISMS)}")
        users = dict(users or {})
        for text in (*users, *users.values()):
            if not re.fullmatch(r"[!#-\[\]-~]+", text):
                raise BrokerError("names and passwords of users must be printable ASCII without spaces, '\"' and '\\'")
        properties = {
            "sasl.enabled.mechanisms": mechanism,
            f"{mechanism.lower()}.sasl.jaas.config": f"{_MODULES[mechanism]} required {_options(mechanism, users)};",
        }
        scram = (mechanism, users) if mechanism.startswith("SCRAM") else None
        listener = cls("SASL_PLAINTEXT", properties, scram)
        return replace(listener, protocol="SASL_SSL", properties=properties | tls.properties()) if tls else listener


def check_listeners(listeners: Mapping[str, Listener]) -> None:
    """Check the names of ``listeners``, before any broker is started.

    Raises:
        BrokerError: there are too many listeners, or a name is reserved or not a word in capitals.
    """
    if len(listeners) > LISTENERS_MAX:
        raise BrokerError(f"at most {LISTENERS_MAX} listeners, not {len(listeners)}")
    for name in listeners:
        if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,40}", name) or name in _RESERVED:
            raise BrokerError(f"a listener's name is a word in capitals and none of {', '.join(_RESERVED)}: {name!r}")


def _options(mechanism: Mechanism, users: Mapping[str, str]) -> str:
    if mechanism == "PLAIN":
        return " ".join(f'user_{name}="{password}"' for name, password in users.items())
    return f'unsecuredLoginStringClaim_sub="{_BROKER}"' if mechanism == "OAUTHBEARER" else ""
