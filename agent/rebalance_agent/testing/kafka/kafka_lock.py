"""The lock file of the embedded Kafka: its jars with their checksums.

Written by ``python -m rebalance_agent.artifacts.lock agent/rebalance_agent/testing/kafka/kafka-4.3.0.lock``. Its
roots are the broker (in none of kafka-tools' dependencies), the tools, and slf4j-simple for the slf4j-api 1.7 of
Kafka 4.3: without a binding it logs nothing.
"""

from __future__ import annotations

from pathlib import Path

from rebalance_agent.artifacts.lockfile import Artifact, parse_lock

__all__ = ["LOCK_FILE", "locked_artifacts"]

LOCK_FILE = Path(__file__).with_name("kafka-4.3.0.lock")
"""Path of the lock file."""


def locked_artifacts() -> tuple[Artifact, ...]:
    """The jars of Apache Kafka 4.3.0 and its command line tools, from the lock file."""
    return parse_lock(LOCK_FILE.read_text(encoding="ascii"))
