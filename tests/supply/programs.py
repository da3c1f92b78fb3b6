"""Installs the packages of a lock into an environment of its own in the cache of tools.

pip-audit and cyclonedx-py (``audit.lock``) install some 50 packages, which would otherwise be among the checked ones.
The site's builder (``site.lock``) is not needed for anything else.

``python -m supply.programs NAME`` prints the Python with the packages of ``requirements/NAME.lock``.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from supply.locks import FOLDER
from support.runner.tools import cache

INSTALL_SECONDS_MAX = 840  # normally twenty seconds, more on a busy machine


class UnavailableError(Exception):
    """The tools cannot be installed on this machine; the text is the reason."""


def python(lock: Path = FOLDER / "audit.lock") -> str:
    """The Python with the packages of ``lock``, installed at the first use; concurrent callers wait for the first.

    Raises:
        UnavailableError: it could not be installed, as without a network.

    """
    key = hashlib.sha256(sys.version.encode() + lock.read_bytes()).hexdigest()[:16]
    folder = cache() / f"{lock.stem}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    environment = folder / "environment"
    complete = folder / ".complete"
    with (folder / ".lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not complete.exists():
            print(f"installing the packages of {lock.name} (once) ...", file=sys.stderr)
            shutil.rmtree(environment, ignore_errors=True)  # an earlier installation was killed, or had no network
            _run([sys.executable, "-m", "venv", str(environment)])
            asked = (
                "--quiet",
                "--disable-pip-version-check",
                "--no-compile",
                "--require-hashes",
                "--no-deps",
                "--only-binary=:all:",
            )
            _run([str(environment / "bin" / "python"), "-m", "pip", "install", *asked, "-r", str(lock)])
            complete.touch()
    return str(environment / "bin" / "python")


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=INSTALL_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"installing its tools took longer than {INSTALL_SECONDS_MAX} s") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing was said"]
        raise UnavailableError(f"its tools cannot be installed: {said[-1]}")


if __name__ == "__main__":
    try:
        print(python(FOLDER / f"{sys.argv[1]}.lock"))
    except UnavailableError as error:
        sys.exit(f"{sys.argv[1]}: {error}")
