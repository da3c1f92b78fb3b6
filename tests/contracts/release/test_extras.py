"""An extra installs every package that its commands import."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rebalance_agent.cli.commands.pipeline import STAGES

ROOT = Path(__file__).parents[3]
OWN = "kafka-rebalance-agent"


def installed_by(extra):
    """The names of the packages that ``extra`` installs, with their dependencies."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    names, left = set(), [Requirement(f"{OWN}[{extra}]")]
    while left:
        wanted = left.pop()
        if wanted.name == OWN:
            left += [Requirement(each) for name in wanted.extras for each in extras[name]]
            continue
        if (name := canonicalize_name(wanted.name)) not in names:
            names.add(name)
            needed = map(Requirement, distribution(name).requires or ())
            chosen = [{"extra": each} for each in ("", *wanted.extras)]
            left += [each for each in needed if not each.marker or any(map(each.marker.evaluate, chosen))]
    return names


def test_the_pipelines_extra_has_all_packages_that_its_stages_import():
    installed = installed_by("pipeline")
    absent = [
        module
        for module, names in packages_distributions().items()
        if module != "rebalance_agent" and not installed & set(map(canonicalize_name, names))
    ]
    assert {"aiokafka", "textual"} <= set(absent)
    imports = "".join(f"import rebalance_agent.cli.pipeline.{stage}\n" for stage in STAGES)
    program = f"import sys\nsys.modules |= dict.fromkeys({absent!r})\n{imports}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
