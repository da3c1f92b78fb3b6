"""Fetches the jars that Spark needs beside its own: the Kafka source and Delta, with locked versions and digests."""

from __future__ import annotations

from pathlib import Path

from rebalance_agent.artifacts.fetching import cache_directory, ensure_artifacts
from rebalance_agent.artifacts.lockfile import Artifact, parse_lock

__all__ = ["LOCK_FILE", "locked_jars", "spark_jars"]

LOCK_FILE = Path(__file__).with_name("spark-4.0.0.lock")
"""The lock file, written by ``python -m rebalance_agent.artifacts.lock FILE --beyond .../pyspark/jars``."""


def locked_jars() -> tuple[Artifact, ...]:
    """Return the jars that the lock file names."""
    return parse_lock(LOCK_FILE.read_text(encoding="ascii"))


def spark_jars() -> tuple[Path, ...]:
    """Fetch and verify the jars that are missing in the cache; return the paths of all jars.

    Raises:
        ArtifactError: a jar cannot be fetched, or its digest is not the locked one.
    """
    return ensure_artifacts(locked_jars(), cache_directory(), title="Spark's Kafka source and Delta")
