"""What must agree before a release: the versions, the tag, the changelog, and the words about installation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml
from docs.developers.site.absolute_links import absolute_links

from supply.release.chart_metadata import CHART, HUB
from supply.release.run_steps import StepError
from supply.release.settings import ROOT, Release

UNRELEASED = {
    "README.md": ("No release is on PyPI yet", "pip install '.[", "First build"),
    "agent/rebalance_agent/extras.py": ("in a checkout",),
    "docs/**/*.md": ("no release is on PyPI yet", "pip install '.["),
    "docs/inject-a-sidecar.md": ("First build",),
    "docs/operate.md": ("The images are not published yet",),
    "helm/rebalance-agent/README.md*": ("The images are not published yet", "--set image.registry=registry.example"),
}
"""Files (a glob pattern) -> words that are true only until the first release."""

NOTES_MAX = 125_000
"""Characters of a release's notes that GitHub accepts."""


def versions(root: Path) -> Iterator[tuple[str, str]]:
    """Where the version is written, and which one."""

    def found(name: str, pattern: str) -> tuple[str, str]:
        match = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        return name, match[1] if match else "none"

    yield found("agent/rebalance_agent/__init__.py", r'^__version__ = "(.+)"$')
    yield found("Dockerfile", r"^ARG VERSION=(\S+)$")
    yield found("clients-java/pom.xml", r"^  <version>(.+)</version>$")
    chart = yaml.safe_load((root / CHART / "Chart.yaml").read_text(encoding="utf-8"))
    yield "Chart.yaml version", str(chart["version"])
    yield "Chart.yaml appVersion", str(chart["appVersion"])
    for image in yaml.safe_load(chart["annotations"][f"{HUB}images"]):
        yield f"Chart.yaml {HUB}images, {image['name']}", image["image"].rpartition(":")[2]


def check_versions(release: Release) -> str:
    """Compare all versions with the package's; with a tag also the tag, the checkout and the words of `UNRELEASED`."""
    found = list(versions(ROOT))
    if release.tag:
        found.append((f"tag {release.tag}", release.tag[1:] if release.tag.startswith("v") else "no v"))
    if wrong := [f"{place} has {version}" for place, version in found if version != release.version]:
        raise StepError(f"the package has {release.version}, but {', '.join(wrong)}")
    if release.tag:
        if changed := release.run("git", "status", "--porcelain", "--untracked-files=no", folder=ROOT).splitlines():
            raise StepError(f"changes without a commit: {', '.join(changed[:3])}")
        if words := list(unreleased_words(ROOT)):
            raise StepError(f"no longer true after a release: {'; '.join(words)}")
    return f"{release.version} in {len(found)} places"


def unreleased_words(root: Path) -> Iterator[str]:
    """The words of `UNRELEASED` that the files have."""
    for pattern, words in UNRELEASED.items():
        for page in sorted(root.glob(pattern)):
            text = " ".join(page.read_text(encoding="utf-8").split())
            yield from (f"{page.relative_to(root)}: {word}" for word in words if word in text)


def section(changelog: str, version: str) -> str | None:
    """The text of a version's section (``## 1.2.3``, also with a date behind it); none if it has no text."""
    parts = re.split(r"^## (\S+).*\n", changelog, flags=re.MULTILINE)
    return dict(zip(parts[1::2], (text.strip() for text in parts[2::2]), strict=True)).get(version) or None


def write_notes(release: Release) -> str:
    """Write ``notes.md`` from the changelog; in a dry run also from the section *Unreleased*."""
    page = "CHANGELOG.md"
    text = (ROOT / page).read_text(encoding="utf-8")
    title = next((name for name in (release.version, "" if release.tag else "Unreleased") if section(text, name)), None)
    if title is None:
        raise StepError(f"{page} has no section {release.version}")
    notes = section(text, title) or ""
    if release.address:
        notes = absolute_links(page, notes, release.address, ROOT)
    shortened = shorten(notes, release.address.file(page) if release.address else page)
    (release.folder / "notes.md").write_text(shortened + "\n", encoding="utf-8")
    return f"section {title}: {len(shortened):,} of {len(notes):,} characters"


def shorten(notes: str, changelog: str) -> str:
    """Keep as many whole entries as GitHub accepts; a last line then links to the ``changelog`` with all of them."""
    if len(notes) <= NOTES_MAX:
        return notes
    end = f"\n\nThe [changelog]({changelog}) has all entries."
    return notes[: notes.rindex("\n- ", 0, NOTES_MAX - len(end))] + end
