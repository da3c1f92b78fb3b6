"""A copy of the checkout in which everything that depends on the repository's address is filled in.

The checkout itself names no address: forks and mirrors are released with their own.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import yaml
from docs.developers.site.absolute_links import absolute_links
from docs.developers.site.repository_address import Address

from supply.release.chart_metadata import CHART, filled

PAGES = ("README.md", "CHANGELOG.md", f"{CHART}/README.md")
"""Pages that are shown outside the repository."""


def stage(root: Path, tracked: Iterable[str], folder: Path, address: Address | None, registry: str) -> Path:
    """Copy the ``tracked`` files of ``root`` to ``folder`` and fill in address and registry; return ``folder``."""
    for name in tracked:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (root / name).exists():  # a file can be deleted without a commit
            shutil.copy(root / name, target, follow_symlinks=False)
    about = folder / CHART / "Chart.yaml"
    chart = yaml.safe_load(about.read_text(encoding="utf-8"))
    if registry:
        _replace(folder / CHART / "values.yaml", '\n  registry: ""\n', f"\n  registry: {registry}\n")
        source = f"oci://{registry}/charts/{chart['name']} --version {chart['version']}"
        _replace(folder / CHART / "README.md", f" {CHART} ", f" {source} ")
    about.write_text(yaml.safe_dump(filled(chart, address, registry), sort_keys=False, width=1000), encoding="utf-8")
    if address:
        for page in PAGES:
            text = (folder / page).read_text(encoding="utf-8")
            (folder / page).write_text(absolute_links(page, text, address, root), encoding="utf-8")
        _replace(folder / "pyproject.toml", "\n[project.scripts]\n", f"\n{_urls(address)}\n[project.scripts]\n")
    return folder


def _urls(address: Address) -> str:
    """The table of links that PyPI shows beside the description."""
    links = {
        "Homepage": address.repository,
        "Documentation": address.file("docs/README.md"),
        "Changelog": address.file("CHANGELOG.md"),
        "Source": address.folder("").rstrip("/"),
        "Issues": f"{address.repository}/issues",
    }
    return "[project.urls]\n" + "".join(f'{name} = "{link}"\n' for name, link in links.items())


def _replace(path: Path, old: str, new: str) -> None:
    """Replace ``old`` once.

    Raises:
        ValueError: the file has no ``old``.

    """
    text = path.read_text(encoding="utf-8")
    if old not in text:
        raise ValueError(f"{path.name} has no {old.strip()!r}")
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
