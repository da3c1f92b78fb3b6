"""Every link and picture in the documentation resolves, and every page can be reached from README.md."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from docs.developers.site.nav import CODE

ROOT = Path(__file__).parents[3]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [
    README,
    *(ROOT / name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "bench/README.md")),
    *DOCS,
]

LINK = re.compile(r"\]\(([^)\s]+)\)")


def links(page):
    """Targets of the page's relative links: the file, and the heading's anchor or nothing."""
    for target in LINK.findall(CODE.sub("``", page.read_text(encoding="utf-8"))):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = unquote(target).partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def anchors(page):
    """GitHub's anchors of the page's headings: words in lower case, joined with dashes."""
    text = re.sub(r"^( *)(```+).*?^\1\2 *$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(LINK, "]", title)).lower().replace(" ", "-") for title in titles}


def reachable(start):
    """Pages that links lead to from there."""
    seen, left = set(), [start]
    while left:
        page = left.pop()
        if page not in seen:
            seen.add(page)
            left += [target for target, _ in links(page) if target.suffix == ".md" and target.exists()]
    return seen


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_resolves(page):
    lost = [
        f"{target.relative_to(ROOT)}{'#' + anchor if anchor else ''}"
        for target, anchor in links(page)
        if not target.exists() or (anchor and anchor not in anchors(target))
    ]
    assert lost == []


def test_every_page_can_be_reached_from_the_readme():
    assert {str(page.relative_to(ROOT)) for page in {*DOCS, *PAGES} - reachable(README)} == set()


def test_every_picture_is_shown():
    shown = {target for page in PAGES for target, _ in links(page) if target.suffix == ".svg"}
    assert set((ROOT / "docs" / "images").rglob("*.svg")) - shown == set()


def test_a_broken_link_is_detected(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b`: c\n[x](gone.md) `[y](code.md)`\n```sh\n[z](block.md)\n```\n[here](#a-b-c) [out](https://x.org)\n"
    )
    assert list(links(page)) == [(tmp_path / "gone.md", ""), (page, "a-b-c")]
    assert anchors(page) == {"a-b-c"}
