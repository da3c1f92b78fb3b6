"""The site has every page once, in the order of docs/README.md, and every link works there, too."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from docs.developers.site.built_links import broken_links
from docs.developers.site.nav import (
    CODE,
    INDEX,
    LINK,
    ROOT,
    all_pages,
    linked_pages,
    pages_below,
    repository_path,
    sections,
    with_contents,
)
from docs.developers.site.repository_address import Address
from docs.developers.site.source_links import link_sources

from supply.locks import FOLDER
from supply.programs import INSTALL_SECONDS_MAX, UnavailableError, python

WORDS_MAX = 1500
"""Words of a page that people read from its beginning to its end."""

OUR_WORDS = re.compile(
    r"(?<![\w/.-])(basis|bound|episode|epoch|exact|follow-up|generation|settle|settling)(?:d|s)?(?![\w/-]|\.\w)",
    re.IGNORECASE,
)
"""Words of the glossary, but not as parts of names, paths and addresses."""
STALLS = re.compile(r"\bstall", re.IGNORECASE)
OF_STALLS = {"bound", "exact"}
"""Words of `OUR_WORDS` that have another meaning on pages that do not mention stalls."""
CODE_BLOCK = re.compile(r"^( *)(```+).*?^\1\2 *$", re.DOTALL | re.MULTILINE)

GLOSSARY = "docs/glossary.md"
NO_LINK = (GLOSSARY, "CHANGELOG.md")
TABLES = ("docs/api.md", "docs/events.md", "docs/metrics.md", "docs/pipeline-tables.md")

REPOSITORY = Address("https://code.example/o/r", "HEAD")

LOOKED_UP = ("Reference", "Contribute")
"""Sections of the index whose pages may be longer."""


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def navigation():
    """All pages of the navigation: those of the index, and those below them."""
    for section in sections(read(INDEX)):
        for page in section.pages:
            yield page
            yield from pages_below(page, read(page))


def test_the_navigation_has_every_page_once():
    counts = Counter(navigation())
    assert {page: counts[page] for page in {*all_pages(), *counts} - {INDEX} if counts[page] != 1} == {}


def test_the_sections_of_the_index_are_in_reading_order():
    titles = [section.title for section in sections(read(INDEX))]
    assert titles == ["Start", "Understand", "Deploy", "Operate", "Reference", "Contribute"]


def words(text):
    """The number of a page's words, without blocks of code, comments and the targets of links."""
    prose = re.sub(r"<!--.*?-->", "", CODE.sub(lambda code: "" if "\n" in code[0] else code[0], text), flags=re.DOTALL)
    return len(re.findall(r"\S*\w\S*", LINK.sub(r"\2", prose)))


def test_pages_outside_the_reference_are_short():
    listed = [page for section in sections(read(INDEX)) if section.title not in LOOKED_UP for page in section.pages]
    read_whole = [each for page in listed for each in (page, *pages_below(page, read(page)))]
    assert len(read_whole) > 40
    assert {page: count for page in read_whole if (count := words(read(page))) > WORDS_MAX} == {}


def test_words_of_code_and_addresses_do_not_count():
    text = "# A b\n\n| c | --- |\n\n```sh\nd e f\n```\n<!-- g -->\n[h `i`](https://x.example/j_k#l) `m n`: ![](o.svg)"
    assert words(text) == 7


def glossary_words(text):
    """The words of `OUR_WORDS` in a text with their meanings of the glossary; addresses of links do not count."""
    shown = LINK.sub(r"\2", text)
    words = {word.lower() for word in OUR_WORDS.findall(shown)}
    return words if STALLS.search(shown) else words - OF_STALLS


def test_words_of_the_glossary_are_found_with_their_meanings():
    text = "Two episodes settled in [epochs](a/generation.md): `lower_seconds` is the lower bound of the stall."
    assert glossary_words(text) == {"episode", "settle", "epoch", "bound"}
    assert glossary_words("`settle.py`, `settle_seconds`, `--settle-seconds`: an exact search, with a bound") == set()


