"""Writes the lock file of the embedded Kafka again: ``python -m rebalance_agent.testing.lock``.

Resolves ``ROOTS`` through jgo, downloads every jar and writes ``kafka-4.3.0.lock`` beside this module. For another
Kafka, change ``KAFKA_VERSION`` here and the file's name in ``lockfile.LOCK_FILE``. Look at the difference before
committing it: the checksums are of what the registry serves today.

``python -m rebalance_agent.testing.lock FILE COORDINATE...`` writes another lock file: of what these coordinates need
beyond the embedded Kafka's own jars.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rebalance_agent.testing import registry
from rebalance_agent.testing.artifacts import DOWNLOADS_MAX
from rebalance_agent.testing.lockfile import LOCK_FILE, Artifact, locked_artifacts, parse_lock

__all__ = ["ROOTS", "lock_text", "main"]

KAFKA_VERSION = "4.3.0"
ROOTS = (
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",  # kafka.Kafka, the broker, is in none of kafka-tools' dependencies
    f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
    "org.slf4j:slf4j-simple:1.7.36",  # for the slf4j-api 1.7 of Kafka 4.3; without a binding it logs nothing
)


def lock_text(artifacts: list[Artifact], roots: Sequence[str] = ROOTS) -> str:
    """The lock file for ``artifacts``, sorted by coordinate so that a change of one is a change of one line."""
    head = [
        "# Written by python -m rebalance_agent.testing.lock. One jar per line:",
        "# group:artifact:version[:classifier] sha256 size",
        *(f"# root: {root}" for root in roots),
    ]
    lines = sorted(f"{each.coordinate} {each.sha256} {each.size}" for each in artifacts)
    return "\n".join((*head, *lines)) + "\n"


def _coordinates(artifact: Artifact) -> tuple[str, str, str, str]:
    return artifact.group, artifact.name, artifact.version, artifact.classifier


def _measured(coordinates: tuple[str, str, str, str], directory: Path) -> Artifact:
    group, name, version, classifier = coordinates
    path = registry.fetch(Artifact(group, name, version, classifier, "", 0), directory)
    content = path.read_bytes()
    return Artifact(group, name, version, classifier, hashlib.sha256(content).hexdigest(), len(content))


def main(arguments: Sequence[str] = ()) -> int:
    """Resolve, download, write; ``arguments`` as on the command line. Returns the exit status."""
    path, roots = (Path(arguments[0]), tuple(arguments[1:])) if arguments else (LOCK_FILE, ROOTS)
    ours = {_coordinates(each) for each in locked_artifacts()} if arguments else set()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(DOWNLOADS_MAX) as pool:
        found = [each for each in registry.resolve(roots, Path(folder)) if each not in ours]
        artifacts = list(pool.map(lambda each: _measured(each, Path(folder)), found))
    text = lock_text(artifacts, roots)
    parse_lock(text)
    path.write_text(text, encoding="ascii")
    sys.stderr.write(f"{path.name}: {len(artifacts)} jars, {sum(each.size for each in artifacts)} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
