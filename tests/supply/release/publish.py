"""Uploads to PyPI, and the release on GitHub. Both use identities of the workflow's run, no stored secret."""

from __future__ import annotations

import sys

import yaml

from supply.bills import RUNTIME
from supply.release.chart import PACKAGE
from supply.release.chart_metadata import CHART, HUB
from supply.release.distributions import SOURCE, WHEEL
from supply.release.run_steps import StepError
from supply.release.settings import NOT_SET, ROOT, Release


def publish_pypi(release: Release) -> str:
    """Sign wheel and source (PEP 740) and upload them with their attestations, as a trusted publisher.

    A file that was already uploaded is kept, so a run can be repeated after a failure.
    """
    _require_tag(release)
    files = [release.built(WHEEL), release.built(SOURCE)]
    for path in files:
        path.with_name(f"{path.name}.publish.attestation").unlink(missing_ok=True)
    release.run(sys.executable, "-m", "pypi_attestations", "sign", *files)
    signed = [release.built(f"{path.name}.publish.attestation") for path in files]
    options = ("--non-interactive", "--skip-existing", "--attestations", "--disable-progress-bar")
    release.run(sys.executable, "-m", "twine", "--no-color", "upload", *options, *files, *signed)
    return ", ".join(path.name for path in files)


def publish_release(release: Release) -> str:
    """Create the release on GitHub with notes, wheel, source, chart and bills of materials."""
    _require_tag(release)
    files = [release.built(pattern) for pattern in (WHEEL, SOURCE, PACKAGE, *(f"sbom-{name}.json" for name in RUNTIME))]
    chart = yaml.safe_load((ROOT / CHART / "Chart.yaml").read_text(encoding="utf-8"))
    options = ["--verify-tag", f"--title={release.version}", f"--notes-file={release.built('notes.md')}"]
    if chart["annotations"][f"{HUB}prerelease"] == "true":
        options.append("--prerelease")
    return release.run("gh", "release", "create", release.tag, *options, *files).strip()


def _require_tag(release: Release) -> None:
    if not release.address or not release.tag:
        raise StepError(f"publishing needs --tag; {NOT_SET}" if not release.address else "publishing needs --tag")