def test_a_page_that_uses_a_word_of_the_glossary_links_to_it():
    def text_of(page):
        return re.sub(CODE_BLOCK, "", read(page))

    pages = [page for page in all_pages() if page not in NO_LINK and not page.startswith("docs/developers/")]
    users = [page for page in pages if glossary_words(text_of(page))]
    assert len(users) > 70
    assert [page for page in users if GLOSSARY not in linked_pages(page, text_of(page))] == []


@pytest.mark.parametrize("page", TABLES)
def test_a_page_of_tables_links_to_the_glossary_before_its_tables(page):
    introduction = read(page).partition("\n## ")[0]
    assert GLOSSARY in linked_pages(page, introduction)


def test_a_page_belongs_to_its_first_section():
    b = "## B\n- [c](c.md#d), [e](../E.md), [c](c.md)\n```sh\n[f](f.md)\n```\n"
    index = f"# A\n[z](z.md)\n{b}## G\n[c](c.md) [h](h.md)\n"
    assert [(found.title, found.pages) for found in sections(index)] == [
        ("B", ("docs/c.md", "E.md")),
        ("G", ("docs/h.md",)),
    ]
    assert "```{toctree}\n:hidden:\n:caption: G\n\n/docs/h\n```" in with_contents(INDEX, index)


def test_links_to_source_code_become_text_or_lead_to_the_repository():
    page = "docs/observe.md"
    text = "[`a`](../agent/a.py#L1) [x](metrics.md) ![p](images/demo.svg) `[y](../tests/y.py)` [f](../examples)"
    assert link_sources(page, text, None) == "`a` [x](metrics.md) ![p](images/demo.svg) `[y](../tests/y.py)` f"
    linked = link_sources(page, text, REPOSITORY)
    assert linked.startswith("[`a`](https://code.example/o/r/blob/HEAD/agent/a.py) ")
    assert linked.endswith(" [f](https://code.example/o/r/tree/HEAD/examples)")


def test_every_link_to_a_folder_leads_to_its_page_in_the_repository():
    linked = {page: link_sources(page, read(page), REPOSITORY) for page in all_pages()}
    left = {
        (page, target)
        for page, text in linked.items()
        for _, _, target in LINK.findall(CODE.sub("``", text))
        if (path := repository_path(page, target)) and (ROOT / path).is_dir()
    }
    assert left == set()
    pages = re.findall(r"https://code\.example/o/r/(blob|tree)/HEAD/([^)]*)", " ".join(linked.values()))
    assert {kind for kind, _ in pages} == {"blob", "tree"}
    assert [path for kind, path in pages if (ROOT / path).is_dir() is not (kind == "tree")] == []


def test_a_broken_link_of_the_built_site_is_detected(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here">1</a><a href="b.html#c">2</a><a href="https://x.example/">3</a>'
        '<a href="#gone">4</a><a href="b.html#gone">5</a><a href="gone.html">6</a><img src="gone.svg">'
    )
    (tmp_path / "b.html").write_text('<h1 id="c">c</h1>')
    assert list(broken_links(tmp_path)) == [
        "a.html: #gone",
        "a.html: b.html#gone",
        "a.html: gone.html",
        "a.html: gone.svg",
    ]


@pytest.mark.timeout(2 * INSTALL_SECONDS_MAX)
def test_the_site_is_built_without_a_warning_and_a_broken_link(tmp_path):
    """The tools are installed at first use; without a network this test is skipped, unless it runs in CI."""
    try:
        tools = python(FOLDER / "site.lock")
    except UnavailableError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    command = [tools, "-m", "docs.developers.site", "--folder", str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, check=False, cwd=Path(ROOT), text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Open this page in a browser: {tmp_path / 'site' / 'index.html'}\n"
    assert len(list((tmp_path / "site").rglob("*.html"))) > len(all_pages())
