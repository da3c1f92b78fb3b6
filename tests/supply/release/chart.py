"""The chart: packaged with its links, checked by ``helm lint`` and the rules of Artifact Hub, pushed to a registry."""

from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path

import yaml

from supply.release.chart_metadata import CHART, problems
from supply.release.images import reference, require_registry
from supply.release.run_steps import SkippedError, StepError
from supply.release.settings import NOT_SET, ROOT, Release

PACKAGE = "rebalance-agent-*.tgz"
SHOWN = ("README.md", "values.schema.json", "values.yaml")
"""Files of the package that Artifact Hub shows."""

BUILD_HELM = "from support.cluster.kube_tools import build; print(build('helm'))"


def package_chart(release: Release) -> str:
    """Package the chart; its default images must be those of the registry."""
    chart, made = release.staged / CHART, release.scratch / "chart"
    helm = _helm(release)
    release.run(helm, "package", chart, "--destination", made)
    for old in release.folder.glob(PACKAGE):
        old.unlink()
    package = Path(shutil.move(next(made.iterdir()), release.folder))
    rendered = release.run(helm, "template", "test", package)
    if (image := reference(release, "kafka-rebalance-agent")) not in rendered:
        raise StepError(f"the chart does not install {image}")
    return f"{package.name} ({package.stat().st_size:,} bytes), installs {image}"


def lint_chart(release: Release) -> str:
    """Check the package with ``helm lint --strict``, with the values of ``ci/``, and by the rules of Artifact Hub."""
    package, helm = release.built(PACKAGE), _helm(release)
    values = sorted((ROOT / CHART / "ci").glob("*.yaml"))
    for options in ((), *((f"--values={path}",) for path in values)):
        release.run(helm, "lint", "--strict", package, *options)
    with tarfile.open(package) as archive:
        names = archive.getnames()
    found = [f"{name} is not in the package" for name in SHOWN if f"rebalance-agent/{name}" not in names]
    chart = yaml.safe_load(release.run(helm, "show", "chart", package))
    found += problems(chart, with_links=release.address is not None)
    if found:
        raise StepError(f"Artifact Hub: {'; '.join(found)}")
    linted = f"helm lint --strict with {len(values)} files of values"
    if release.address:
        return f"{linted}; all rules of Artifact Hub"
    return f"{linted}; rules of Artifact Hub without home, sources, icon, links, screenshots: {NOT_SET}"


def push_chart(release: Release) -> str:
    """Push the chart as an OCI artefact; pass on its ``name`` and ``digest``."""
    require_registry(release)
    target = f"{release.registry}/charts"
    # Helm prints the digest to standard error.
    said = release.run("sh", "-c", 'helm push "$0" "oci://$1" 2>&1', release.built(PACKAGE), target)
    digest = re.search(r"^Digest: (sha256:[0-9a-f]{64})$", said, re.MULTILINE)
    if not digest:
        raise StepError(f"helm push printed no digest: {said.strip()}")
    release.output(name=f"{target}/rebalance-agent", digest=digest[1])
    return f"{target}/rebalance-agent@{digest[1]}"


def _helm(release: Release) -> str:
    """Helm on PATH, or the one that the chart's tests build with the complete environment."""
    if found := shutil.which("helm", path=release.environment.get("PATH")):
        return found
    complete = ROOT / ".venv" / "bin" / "python"
    if not complete.exists():
        raise SkippedError("helm is not installed, and without `make venv` it cannot be built")
    release.say("  building helm, if it is not in the cache ...")
    command = (complete, "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r}); {BUILD_HELM}")
    return release.run(*command).strip()
