"""Kafka client properties as users write them -> what librdkafka takes. Secrets come from files and are never shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from rebalance_agent.errors import InvalidInputError

__all__ = ["OWN_PROPERTIES", "client_properties", "kafka_properties", "read_secret"]

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
    }
)
"""Properties on which the agent's own correctness rests: setting them is refused."""

SERVERS = "bootstrap.servers"

SECRET_BYTES_MAX = 1 << 20
"""A key with its certificate chain has some kilobytes; more is the wrong file."""

_PROPERTIES_MAX = 200  # librdkafka knows fewer


def kafka_properties(data: object) -> dict[str, str]:
    """Bring a ``kafka`` setting to librdkafka's spelling: dots for underscores, texts for numbers and booleans.

    Raises:
        ValueError: it is not a mapping of names to single values, or sets one of `OWN_PROPERTIES`.
    """
    if not isinstance(data, Mapping) or len(data) > _PROPERTIES_MAX:
        raise ValueError(f"must be a mapping of at most {_PROPERTIES_MAX} Kafka client properties")
    result = {}
    for key, value in data.items():
        name = str(key).replace("_", ".")
        if not isinstance(value, str | int | float):
            raise ValueError(f"{name} must be a single value")  # noqa: TRY004 - pydantic takes only these
        if name.removesuffix(".file") in OWN_PROPERTIES:
            raise ValueError(f"{name} is set by the agent itself")
        result[name] = str(value).lower() if isinstance(value, bool) else str(value)
    if not result.get(SERVERS, "").strip():
        result.pop(SERVERS, None)  # a variable that a manifest leaves empty: no cluster is configured
    return result


def client_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties with the contents of files in place of ``KEY.file``, and known to be ones that librdkafka takes.

    Raises:
        InvalidInputError: a file cannot be read, or librdkafka refuses a property; the text never has a value in it.
    """
    # librdkafka writes to stderr by itself, past our log; what matters of it is in readiness and in errors.
    result = {"client.id": "rebalance-agent", "log_level": "0"}
    for name, value in properties.items():
        plain = name.removesuffix(".file")
        result[plain] = read_secret(f"kafka.{name}", value) if plain != name else value
    try:
        AdminClient({**result})
    except KafkaException as error:
        raise InvalidInputError("kafka", error.args[0].str().replace("\n", " ")) from None
    return result


def read_secret(field: str, path: str) -> str:
    """The text of a file that holds one secret, without the line end.

    Raises:
        InvalidInputError: naming ``field``; it cannot be read, is too large, or is no text.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(SECRET_BYTES_MAX + 1)
        if len(data) > SECRET_BYTES_MAX:
            raise InvalidInputError(field, f"{path} has more than {SECRET_BYTES_MAX} bytes")
        # Editors end files with a line feed that is no part of a password.
        return data.decode().rstrip("\r\n")
    except OSError as error:
        raise InvalidInputError(field, f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInputError(field, f"{path} is not UTF-8 text") from None
