"""The steps of a release in their order."""

from __future__ import annotations

from supply.release.agreement import check_versions, write_notes
from supply.release.chart import lint_chart, package_chart, push_chart
from supply.release.distributions import build, check_metadata, install, write_sboms
from supply.release.images import build_images, join_images, push_images
from supply.release.publish import publish_pypi, publish_release
from supply.release.run_steps import Step

STEPS = (
    Step("versions", "package, chart, images, jar and tag have one version", check_versions),
    Step("notes", "release notes from CHANGELOG.md", write_notes),
    Step("build", "wheel and source distribution", build),
    Step("metadata", "what PyPI shows", check_metadata, needs=("build",)),
    Step("install", "the wheel in new environments", install, needs=("build",)),
    Step("sbom", "bills of materials of the images", write_sboms),
    Step("chart", "the chart's package", package_chart),
    Step("chart-lint", "helm lint, and the rules of Artifact Hub", lint_chart, needs=("chart",)),
    Step("images", "the images, for this machine's architecture", build_images),
    Step("push-images", "this architecture's images to the registry", push_images, needs=("images",), publishes=True),
    Step("join-images", "one tag for all architectures", join_images, publishes=True),
    Step("push-chart", "the chart to the registry", push_chart, publishes=True),
    Step("publish-pypi", "wheel and source distribution to PyPI", publish_pypi, publishes=True),
    Step("publish-release", "the release with notes and files", publish_release, publishes=True),
)
