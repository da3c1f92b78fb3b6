"""Access to the Maven registry through jgo; the only module that imports it.

Every call has a repository directory of its own: the user's ``~/.m2`` is neither read nor written. Mirrors come from
``[repositories]`` in jgo's own configuration file, and are used before the public registry.
"""

from __future__ import annotations

from pathlib import Path

from jgo.config import GlobalSettings
from jgo.maven import MavenContext

from rebalance_agent.artifacts.lockfile import Artifact

__all__ = ["fetch", "resolve"]

TIMEOUT_S = 60  # per request, until the next bytes


def fetch(artifact: Artifact, directory: Path) -> Path:
    """Download one jar into ``directory`` without reading any POM; errors of jgo and requests are not wrapped."""
    component = _context(directory).project(artifact.group, artifact.name).at_version(artifact.version)
    return Path(component.artifact(classifier=artifact.classifier).resolve())


def resolve(coordinates: tuple[str, ...], directory: Path) -> list[Artifact]:
    """Return the jars of ``coordinates`` and of their dependencies, without checksums and sizes. Takes about 20 s."""
    context = _context(directory)
    roots, others = context.resolver.resolve([context.create_dependency(coordinate) for coordinate in coordinates])
    return [
        Artifact(component.groupId, component.artifactId, component.version, component.classifier)
        for component in (*roots, *others)
    ]


def _context(directory: Path) -> MavenContext:
    context = MavenContext(repo_cache=directory, timeout=TIMEOUT_S)
    context.remote_repos = {**GlobalSettings.load().repositories, **context.remote_repos}
    return context
