"""The client library of a member."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rebalance_agent.errors import InvalidInputError

__all__ = ["SOFTWARE_MAX", "ClientSoftware"]

SOFTWARE_MAX = 128
"""Maximum number of characters of a library's name and of its version. A gateway reads at most 126 bytes of each."""

_JAVA = "apache-kafka-java"

_OF_LIBRDKAFKA = re.compile(r"librdkafka|confluent-kafka-\w+")
"""Names of librdkafka, and of Confluent's clients that use librdkafka."""


@dataclass(frozen=True, slots=True)
class ClientSoftware:
    """The name and version of a client library (KIP-511); both are empty if the client does not send them."""

    name: str = ""
    version: str = ""

    def __post_init__(self) -> None:
        """Check lengths: the values are kept for each member.

        Raises:
            InvalidInputError: a value has more than `SOFTWARE_MAX` characters.
        """
        for name in ("name", "version"):
            if len(getattr(self, name)) > SOFTWARE_MAX:
                raise InvalidInputError(f"software.{name}", f"must have at most {SOFTWARE_MAX} characters")

    @property
    def is_java(self) -> bool:
        """Whether it is Kafka's own client for Java."""
        return self.name == _JAVA

    @property
    def is_librdkafka(self) -> bool:
        """Whether it is librdkafka, or one of Confluent's clients that use it."""
        return bool(_OF_LIBRDKAFKA.fullmatch(self.name))

    def __bool__(self) -> bool:
        """Whether the client names its library."""
        return bool(self.name)

    def __str__(self) -> str:
        """Return ``apache-kafka-java 4.3.0``."""
        return f"{self.name} {self.version}".strip()
