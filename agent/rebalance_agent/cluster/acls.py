"""The principal that brokers see, and the ``kafka-acls.sh`` command that grants it a permission."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Literal

__all__ = ["UNKNOWN_PRINCIPAL", "allow_command", "mechanism_of", "principal_of"]

UNKNOWN_PRINCIPAL = "User:..."
"""Placeholder for a principal that only the brokers can determine."""


def allow_command(
    operation: str,
    resource: Literal["Group", "Topic"],
    name: str,
    principal: str,
    servers: str,
    *,
    prefixed: bool = False,
) -> str:
    """Return a shell command that allows ``principal`` an operation on the resource (or prefix) ``name``."""
    pattern = ("--resource-pattern-type", "prefixed") if prefixed else ()
    words = ("kafka-acls.sh", "--bootstrap-server", servers, "--add", "--allow-principal", principal)
    return shlex.join((*words, "--operation", operation, *pattern, f"--{resource.lower()}", name))


def principal_of(properties: Mapping[str, str]) -> str:
    """Return the principal in librdkafka's ``properties``; ``User:...`` if only brokers determine it (OAuth, mTLS)."""
    protocol = properties.get("security.protocol", "plaintext").upper()
    if protocol.startswith("SASL"):
        name = properties.get("sasl.username", "")
        return f"User:{name}" if name and mechanism_of(properties) != "OAUTHBEARER" else UNKNOWN_PRINCIPAL
    has_certificate = any(
        properties.get(f"ssl.{key}") for key in ("certificate.location", "certificate.pem", "keystore.location")
    )
    return UNKNOWN_PRINCIPAL if protocol == "SSL" and has_certificate else "User:ANONYMOUS"


def mechanism_of(properties: Mapping[str, str]) -> str:
    """Return the SASL mechanism in upper case; GSSAPI, librdkafka's default, if none is set."""
    return (properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or "GSSAPI").upper()
