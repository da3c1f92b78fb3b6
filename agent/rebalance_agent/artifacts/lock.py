"""Writes a lock file: ``python -m rebalance_agent.artifacts.lock FILE [--alone] [--beyond PATH]... [COORDINATE]...``.

Resolves the coordinates through jgo, downloads the jars, and writes those that are not in a ``PATH``: a lock file, or a
folder of jars (``pyspark/jars`` for the pipeline). With ``--alone``, it writes only the jars of the coordinates: for a
jar that contains its dependencies. Without coordinates, the roots in FILE are used; for another version, change them
there. Review the difference before you commit it: the checksums are those of the jars that the
registry serves today.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from rebalance_agent.artifacts import maven as registry
from rebalance_agent.artifacts.fetching import DOWNLOADS_MAX
from rebalance_agent.artifacts.lockfile import Artifact, parse_lock

__all__ = ["lock_text", "main"]


def lock_text(artifacts: list[Artifact], roots: Sequence[str]) -> str:
    """Return the lock file for ``artifacts``, sorted by coordinate, so that a change of one jar changes one line."""
    head = [
        "# Written by python -m rebalance_agent.artifacts.lock. One jar per line:",
        "# group:artifact:version[:classifier] sha256 size",
        *(f"# root: {root}" for root in roots),
    ]
    lines = sorted(f"{artifact.coordinate} {artifact.sha256} {artifact.size}" for artifact in artifacts)
    return "\n".join((*head, *lines)) + "\n"


def _roots(path: Path) -> tuple[str, ...]:
    return tuple(re.findall(r"^# root: (\S+)$", path.read_text(encoding="ascii"), re.MULTILINE))


def _artifact(coordinate: str) -> Artifact:
    group, name, version, *classifier = coordinate.split(":")
    return Artifact(group, name, version, "".join(classifier))


def _names_in(paths: Sequence[Path]) -> set[str]:
    names: set[str] = set()
    for path in paths:
        if path.is_dir():
            names |= {jar.name for jar in path.glob("*.jar")}
        else:
            names |= {artifact.jar_name for artifact in parse_lock(path.read_text(encoding="ascii"))}
    return names


def _downloaded(artifact: Artifact, directory: Path) -> Artifact:
    content = registry.fetch(artifact, directory).read_bytes()
    return replace(artifact, sha256=hashlib.sha256(content).hexdigest(), size=len(content))


def main(arguments: Sequence[str] | None = None) -> int:
    """Resolve, download and write; ``arguments`` as on the command line. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--beyond", type=Path, action="append", default=[], metavar="PATH")
    parser.add_argument("coordinates", nargs="*", metavar="COORDINATE")
    options = parser.parse_intermixed_args(arguments)
    roots = tuple(options.coordinates) or _roots(options.file)
    names_beyond = _names_in(options.beyond)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(DOWNLOADS_MAX) as pool:
        found = [_artifact(root) for root in roots] if options.alone else registry.resolve(roots, Path(folder))
        resolved = [jar for jar in found if jar.jar_name not in names_beyond]
        artifacts = list(pool.map(lambda jar: _downloaded(jar, Path(folder)), resolved))
    text = lock_text(artifacts, roots)
    parse_lock(text)
    options.file.write_text(text, encoding="ascii")
    sys.stderr.write(
        f"{options.file.name}: {len(artifacts)} jars, {sum(artifact.size for artifact in artifacts)} bytes\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
