"""Reads ``requirements/*.lock``: versions of packages, and hashes of their files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "requirements"


@dataclass(frozen=True)
class Package:
    """A version that some Python on some system gets, and the SHA-256 (64 hexadecimal digits) of each of its files."""

    name: str
    version: str
    hashes: frozenset[str]


def packages(text: str) -> list[Package]:
    """All packages of a lock, for any Python and system; a name occurs again where these have other versions.

    Raises:
        ValueError: an entry is not pinned, or has no hash.

    """
    found = []
    for entry in re.split(r"\n(?=\S)", text.strip()):
        pinned = re.match(r"([a-z0-9][a-z0-9.-]*)==(\S+)", entry)
        hashes = frozenset(re.findall(r"--hash=sha256:([0-9a-f]{64})\b", entry))
        if not pinned or not hashes:
            raise ValueError(f"a lock has versions with hashes, and not: {entry[:60]!r}")
        found.append(Package(pinned[1], pinned[2], hashes))
    return found


def locked(name: str) -> list[Package]:
    """The packages of ``requirements/NAME.lock``."""
    return packages((FOLDER / f"{name}.lock").read_text(encoding="utf-8"))


def names() -> list[str]:
    """The names of all locks."""
    return sorted(path.stem for path in FOLDER.glob("*.lock"))
