"""The chart's metadata, as Artifact Hub shows it: what the packaging fills in, and what is required."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from docs.developers.site.repository_address import Address

CHART = "helm/rebalance-agent"
ICON = "helm/icon.svg"
SCREENSHOTS = {
    "The page: groups with problems and their causes": "docs/images/page.png",
    "The page: owners of a group's partitions over its generations": "docs/images/page-group.png",
    "The board of a group": "docs/images/boards/rebalance-group.svg",
}
"""Title -> picture in the repository."""

HUB = "artifacthub.io/"
ANNOTATIONS = {"category", "images", "license", "links", "operator", "prerelease", "screenshots"}
"""Annotations of Artifact Hub that we use; it ignores one that it does not know."""

REQUIRED = ("name", "description", "version", "appVersion", "kubeVersion", "type", "keywords")

CATEGORIES = {
    "ai-machine-learning",
    "database",
    "integration-delivery",
    "monitoring-logging",
    "networking",
    "security",
    "storage",
    "streaming-messaging",
}


def filled(chart: Mapping[str, Any], address: Address | None, registry: str) -> dict[str, Any]:
    """``Chart.yaml`` with links where the address is known, and with the images' names where the registry is."""
    result = {**chart, "annotations": dict(chart["annotations"])}
    notes = result["annotations"]
    if registry:
        images = yaml.safe_load(notes[f"{HUB}images"])
        notes[f"{HUB}images"] = _text([{**each, "image": f"{registry}/{each['image']}"} for each in images])
    if address:
        result |= {
            "home": address.repository,
            "sources": [address.repository],
            "icon": address.picture(ICON),
        }
        notes[f"{HUB}links"] = _text(
            [
                {"name": "Documentation", "url": address.file("docs/README.md")},
                {"name": "Changelog", "url": address.file("CHANGELOG.md")},
                {"name": "support", "url": f"{address.repository}/issues"},
            ]
        )
        notes[f"{HUB}screenshots"] = _text(
            [{"title": title, "url": address.picture(path)} for title, path in SCREENSHOTS.items()]
        )
    return result


def _text(value: list[Any]) -> str:
    return yaml.safe_dump(value, sort_keys=False, width=1000)


def problems(chart: Mapping[str, Any], *, with_links: bool) -> list[str]:
    """What Artifact Hub would miss in ``Chart.yaml``. ``with_links``: also the rules about the repository's address."""
    return [*_own(chart), *(_links(chart) if with_links else ())]


def _own(chart: Mapping[str, Any]) -> Iterator[str]:
    notes, version = _notes(chart), str(chart.get("version", ""))
    yield from (f"{name} is missing" for name in REQUIRED if not chart.get(name))
    if not re.fullmatch(r"\d+\.\d+\.\d+(-[\w.]+)?", version):
        yield f"version {version} is not a semantic version"
    if not all(each.get("name") for each in chart.get("maintainers") or [{}]):
        yield "maintainers need a name each"
    if notes.get("category") not in CATEGORIES:
        yield f"{HUB}category {notes.get('category')} is not one of Artifact Hub's"
    if not notes.get("license"):
        yield f"{HUB}license is missing"
    expected = "true" if re.match(r"0\.|.*-", version) else "false"
    if notes.get("prerelease") != expected:
        yield f'{HUB}prerelease must be "{expected}" for version {version}'
    if unknown := sorted(set(notes) - ANNOTATIONS):
        yield f"unknown annotations: {', '.join(unknown)}"
    for each in yaml.safe_load(notes.get("images", "")) or [{}]:
        if not each.get("name") or not str(each.get("image", "")).endswith(f":{chart.get('appVersion')}"):
            yield f"{HUB}images: {each} has no name or not the tag of appVersion"


def _links(chart: Mapping[str, Any]) -> Iterator[str]:
    notes = _notes(chart)
    links = [(name, chart.get(name)) for name in ("home", "icon")]
    links += [("sources", source) for source in chart.get("sources") or [None]]
    for key, label in (("links", "name"), ("screenshots", "title")):
        entries = yaml.safe_load(notes.get(key, "")) or [{}]
        links += [(HUB + key, entry.get("url") if entry.get(label) else None) for entry in entries]
    for name in dict.fromkeys(name for name, link in links if not _absolute(link)):
        yield f"{name} is missing, or is not absolute"


def _notes(chart: Mapping[str, Any]) -> dict[str, str]:
    """Artifact Hub's annotations without their prefix."""
    notes = chart.get("annotations") or {}
    return {name.removeprefix(HUB): value for name, value in notes.items() if name.startswith(HUB)}


def _absolute(link: object) -> bool:
    return isinstance(link, str) and re.match(r"https://[^/\s]+/", link) is not None
