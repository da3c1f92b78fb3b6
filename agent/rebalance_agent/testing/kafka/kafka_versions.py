"""The versions of Apache Kafka that can be embedded: one lock file each, with the jars and their checksums.

``python -m rebalance_agent.artifacts.lock agent/rebalance_agent/testing/kafka/locks/kafka-4.4.0.lock`` writes a lock
file again. The roots of a lock are the broker (which kafka-tools does not depend on), the tools, and slf4j-simple. That
is a binding for Kafka's slf4j-api 1.7, which logs nothing without a binding. Versions before 4.3 are for short tests of
old brokers, and have no tools.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rebalance_agent.artifacts.lockfile import Artifact, parse_lock
from rebalance_agent.testing.errors import BrokerError

__all__ = [
    "DEFAULT_VERSION",
    "VARIABLE",
    "VERSIONS",
    "WITH_TOOLS",
    "BootstrapCheckpoint",
    "KafkaVersion",
    "kafka_version",
]

DEFAULT_VERSION = "4.4.0"
"""The version if neither the argument nor the environment variable is given."""

VARIABLE = "REBALANCE_AGENT_KAFKA_VERSION"
"""Environment variable with the version of brokers that are created without an argument, for example in a test
suite."""

_LOCKS = Path(__file__).with_name("locks")
_METADATA_LOG = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
_METADATA_LOG_SINCE = (4, 4)
_TOOLS_SINCE = (4, 3)


@dataclass(frozen=True, slots=True)
class BootstrapCheckpoint:
    """Feature levels of a new cluster, which ``kafka-storage format`` writes to ``path`` in the data directory."""

    path: str
    content: bytes

    def write(self, data: Path, *, controller: bool) -> None:
        """Write the file for a node. If the file begins the metadata log (since Kafka 4.4), only controllers get it."""
        path = data / self.path
        if controller or path.parent == data:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(self.content)


@dataclass(frozen=True, slots=True)
class KafkaVersion:
    """A version of Kafka that can be embedded; ``number`` has three parts."""

    number: str

    @property
    def lock_text(self) -> str:
        """The text of the lock file."""
        return (_LOCKS / f"kafka-{self.number}.lock").read_text(encoding="ascii")

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The jars of Kafka and, since 4.3, of its command line tools."""
        return parse_lock(self.lock_text)

    @property
    def checkpoint_path(self) -> str:
        """Path of the bootstrap checkpoint in a broker's data directory."""
        return _METADATA_LOG if _parts(self.number) >= _METADATA_LOG_SINCE else "bootstrap.checkpoint"


def _parts(number: str) -> tuple[int, ...]:
    return tuple(map(int, number.split(".")))


VERSIONS = tuple(
    sorted((path.stem.removeprefix("kafka-") for path in _LOCKS.glob("kafka-*.lock")), key=_parts, reverse=True)
)
"""Numbers of the versions that can be embedded, newest first."""

WITH_TOOLS = tuple(number for number in VERSIONS if _parts(number) >= _TOOLS_SINCE)
"""Numbers of the versions with Kafka's command line tools, newest first."""


def kafka_version(text: str | None = None) -> KafkaVersion:
    """Return the version that ``text`` names, by its number or by the first two parts of the number.

    If ``text`` is None, return the version in the environment variable `VARIABLE`, else `DEFAULT_VERSION`.

    Raises:
        BrokerError: there is no such version; the text has all versions.
    """
    wanted = text or os.environ.get(VARIABLE) or DEFAULT_VERSION
    for number in VERSIONS:
        if wanted in (number, number.rpartition(".")[0]):
            return KafkaVersion(number)
    raise BrokerError(f"Kafka {wanted!a} cannot be embedded, only {', '.join(VERSIONS)}")
