"""Translates Kafka client properties, as users write them, to librdkafka's. Secrets are never shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient
from pydantic import BeforeValidator

from rebalance_agent.cluster.acls import mechanism_of
from rebalance_agent.cluster.tokens.token_login import check_token_login, without_token_method
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.group import endpoint_text
from rebalance_agent.regular_files import regular_file
from rebalance_agent.runtime.settings.text_types import SERVERS, server_addresses
from rebalance_agent.visible_names import did_you_mean

__all__ = [
    "OWN_PROPERTIES",
    "SECRET_PROPERTIES",
    "USUAL_PROPERTIES",
    "KafkaProperties",
    "client_properties",
    "kafka_properties",
    "property_name",
    "read_secret",
    "read_text",
    "with_server_ports",
    "without_secrets",
]

OWN_PROPERTIES = frozenset(
    {
        "acks",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "enable.idempotence",
        "enable.partition.eof",
        "group.id",
        "isolation.level",
        "auto.offset.reset",
        "partition.assignment.strategy",
        "transactional.id",
    }
)
"""Properties that the agent must set itself to be correct: setting them is refused."""

SECRET_PROPERTIES = frozenset(
    {
        "sasl.kerberos.kinit.cmd",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.private.key.pem",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.extensions",
        "sasl.password",
        "ssl.key.password",
        "ssl.key.pem",
        "ssl.keystore.password",
    }
)
"""Properties whose values are secret or may contain a secret.

They are refused as flags, because every user of the machine can list flags.
"""

_FILE_PROPERTIES = frozenset(
    {"ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.keystore.location"}
)

USUAL_PROPERTIES = frozenset(
    {
        SERVERS,
        *SECRET_PROPERTIES,
        *_FILE_PROPERTIES,
        "client.dns.lookup",
        "client.id",
        "client.rack",
        "connections.max.idle.ms",
        "debug",
        "enable.ssl.certificate.verification",
        "metadata.max.age.ms",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "sasl.mechanism",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.config",
        "sasl.oauthbearer.method",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.username",
        "security.protocol",
        "socket.timeout.ms",
        "ssl.ca.pem",
        "ssl.certificate.pem",
        "ssl.endpoint.identification.algorithm",
    }
)
"""Properties of connections and logins that an error may suggest, because librdkafka does not list its properties."""

_UNUSABLE_FILE = re.compile(r"(ssl\.[a-z]+\.location) failed")
_UNKNOWN_PROPERTY = re.compile(r'No such configuration property: "([^"]+)"')

SECRET_BYTES_MAX = 1 << 20
"""Maximum size of a file with a secret, in bytes: a key with its certificate chain has some kilobytes."""

_PROPERTIES_MAX = 200  # librdkafka has fewer

_NO_GSSAPI = (
    "this librdkafka was built without GSSAPI (Kerberos), as in confluent-kafka's wheels; GSSAPI is also SASL's "
    "default mechanism. Set PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER, or build confluent-kafka "
    "from source on a librdkafka with libsasl2: pip install --no-binary confluent-kafka confluent-kafka"
)

_NO_LOGIN = "sasl.username and sasl.password must be set"
_LOGIN = {
    "sasl.username": "sasl.username",
    "sasl.password": "a password: set sasl.password.file to the path of a file that contains it",
}

_NO_MSK_IAM = "only Java clients support AWS_MSK_IAM: set OAUTHBEARER, and sasl.oauthbearer.method to aws-msk-iam"


def property_name(name: str) -> str:
    """Return the property's name in librdkafka's spelling: dots instead of an environment variable's underscores."""
    return name.replace("_", ".")


def kafka_properties(data: object) -> dict[str, str]:
    """Return a ``kafka`` setting in librdkafka's spelling: names with dots, and numbers and booleans as texts.

    Raises:
        ValueError: ``data`` is not a mapping of names to single values, or sets one of `OWN_PROPERTIES`.
    """
    if not isinstance(data, Mapping) or len(data) > _PROPERTIES_MAX:
        raise ValueError(f"must be a mapping of at most {_PROPERTIES_MAX} Kafka client properties")
    result = {}
    for key, value in data.items():
        name = property_name(str(key))
        if not isinstance(value, str | int | float):
            raise ValueError(f"{name} must be a single value")  # noqa: TRY004 - pydantic takes only these
        if name.removesuffix(".file") in OWN_PROPERTIES:
            raise ValueError(f"{name} is set by the agent itself")
        result[name] = str(value).lower() if isinstance(value, bool) else str(value)
    for name in result:
        if f"{name}.file" in result:
            raise ValueError(f"{name} and {name}.file are both set: remove one of them")
    if not result.get(SERVERS, "").strip():
        result.pop(SERVERS, None)  # a manifest may leave the variable empty: no cluster is configured
    return result


