"""The pages of the site, and their order: that of the links in ``docs/README.md``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

__all__ = [
    "CODE",
    "INDEX",
    "LINK",
    "ROOT",
    "Section",
    "all_pages",
    "linked_pages",
    "pages_below",
    "repository_path",
    "sections",
    "with_contents",
]

ROOT = Path(__file__).parents[3]
INDEX = "docs/README.md"

CODE = re.compile(r"^( *)(```+).*?^\1\2 *$|`(?:[^`\n]|\n(?! *\n))*`", re.DOTALL | re.MULTILINE)
"""A block of code, or code within a paragraph, which may continue on the next line."""

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
"""A link or picture in Markdown: ``!`` or nothing, its text, its target."""

_OUTSIDE = (
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "bench/README.md",
    "helm/rebalance-agent/README.md",
)
"""The site's pages outside ``docs/``, without the runbooks of alerts."""

_PARENTS = {
    "docs/developers": "docs/developers/README.md",
    "docs/developers/decisions": "docs/developers/README.md",
    "docs/strategies": "docs/strategies/README.md",
    "alerts/runbooks": "docs/alerts.md",
}
"""Folder -> the page that lists the folder's pages; the navigation has them below it."""


@dataclass(frozen=True)
class Section:
    """A section of the index: its title, and the paths of its pages in the repository, in order."""

    title: str
    pages: tuple[str, ...]


def all_pages(root: Path = ROOT) -> list[str]:
    """The paths in the repository of all pages of the site, sorted."""
    docs = [*(root / "docs").rglob("*.md"), *(root / "alerts" / "runbooks").glob("*.md")]
    return sorted({*(path.relative_to(root).as_posix() for path in docs), *_OUTSIDE})


def repository_path(page: str, target: str, root: Path = ROOT) -> str | None:
    """The path in the repository that a link of ``page`` leads to; none if it is an address or an anchor alone.

    The path of a link that leaves the repository is ``..``.
    """
    path = unquote(target.partition("#")[0])
    if not path or re.match(r"[a-z]+:", target):
        return None
    resolved = (root / page).parent.joinpath(path).resolve()
    return resolved.relative_to(root).as_posix() if resolved.is_relative_to(root) else ".."


def linked_pages(page: str, text: str, root: Path = ROOT) -> list[str]:
    """The Markdown files that the text of ``page`` links to, each once, in the order of their first links."""
    targets = (repository_path(page, target, root) for _, _, target in LINK.findall(CODE.sub("``", text)))
    return list(dict.fromkeys(path for path in targets if path and path.endswith(".md")))


def sections(index: str, root: Path = ROOT) -> Iterator[Section]:
    """The sections of the index's Markdown; a page belongs to the first section that links to it."""
    seen = {INDEX}
    for part in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        pages = tuple(page for page in linked_pages(INDEX, text, root) if page not in seen)
        seen.update(pages)
        yield Section(title.strip(), pages)


def pages_below(page: str, text: str, root: Path = ROOT) -> list[str]:
    """The pages that the navigation has below ``page``: those that its text links to in the folders that it lists."""
    folders = {folder for folder, parent in _PARENTS.items() if parent == page}
    return [path for path in linked_pages(page, text, root) if str(Path(path).parent) in folders and path != page]


def with_contents(page: str, text: str, root: Path = ROOT) -> str:
    """The Markdown of ``page`` with the tables of contents from which the site's navigation is built, at its end."""
    if page == INDEX:
        return text + "".join(_contents(section.pages, section.title) for section in sections(text, root))
    below = pages_below(page, text, root)
    return text + _contents(below) if below else text


def _contents(pages: Iterable[str], title: str = "") -> str:
    caption = f":caption: {title}\n" if title else ""
    entries = "\n".join(f"/{page.removesuffix('.md')}" for page in pages)
    return f"\n```{{toctree}}\n:hidden:\n{caption}\n{entries}\n```\n"
