"""The format of lock files, which list jars with their checksums and sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rebalance_agent.artifacts.errors import ArtifactError

__all__ = ["Artifact", "parse_lock"]

_SHA256 = re.compile(r"[0-9a-f]{64}")
_COORDINATE = re.compile(r"[\w.-]+(:[\w.-]+){2,3}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Artifact:
    """One jar: Maven coordinates, the sha256 of its bytes (hexadecimal) and its size in bytes, if known."""

    group: str
    name: str
    version: str
    classifier: str
    sha256: str = ""
    size: int = 0

    @property
    def coordinate(self) -> str:
        """``group:artifact:version[:classifier]``, as in the lock file."""
        return ":".join(part for part in (self.group, self.name, self.version, self.classifier) if part)

    @property
    def jar_name(self) -> str:
        """File name in Maven."""
        return "-".join(part for part in (self.name, self.version, self.classifier) if part) + ".jar"

    @property
    def filename(self) -> str:
        """Name in the cache, with the start of the checksum: jars of different locks have different names."""
        return f"{self.jar_name.removesuffix('.jar')}-{self.sha256[:12]}.jar"


def parse_lock(text: str) -> tuple[Artifact, ...]:
    """Return the artifacts of a lock file.

    Each line is ``group:artifact:version[:classifier] sha256 size``; ``#`` starts a comment.

    Raises:
        ArtifactError: a line has another form; the error names the line.
    """
    artifacts = []
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        match fields:
            case [coordinate, sha256, size] if (
                _COORDINATE.fullmatch(coordinate) and _SHA256.fullmatch(sha256) and size.isdecimal()
            ):
                group, name, version, *classifier = coordinate.split(":")
                artifacts.append(Artifact(group, name, version, "".join(classifier), sha256, int(size)))
            case _:
                form = "group:artifact:version[:classifier] sha256 size"
                raise ArtifactError(f"lock file, line {number}: expected '{form}', got {line!r}")
    return tuple(artifacts)
