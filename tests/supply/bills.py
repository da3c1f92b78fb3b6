"""Bills of materials (CycloneDX 1.6) of the wheel with a lock's packages: equal locks give equal bytes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import rebalance_agent
from supply.locks import FOLDER

RUNTIME = ("agent", "cloud", "pipeline")
"""Runtime locks, each for the image of that name; the others are for builds and tests."""


def bill(python: str, lock: Path, *, validated: bool = True) -> str:
    """The bill as JSON. ``validated``: checked with CycloneDX's own schema, which takes some seconds.

    Raises:
        RuntimeError: cyclonedx-py failed; the text is its output.

    """
    options = ("--pyproject", str(FOLDER.parent / "pyproject.toml"), "--spec-version", "1.6", "--output-reproducible")
    check = "--validate" if validated else "--no-validate"
    command = [python, "-m", "cyclonedx_py", "requirements", *options, check, str(lock)]
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    if done.returncode:
        raise RuntimeError(f"cyclonedx-py failed on {lock.name}: {done.stderr.strip()}")
    content = json.loads(done.stdout)
    # The version is dynamic in pyproject.toml, which cyclonedx-py does not support.
    content["metadata"]["component"]["version"] = rebalance_agent.__version__
    return json.dumps(content, indent=2) + "\n"


def write_bills(python: str, folder: Path) -> list[Path]:
    """Write ``sbom-NAME.json`` for each lock of `RUNTIME`; where they are. Raises as `bill`."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in RUNTIME:
        path = folder / f"sbom-{name}.json"
        path.write_text(bill(python, FOLDER / f"{name}.lock"), encoding="utf-8")
        written.append(path)
    return written
