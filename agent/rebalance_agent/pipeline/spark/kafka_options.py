"""Converts the agent's librdkafka client properties to properties of the Java client that Spark uses.

A property without a counterpart is an error if the connection depends on it (``sasl.*``, ``ssl.*``). Other properties
without a counterpart only tune librdkafka and are left out. Certificates and keys are read here and passed as text,
because executors on other machines do not have the files. Sources: librdkafka's CONFIGURATION.md, Kafka's
documentation of client properties, KIP-651 (PEM), KIP-768 (OIDC).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rebalance_agent.cluster.tokens.login_options import CONFIG, METHOD, OPTIONS
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.pipeline.spark.jaas import jaas_text, oidc_properties
from rebalance_agent.pipeline.spark.token_logins import token_method, token_properties

__all__ = ["OWN_GROUPS", "java_properties", "source_options"]

OWN_GROUPS = "rebalance-agent-pipeline"
"""Prefix of the consumer group ids that Spark uses; the observer hides these groups."""

_SAME = frozenset(
    {
        "bootstrap.servers",
        "client.dns.lookup",
        "client.rack",
        "sasl.kerberos.service.name",
        "security.protocol",
        "ssl.endpoint.identification.algorithm",
    }
)
"""Properties with the same name and meaning in both clients."""

_TAKEN = frozenset(
    {
        "sasl.mechanism",
        "sasl.mechanisms",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.method",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.password",
        "sasl.username",
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.key.location",
        "ssl.key.password",
        "ssl.key.pem",
    }
)
"""Properties that are converted below."""

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"

_PEM_BYTES_MAX = 1 << 20
"""Maximum size of a PEM file in bytes. A certificate chain has some kilobytes; a larger file is the wrong file."""


def source_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the options of Spark's Kafka source and sink for a cluster; raise the errors of `java_properties`."""
    return {f"kafka.{name}": value for name, value in java_properties(properties).items()}


def java_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of the same connection for a Java client.

    Raises:
        InvalidInputError: a property has no counterpart or is missing, or a file cannot be read.
    """
    result = {name: value for name, value in properties.items() if name in _SAME}
    if not result.get("bootstrap.servers"):
        raise InvalidInputError("kafka.bootstrap.servers", "is missing: name the brokers, such as localhost:9092")
    if "security.protocol" in result:
        result["security.protocol"] = result["security.protocol"].upper()
    if result.get("ssl.endpoint.identification.algorithm") == "none":
        result["ssl.endpoint.identification.algorithm"] = ""
    taken = _SAME | _TAKEN | ({CONFIG} if token_method(properties) else set())
    for name in properties:
        if name.startswith(("sasl.", "ssl.", "enable.ssl.")) and name not in taken:
            raise InvalidInputError(f"kafka.{name}", "has no equivalent in the Java client, which Spark uses")
    return result | _trusted(properties) | _shown(properties) | _login(properties)


def _trusted(properties: Mapping[str, str]) -> dict[str, str]:
    pem = properties.get("ssl.ca.pem") or _file("ssl.ca.location", properties)
    return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": pem} if pem else {}


def _shown(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of the client's own certificate and key (mutual TLS)."""
    chain = properties.get("ssl.certificate.pem") or _file("ssl.certificate.location", properties)
    key = properties.get("ssl.key.pem") or _file("ssl.key.location", properties)
    if not chain and not key:
        return {}
    if not (chain and key):
        missing = "ssl.key.location" if chain else "ssl.certificate.location"
        raise InvalidInputError(f"kafka.{missing}", "is missing: a certificate needs its key")
    if "BEGIN PRIVATE KEY" not in key and "BEGIN ENCRYPTED PRIVATE KEY" not in key:
        raise InvalidInputError(
            "kafka.ssl.key", "Java reads PKCS #8 keys only: convert it with openssl pkcs8 -topk8 -in KEY -out NEW"
        )
    shown = {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}
    if password := properties.get("ssl.key.password"):
        shown["ssl.key.password"] = password
    return shown


def _login(properties: Mapping[str, str]) -> dict[str, str]:
    if not properties.get("security.protocol", "").upper().startswith("SASL_"):
        return {}
    mechanism = (properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or "GSSAPI").upper()
    if mechanism == "OAUTHBEARER":
        return {"sasl.mechanism": mechanism} | _oauth(properties)
    if mechanism != "PLAIN" and not mechanism.startswith("SCRAM-"):
        raise InvalidInputError("kafka.sasl.mechanism", f"{mechanism} is not supported here: set PLAIN, SCRAM-SHA-256, "
                                "SCRAM-SHA-512 or OAUTHBEARER")  # fmt: skip
    module = _PLAIN if mechanism == "PLAIN" else _SCRAM
    words = {"username": _needed("sasl.username", properties), "password": _needed("sasl.password", properties)}
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas_text(module, words)}


def _oauth(properties: Mapping[str, str]) -> dict[str, str]:
    if token_method(properties):
        return token_properties(properties)
    if properties.get(METHOD, "").lower() != "oidc":
        methods = ", ".join(("oidc", *OPTIONS))
        raise InvalidInputError(f"kafka.{METHOD}", f"Spark's Java client only supports {methods}")
    return oidc_properties(
        _needed("sasl.oauthbearer.token.endpoint.url", properties),
        _needed("sasl.oauthbearer.client.id", properties),
        _needed("sasl.oauthbearer.client.secret", properties),
        properties.get("sasl.oauthbearer.scope"),
    )


def _needed(name: str, properties: Mapping[str, str]) -> str:
    if not (value := properties.get(name)):
        raise InvalidInputError(f"kafka.{name}", "is missing")
    return value


def _file(name: str, properties: Mapping[str, str]) -> str | None:
    if not (path := properties.get(name)):
        return None
    try:
        with Path(path).open("rb") as file:
            data = file.read(_PEM_BYTES_MAX + 1)
        if len(data) > _PEM_BYTES_MAX:
            raise InvalidInputError(f"kafka.{name}", f"{path} has more than {_PEM_BYTES_MAX} bytes")
        return data.decode()
    except OSError as error:
        raise InvalidInputError(f"kafka.{name}", f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInputError(f"kafka.{name}", f"{path} is not PEM") from None
