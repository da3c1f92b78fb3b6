"""Checks the links of the built site: each leads to a file, and to an element with the anchor's id."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["Page", "broken_links"]


class Page(HTMLParser):
    """The addresses that a page refers to, and the ids of its elements."""

    def __init__(self, text: str) -> None:
        """Parse the page's HTML."""
        super().__init__()
        self.addresses: set[str] = set()
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - HTMLParser calls it so
        """Collect ``href``, ``src`` and ``id``."""
        values = {name: value for name, value in attrs if value is not None}
        self.addresses |= {values[name] for name in ("href", "src") if name in values}
        self.ids |= {values[name] for name in ("id", "name") if name in values}


def broken_links(folder: Path) -> Iterator[str]:
    """A line for each relative link of the pages in ``folder`` that leads nowhere. Other sites are not asked."""

    @cache
    def read(path: Path) -> Page:
        return Page(path.read_text(encoding="utf-8"))

    for path in sorted(folder.resolve().rglob("*.html")):
        for address in sorted(read(path).addresses):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            page = read(target) if target.suffix == ".html" and target.is_file() else None
            if not target.is_file() or (anchor and page and anchor not in page.ids):
                yield f"{path.relative_to(folder.resolve())}: {address}"
