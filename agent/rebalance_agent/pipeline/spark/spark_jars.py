"""Fetches the jars that Spark needs beside its own: the Kafka source, Delta, and the library of a login.

Versions and digests are locked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rebalance_agent.artifacts.fetching import cache_directory, ensure_artifacts
from rebalance_agent.artifacts.lockfile import Artifact, parse_lock

__all__ = ["LOCK_FILE", "LOGIN_LOCKS", "locked_jars", "spark_jars"]

LOCK_FILE = Path(__file__).with_name("spark-4.0.0.lock")
"""The lock file, written by ``python -m rebalance_agent.artifacts.lock FILE --beyond .../pyspark/jars``."""

LOGIN_LOCKS: Mapping[str, Path] = {"aws-msk-iam": Path(__file__).with_name("aws-msk-iam.lock")}
"""``sasl.oauthbearer.method`` -> lock file, written by ``python -m rebalance_agent.artifacts.lock FILE --alone``.

The jar contains all that Amazon's library needs: 39 jars, some of which Spark has in other versions.
"""


def locked_jars(login: str = "") -> tuple[Artifact, ...]:
    """Return the jars that the lock files name; ``login``: a method of `LOGIN_LOCKS`, all others need no jar."""
    files = [LOCK_FILE, *([LOGIN_LOCKS[login]] if login in LOGIN_LOCKS else [])]
    return tuple(jar for file in files for jar in parse_lock(file.read_text(encoding="ascii")))


def spark_jars(login: str = "") -> tuple[Path, ...]:
    """Fetch and verify the jars that are missing in the cache; return the paths of all jars.

    Raises:
        ArtifactError: a jar cannot be fetched, or its digest is not the locked one.
    """
    return ensure_artifacts(locked_jars(login), cache_directory(), title="Spark's Kafka source and Delta")
