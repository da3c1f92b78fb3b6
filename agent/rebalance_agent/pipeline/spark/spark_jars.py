"""The jars that Spark needs beyond its own: the Kafka source and Delta, as locked."""

from __future__ import annotations

from pathlib import Path

from rebalance_agent.artifacts.fetching import cache_directory, ensure_artifacts
from rebalance_agent.artifacts.lockfile import Artifact, parse_lock

__all__ = ["LOCK_FILE", "locked_jars", "spark_jars"]

LOCK_FILE = Path(__file__).with_name("spark-4.0.0.lock")
"""Written by ``python -m rebalance_agent.artifacts.lock FILE --beyond .../pyspark/jars``."""


def locked_jars() -> tuple[Artifact, ...]:
    """What the lock file names."""
    return parse_lock(LOCK_FILE.read_text(encoding="ascii"))


def spark_jars() -> tuple[Path, ...]:
    """The jars in the cache, after fetching and verifying those that are not there yet.

    Raises:
        ArtifactError: one cannot be had, or has other bytes than locked.
    """
    return ensure_artifacts(locked_jars(), cache_directory(), title="Spark's Kafka source and Delta")
