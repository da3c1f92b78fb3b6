"""Fetches the jars of a lock file once, keeps them in one cache directory, and verifies their sha256 at each use.

A file gets its final name only after its bytes were verified. They are hashed again at each use, because
other programs may have changed them between two runs: 92 jars of 56 MB take a tenth of a second. One file lock per
cache makes a second process wait for the first instead of downloading twice.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from rebalance_agent.artifacts.download_progress import download_progress
from rebalance_agent.artifacts.errors import ArtifactError
from rebalance_agent.artifacts.lockfile import Artifact

__all__ = ["Fetch", "cache_directory", "ensure_artifacts", "write_atomically"]

DOWNLOADS_MAX = 8  # parallel requests: more are not faster, and put load on the registry
ATTEMPTS_MAX = 3  # per jar: registries drop connections now and then


Fetch = Callable[[Artifact, Path], Path]
"""Downloads one artifact into the given empty directory and returns the file's path; may raise anything."""


def cache_directory() -> Path:
    """Return ``$REBALANCE_AGENT_CACHE``, else ``$XDG_CACHE_HOME/rebalance-agent``, else ``~/.cache/rebalance-agent``.

    Raises:
        ArtifactError: none of these directories is known (there is no home directory).
    """
    if own := os.environ.get("REBALANCE_AGENT_CACHE"):
        return Path(own).absolute()
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg).absolute() / "rebalance-agent"
    try:
        return Path.home() / ".cache" / "rebalance-agent"
    except RuntimeError as error:
        msg = "there is no home directory in which to store jars: set REBALANCE_AGENT_CACHE to a writable directory"
        raise ArtifactError(msg) from error


def ensure_artifacts(
    artifacts: Sequence[Artifact], cache: Path, fetch: Fetch | None = None, *, title: str = "embedded Kafka"
) -> tuple[Path, ...]:
    """Return the paths of ``artifacts`` in ``cache``, in their order, after fetching those that are missing or changed.

    Needs no network if all of them are in the cache. ``fetch`` is by default a download through jgo; ``title`` names
    the artifacts in the progress line.

    Raises:
        ArtifactError: an artifact cannot be fetched or its checksum differs, or the cache is not writable.
    """
    folder = cache / "jars"
    try:
        if _missing(artifacts, folder):
            folder.mkdir(parents=True, exist_ok=True)
            with _exclusive(cache / "jars.lock"):
                # Another process may have fetched them meanwhile.
                if missing := _missing(artifacts, folder):
                    _fetch_all(missing, folder, fetch or _jgo_fetch(), title)
    except OSError as error:
        msg = f"cannot store jars in {cache}: {error}. Set REBALANCE_AGENT_CACHE to a writable directory"
        raise ArtifactError(msg) from error
    return tuple(folder / artifact.filename for artifact in artifacts)


def write_atomically(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file to the cache; other processes see the file only when it is complete."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix="incoming-", delete=False) as file:
        file.write(content)
    Path(file.name).chmod(mode)
    Path(file.name).replace(path)


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file at ``path``; the operating system releases it when the process ends."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _missing(artifacts: Sequence[Artifact], folder: Path) -> list[Artifact]:
    def present(artifact: Artifact) -> bool:
        try:
            return _digest(folder / artifact.filename) == artifact.sha256
        except (FileNotFoundError, NotADirectoryError):
            return False

    return [artifact for artifact in artifacts if not present(artifact)]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch_all(missing: Sequence[Artifact], folder: Path, fetch: Fetch, title: str) -> None:
    for leftover in folder.glob("incoming-*"):  # of a killed process: this one holds the lock
        shutil.rmtree(leftover, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix="incoming-", dir=folder) as incoming,
        download_progress(title, len(missing), sum(artifact.size for artifact in missing), folder) as advance,
        ThreadPoolExecutor(DOWNLOADS_MAX) as pool,
    ):
        # Large ones first: otherwise one thread ends with 10 MB while the others are idle.
        ordered = sorted(missing, key=lambda artifact: -artifact.size)
        futures = {pool.submit(_fetch_one, artifact, folder, Path(incoming), fetch): artifact for artifact in ordered}
        try:
            for future in as_completed(futures):
                future.result()
                advance(futures[future].size)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _fetch_one(artifact: Artifact, folder: Path, incoming: Path, fetch: Fetch) -> None:
    for attempt in range(1, ATTEMPTS_MAX + 1):
        own = Path(tempfile.mkdtemp(dir=incoming))  # a new one per attempt: jgo takes any file there as complete
        try:
            path = fetch(artifact, own)
        except Exception as error:
            if attempt < ATTEMPTS_MAX:
                continue
            msg = (
                f"cannot fetch {artifact.coordinate} ({type(error).__name__}: {error}). Check that this machine "
                "reaches the Maven registry (proxies and REQUESTS_CA_BUNDLE come from the environment, mirrors from "
                "jgo's configuration file), or copy a filled cache directory here and set REBALANCE_AGENT_CACHE to it"
            )
            raise ArtifactError(msg) from error
        _verify(artifact, path)
        path.replace(folder / artifact.filename)
        return


def _verify(artifact: Artifact, path: Path) -> None:
    actual = _digest(path)
    if actual != artifact.sha256:
        msg = (
            f"{artifact.coordinate} has sha256 {actual}, but the lock file has {artifact.sha256}: it is not used. "
            "A proxy or a mirror may have changed it; if the lock file is wrong, see rebalance_agent.artifacts.lock"
        )
        raise ArtifactError(msg)


def _jgo_fetch() -> Fetch:
    try:
        from rebalance_agent.artifacts.maven import fetch  # noqa: PLC0415 - jgo is an optional dependency
    except ModuleNotFoundError as error:
        msg = f"fetching jars needs jgo, but {error.name} is not installed; run: pip install 'jgo==3.2.0'"
        raise ArtifactError(msg) from error
    return fetch