KafkaProperties = Annotated[dict[str, str], BeforeValidator(kafka_properties)]


def client_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties, with files' contents in place of ``KEY.file``, after librdkafka has checked them.

    Each of the ``bootstrap.servers`` has the form ``host:port``, which other clients than librdkafka require.

    Raises:
        InvalidInputError: a file cannot be read, an address is wrong, librdkafka refuses a property, or the login has
        no token. The text contains no secret.
    """
    # librdkafka would log to stderr itself; its errors are shown in readiness and in the agent's own log.
    result = {"client.id": "rebalance-agent", "log_level": "0"}
    for name, value in properties.items():
        plain = name.removesuffix(".file")
        result[plain] = read_secret(f"kafka.{name}", value) if plain != name else value
    _check_files(result)
    result = with_server_ports(result)
    plain_result = without_token_method(result)
    try:
        AdminClient({**plain_result})
        # Only a consumer finds some contradictions between properties.
        Consumer({**plain_result, "group.id": "rebalance-agent"}).close()
    except KafkaException as error:
        text = without_secrets(error.args[0].str().replace("\n", " "), result)
        if mechanism_of(result) == "AWS_MSK_IAM":
            raise InvalidInputError("kafka.sasl.mechanism", _NO_MSK_IAM) from None
        if _NO_LOGIN in text:
            missing = " and ".join(_LOGIN[name] for name in _LOGIN if not result.get(name))
            raise InvalidInputError("kafka", f"SASL needs {missing}") from None
        if "GSSAPI" in text:
            raise InvalidInputError("kafka.sasl.mechanism", _NO_GSSAPI) from None
        if (failed := _UNUSABLE_FILE.search(text)) and failed[1] in result:
            raise InvalidInputError(
                f"kafka.{failed[1]}", f"{result[failed[1]]} is not a usable PEM file: {text}"
            ) from None
        unknown = _UNKNOWN_PROPERTY.match(text)
        meant = did_you_mean(unknown[1], USUAL_PROPERTIES) if unknown else ""
        raise InvalidInputError("kafka", text + meant) from None
    except TypeError as error:  # a callback's name, which cannot be set to a text
        raise InvalidInputError("kafka", str(error)) from None
    check_token_login(result)
    return result


def with_server_ports(properties: Mapping[str, str]) -> dict[str, str]:
    """Return ``properties``, with each of the ``bootstrap.servers`` in the form ``host:port``.

    Raises:
        InvalidInputError: an address is wrong.
    """
    addresses = server_addresses(properties)
    servers = {SERVERS: ",".join(endpoint_text(*address) for address in addresses)} if addresses else {}
    return {**properties, **servers}


def _check_files(properties: Mapping[str, str]) -> None:
    """Check that TLS files exist and may be read: librdkafka's error has only OpenSSL's codes."""
    for name in _FILE_PROPERTIES & properties.keys():
        path = properties[name]
        if name == "ssl.ca.location" and path == "probe":
            continue  # librdkafka looks for the system's certificates
        try:
            Path(path).stat()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InvalidInputError(f"kafka.{name}", f"cannot read {path}: {reason}") from None
        if not os.access(path, os.R_OK):
            raise InvalidInputError(f"kafka.{name}", f"cannot read {path}: Permission denied")


def without_secrets(text: str, properties: Mapping[str, str]) -> str:
    """Return ``text`` with stars in place of the values of secret ``properties``."""
    return _starred(text, (value for name, value in properties.items() if name in SECRET_PROPERTIES))


def _starred(text: str, secrets: Iterable[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***") if secret else text
    return text


def read_secret(field: str, path: str) -> str:
    """Return the text of a file that holds one secret, without the line end.

    Raises:
        InvalidInputError: see `read_text`; or the file is empty or contains a zero byte.
    """
    # Editors end files with a line feed, which is not part of the password.
    secret = read_text(field, path, SECRET_BYTES_MAX).rstrip("\r\n")
    if not secret or "\0" in secret:
        # librdkafka treats an empty string as no password, and ends a string at a zero byte.
        raise InvalidInputError(field, f"{path} {'contains a zero byte' if secret else 'is empty'}")
    return secret


def read_text(field: str, path: str, bytes_max: int) -> str:
    """Return the text of a file of at most ``bytes_max`` bytes.

    Raises:
        InvalidInputError: the file cannot be read, is too large, or is not UTF-8 text; names ``field``.
    """
    try:
        with regular_file(path) as file:
            data = file.read(bytes_max + 1)
        if len(data) > bytes_max:
            raise InvalidInputError(field, f"{path} has more than {bytes_max} bytes")
        return data.decode()
    except OSError as error:
        raise InvalidInputError(field, f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInputError(field, f"{path} is not UTF-8 text") from None
